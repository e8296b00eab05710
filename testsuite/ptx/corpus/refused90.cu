/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What cannot be looped: clusters, mbarriers, the whole grid at once (sm_90). */
#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(int *out)
{
	auto cluster = cg::this_cluster();
	__shared__ int mine;

	if (threadIdx.x == 0)
		mine = blockIdx.x;
	cluster.sync();
	out[blockIdx.x * blockDim.x + threadIdx.x] = *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
	cluster.sync();
}

extern "C" __global__ void phased(int *out, const int *in)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	__shared__ int line[128];

	if (threadIdx.x == 0)
		init(&bar, blockDim.x);
	__syncthreads();
	line[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
	bar.arrive_and_wait();
	out[blockIdx.x * 128 + threadIdx.x] = line[127 - threadIdx.x];
}

extern "C" __global__ void whole_grid(int *data)
{
	cg::grid_group grid = cg::this_grid();

	data[grid.thread_rank()]++;
	grid.sync();
	data[grid.size() - 1 - grid.thread_rank()] += 2;
}

extern "C" __global__ void dependent(int *out, const int *in)
{
	cudaGridDependencySynchronize();
	out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
	cudaTriggerProgrammaticLaunchCompletion();
}
