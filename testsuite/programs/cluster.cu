/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters of blocks that read each other's shared memory. */
#include <cooperative_groups.h>

#include "common.cuh"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) swap(uint32_t *v)
{
#if __CUDA_ARCH__ >= 900
	__shared__ uint32_t s[64];
	cg::cluster_group c = cg::this_cluster();
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	s[threadIdx.x] = v[i];
	c.sync();
	v[i] = *c.map_shared_rank(&s[threadIdx.x], c.block_rank() ^ 1) + c.block_rank();
	c.sync();
#endif
}

int main()
{
	const int n = 64 * 64 * scale();
	std::vector<uint32_t> in(n), got;
	int major = 0, right = 1;

	OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	if (major < 9) {
		printf("cluster: needs compute capability 9.0\n");
		return 77;
	}
	for (int i = 0; i < n; i++)
		in[i] = mix(i);
	uint32_t *v = device(in);
	swap<<<n / 64, 64>>>(v);
	LAUNCHED();
	got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == in[i ^ 64] + (i / 64 & 1);
	return report("cluster", right, hash(got.data(), n * 4));
}
