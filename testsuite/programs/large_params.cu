/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of almost 4 KB, passed by value. */
#include "common.cuh"

struct big {
	uint32_t v[1000];
	const uint32_t *p;
	uint32_t n;
};

__global__ void use(uint32_t *out, struct big b)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < b.n)
		out[i] = b.v[i % 1000] + b.p[i];
}

int main()
{
	const uint32_t n = 16000 * scale();
	std::vector<uint32_t> in(n), got;
	static struct big b;
	int right = 1;

	linger_start();
	for (uint32_t i = 0; i < n; i++)
		in[i] = mix(i);
	for (uint32_t i = 0; i < 1000; i++)
		b.v[i] = i * i;
	b.p = device(in);
	b.n = n;
	uint32_t *out = device<uint32_t>(n);
	use<<<(n + 63) / 64, 64>>>(out, b);
	LAUNCHED();
	got = host(out, n);
	for (uint32_t i = 0; i < n; i++)
		right &= got[i] == b.v[i % 1000] + in[i];
	return report("large_params", right, hash(got.data(), n * 4));
}
