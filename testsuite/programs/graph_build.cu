/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A graph built node by node: a diamond of kernels between a set and a copy, and a host node. */
#include "common.cuh"

__global__ void fill(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] += mix(i + key);
}

__global__ void sum(uint32_t *out, const uint32_t *a, const uint32_t *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] + 7 * b[i];
}

static void CUDART_CB count(void *p)
{
	++*(int *)p;
}

int main()
{
	int n = 4096 * scale(), calls = 0, right = 1;
	uint32_t *a = device<uint32_t>(n), *b = device<uint32_t>(n), *c = device<uint32_t>(n), ka = 5, kb = 9;
	std::vector<uint32_t> got(n);
	cudaGraphNode_t clear_a, clear_b, fa, fb, add, copy, call, join[2];
	cudaKernelNodeParams k = {};
	cudaMemsetParams m = {};
	cudaHostNodeParams h = { count, &calls };
	cudaGraphExec_t exec;
	cudaGraph_t g;

	OK(cudaGraphCreate(&g, 0));
	m.dst = a;
	m.elementSize = 4;
	m.width = n;
	m.height = 1;
	OK(cudaGraphAddMemsetNode(&clear_a, g, NULL, 0, &m));
	m.dst = b;
	OK(cudaGraphAddMemsetNode(&clear_b, g, NULL, 0, &m));
	k.gridDim = dim3((n + 127) / 128);
	k.blockDim = dim3(128);
	void *pa[] = { &a, &n, &ka }, *pb[] = { &b, &n, &kb }, *pc[] = { &c, &a, &b, &n };
	k.func = (void *)fill;
	k.kernelParams = pa;
	OK(cudaGraphAddKernelNode(&fa, g, &clear_a, 1, &k));
	k.kernelParams = pb;
	OK(cudaGraphAddKernelNode(&fb, g, &clear_b, 1, &k));
	join[0] = fa;
	join[1] = fb;
	k.func = (void *)sum;
	k.kernelParams = pc;
	OK(cudaGraphAddKernelNode(&add, g, join, 2, &k));
	OK(cudaGraphAddMemcpyNode1D(&copy, g, &add, 1, got.data(), c, n * 4, cudaMemcpyDeviceToHost));
	OK(cudaGraphAddHostNode(&call, g, &copy, 1, &h));
	OK(cudaGraphInstantiate(&exec, g, 0));
	for (int r = 0; r < 3; r++)
		OK(cudaGraphLaunch(exec, 0));
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++)
		right &= got[i] == mix(i + 5) + 7 * mix(i + 9);
	return report("graph_build", right && calls == 3, hash(got.data(), n * 4));
}
