/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel that writes where there is nothing: the error comes, stays, and only here. */
#include "common.cuh"

__global__ void wild(uint32_t *v)
{
	if (blockIdx.x == 37)
		v[(size_t)1 << 40] = 1;
	else
		v[blockIdx.x] = 1;
}

int main()
{
	uint32_t *v = device<uint32_t>(4096);
	cudaError_t first, second;

	wild<<<4096, 32>>>(v);
	first = cudaDeviceSynchronize();
	second = cudaDeviceSynchronize();
	return report("fault", first == cudaErrorIllegalAddress && second == first && cudaFree(v) != cudaSuccess, first);
}
