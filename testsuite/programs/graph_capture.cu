/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A captured sequence, launched many times. */
#include "common.cuh"

__global__ void step(uint32_t *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = mix(v[i] + i);
}

int main()
{
	const int n = 4096 * scale(), launches = 5;
	uint32_t *v = device<uint32_t>(n), *w = device<uint32_t>(n);
	std::vector<uint32_t> want(n), got(n);
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaStream_t s;
	size_t nodes = 0;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	for (int k = 0; k < 6; k++)
		step<<<(n + 127) / 128, 128, 0, s>>>(v, n);
	OK(cudaMemcpyAsync(w, v, n * 4, cudaMemcpyDeviceToDevice, s));
	OK(cudaMemsetAsync(v, 1, 16, s));
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphGetNodes(graph, NULL, &nodes));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int k = 0; k < launches; k++)
		OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	for (int k = 0; k < launches; k++) {
		for (int i = 0; i < n; i++) {
			want[i] = k && i < 4 ? 0x01010101 : want[i];
			for (int r = 0; r < 6; r++)
				want[i] = mix(want[i] + i);
		}
	}
	got = host(w, n);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	return report("graph_capture", got == want && nodes == 8, hash(got.data(), n * 4));
}
