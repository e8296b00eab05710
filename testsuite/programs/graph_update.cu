/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An executable graph whose kernel gets other parameters from launch to launch. */
#include "common.cuh"

__global__ void add(uint32_t *v, int n, uint32_t by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] += by * i;
}

int main()
{
	int n = 8192 * scale(), right = 1;
	uint32_t *v = device<uint32_t>(n), by = 1;
	void *params[] = { &v, &n, &by };
	cudaKernelNodeParams k = {};
	cudaGraphExecUpdateResultInfo info;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaGraph_t g;
	uint32_t sum = 0;

	OK(cudaGraphCreate(&g, 0));
	k.func = (void *)add;
	k.gridDim = dim3(n / 128);
	k.blockDim = dim3(128);
	k.kernelParams = params;
	OK(cudaGraphAddKernelNode(&node, g, NULL, 0, &k));
	OK(cudaGraphInstantiate(&exec, g, 0));
	for (by = 1; by <= 6; by++) {
		if (by <= 4) {
			OK(cudaGraphExecKernelNodeSetParams(exec, node, &k));
		} else {
			OK(cudaGraphKernelNodeSetParams(node, &k));
			OK(cudaGraphExecUpdate(exec, g, &info));
		}
		OK(cudaGraphLaunch(exec, 0));
		sum += by;
	}
	OK(cudaDeviceSynchronize());
	std::vector<uint32_t> got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == sum * i;
	return report("graph_update", right, hash(got.data(), n * 4));
}
