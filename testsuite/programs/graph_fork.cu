/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture that forks into a second stream and joins it, as a child of a larger graph. */
#include "common.cuh"

__global__ void mul(uint32_t *v, int n, uint32_t by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = v[i] * by + i;
}

__global__ void zip(uint32_t *a, const uint32_t *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] ^= b[i];
}

int main()
{
	const int n = 4096 * scale();
	uint32_t *a = device<uint32_t>(n), *b = device<uint32_t>(n);
	cudaGraph_t inner, outer;
	cudaGraphNode_t child;
	cudaGraphExec_t exec;
	cudaStreamCaptureStatus status;
	cudaEvent_t fork, join;
	cudaStream_t s, t;
	int right = 1;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	mul<<<n / 64, 64, 0, s>>>(a, n, 3);
	OK(cudaEventRecord(fork, s));
	OK(cudaStreamWaitEvent(t, fork, 0));
	OK(cudaStreamIsCapturing(t, &status));
	mul<<<n / 64, 64, 0, t>>>(b, n, 5);
	mul<<<n / 64, 64, 0, s>>>(a, n, 7);
	OK(cudaEventRecord(join, t));
	OK(cudaStreamWaitEvent(s, join, 0));
	zip<<<n / 64, 64, 0, s>>>(a, b, n);
	OK(cudaStreamEndCapture(s, &inner));
	OK(cudaGraphCreate(&outer, 0));
	OK(cudaGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
	OK(cudaGraphInstantiate(&exec, outer, 0));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	std::vector<uint32_t> got = host(a, n);
	for (uint32_t i = 0; i < (uint32_t)n; i++) {
		uint32_t x = 0, y = 0;

		for (int r = 0; r < 2; r++) {
			x = (x * 3 + i) * 7 + i;
			y = y * 5 + i;
			x ^= y;
		}
		right &= got[i] == x;
	}
	return report("graph_fork", right && status == cudaStreamCaptureStatusActive, hash(got.data(), n * 4));
}
