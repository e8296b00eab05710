/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of 200 small kernels: the seconds until each has run once, the driver's own start included. */
#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>
#include <utility>

template <int N> __global__ void fill(float *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = p[i] * (N % 2 ? 1 : 0.5f) + N;
}

template <int... I> static void each(std::integer_sequence<int, I...>, float *p)
{
	(fill<I><<<4, 64>>>(p, 256), ...);
}

int main()
{
	auto from = std::chrono::steady_clock::now();
	float *p, first = 0, want = 0;

	cudaMalloc(&p, 1024);
	cudaMemset(p, 0, 1024);
	each(std::make_integer_sequence<int, 200>(), p);
	if (cudaMemcpy(&first, p, sizeof(first), cudaMemcpyDeviceToHost) != cudaSuccess)
		return 1;
	for (int i = 0; i < 200; i++)
		want = want * (i % 2 ? 1 : 0.5f) + i;
	printf("many_small,%.4f,%s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count(),
	       first == want ? "right" : "wrong");
	return first != want;
}
