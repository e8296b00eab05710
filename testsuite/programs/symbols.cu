/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables of the device: copied to and from by name, by address, in streams. */
#include "common.cuh"

__device__ uint32_t global[1024];
__constant__ uint32_t constant[64];
__device__ uint32_t start = 5;

__global__ void add(int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		atomicAdd(&global[i % 1024], constant[i % 64] + start);
}

int main()
{
	const int n = 16384 * scale();
	std::vector<uint32_t> c(64), got(1024);
	cudaStream_t s;
	uint32_t *at, x = 0;
	size_t size;
	int right = 1;

	linger_start();
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMemcpyFromSymbol(&x, start, 4));
	right &= x == 5;
	for (int i = 0; i < 64; i++)
		c[i] = mix(i) & 0xffff;
	OK(cudaMemcpyToSymbolAsync(constant, c.data(), 256, 0, cudaMemcpyHostToDevice, s));
	add<<<n / 64, 64, 0, s>>>(n);
	x = 9;
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpyToSymbol(start, &x, 4));
	add<<<n / 64, 64, 0, s>>>(n);
	OK(cudaMemcpyFromSymbolAsync(got.data(), global, 4096, 0, cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaGetSymbolAddress((void **)&at, global));
	OK(cudaGetSymbolSize(&size, global));
	OK(cudaMemcpy(&x, at + 7, 4, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 1024; i++)
		right &= got[i] == n / 1024 * (2 * c[i % 64] + 14);
	return report("symbols", right && size == 4096 && x == got[7], hash(got.data(), 4096));
}
