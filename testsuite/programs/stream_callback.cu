/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callbacks of streams, in order and with the status. */
#include "common.cuh"

static int next, right = 1;

__global__ void spin(uint32_t *v, int rounds)
{
	uint32_t x = threadIdx.x;

	linger();
	for (int i = 0; i < rounds; i++)
		x = mix(x);
	v[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static void CUDART_CB call(cudaStream_t, cudaError_t status, void *p)
{
	right &= status == cudaSuccess && next == (int)(intptr_t)p;
	next++;
}

int main()
{
	const int blocks = 64 * scale();
	uint32_t *v = device<uint32_t>(blocks * 64);
	cudaStream_t s;

	linger_start();
	OK(cudaStreamCreate(&s));
	for (intptr_t k = 0; k < 10; k++) {
		spin<<<blocks, 64, 0, s>>>(v, 40);
		OK(cudaStreamAddCallback(s, call, (void *)k, 0));
	}
	OK(cudaStreamSynchronize(s));
	return report("stream_callback", right && next == 10, next);
}
