/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that launch kernels. */
#include "common.cuh"

__global__ void leaf(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = mix(v[i] + key);
}

__global__ void parent(uint32_t *v, int n)
{
	if (threadIdx.x == 0)
		leaf<<<(n + 63) / 64, 64>>>(v + blockIdx.x * n, n, blockIdx.x);
}

int main()
{
	const int parts = 16, n = 1024 * scale();
	uint32_t *v = device<uint32_t>(parts * n);
	int right = 1;

	parent<<<parts, 32>>>(v, n);
	LAUNCHED();
	OK(cudaDeviceSynchronize());
	std::vector<uint32_t> got = host(v, parts * n);
	for (int p = 0; p < parts; p++)
		for (int i = 0; i < n; i++)
			right &= got[p * n + i] == mix(p);
	return report("dynamic_parallelism", right, hash(got.data(), got.size() * 4));
}
