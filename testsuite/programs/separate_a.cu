/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate compilation: this file's kernel calls a function of separate_b.cu. */
#include "common.cuh"

extern __device__ uint32_t shared_step(uint32_t x);
extern __device__ uint32_t shared_table[16];

__global__ void use(uint32_t *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = shared_step(i) + shared_table[i % 16];
}

int main()
{
	const int n = 64 * 64 * scale();
	uint32_t *v = device<uint32_t>(n);
	int right = 1;

	use<<<n / 64, 64>>>(v, n);
	LAUNCHED();
	std::vector<uint32_t> got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == mix(i * 3 + 1) + (i % 16) * (i % 16);
	return report("separate", right, hash(got.data(), n * 4));
}
