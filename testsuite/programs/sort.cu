/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bitonic sort: many short kernels that depend on each other. */
#include <algorithm>

#include "common.cuh"

__global__ void compare(uint32_t *v, unsigned int j, unsigned int k)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;

	linger();
	if (other > i && ((i & k) == 0) == (v[i] > v[other])) {
		uint32_t t = v[i];

		v[i] = v[other];
		v[other] = t;
	}
}

int main()
{
	unsigned int n = 2048;
	std::vector<uint32_t> in, got;

	linger_start(8);
	for (int s = scale(); s > 1; s /= 2)
		n *= 2;
	for (unsigned int i = 0; i < n; i++)
		in.push_back(mix(i));
	uint32_t *v = device(in);
	for (unsigned int k = 2; k <= n; k *= 2)
		for (unsigned int j = k / 2; j; j /= 2)
			compare<<<n / 128, 128>>>(v, j, k);
	LAUNCHED();
	got = host(v, n);
	std::sort(in.begin(), in.end());
	return report("sort", got == in, hash(got.data(), n * 4));
}
