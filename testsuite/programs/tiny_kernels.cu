/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thousands of kernels that do next to nothing. */
#include "common.cuh"

__global__ void one(uint32_t *v)
{
	if (threadIdx.x == 0)
		atomicAdd(v, 1u);
}

int main()
{
	const unsigned int launches = 1500 * scale(64);
	uint32_t *v = device<uint32_t>(1);
	cudaStream_t s;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaDeviceSynchronize());
	for (unsigned int i = 0; i < launches; i++)
		one<<<1 + i % 3, 32, 0, i % 2 ? s : 0>>>(v);
	LAUNCHED();
	OK(cudaDeviceSynchronize());
	return report("tiny_kernels", host(v, 1)[0] == 2 * launches, 2 * launches);
}
