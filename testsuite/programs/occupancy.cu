/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The occupancy functions, and a grid made to their measure: none of it shows the transformed kernel. */
#include "common.cuh"

__global__ void __launch_bounds__(256) stride(uint32_t *v, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v[i] = mix(i) + gridDim.x * 0;
}

int main()
{
	const int n = 20000 * scale();
	int grid = 0, block = 0, per_sm = 0, with_shared = 0, right = 1;
	cudaFuncAttributes a;
	uint32_t *v = device<uint32_t>(n);

	OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, stride));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, stride, 256, 0));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&with_shared, stride, 256, 40000));
	OK(cudaFuncGetAttributes(&a, stride));
	right &= grid > 0 && block > 0 && block <= 256 && per_sm > 0 && with_shared > 0 && with_shared <= per_sm &&
		 a.maxThreadsPerBlock == 256 && a.sharedSizeBytes == 0;
	stride<<<grid, block>>>(v, n);
	LAUNCHED();
	std::vector<uint32_t> got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == mix(i);
	return report("occupancy", right, hash(got.data(), n * 4));
}
