/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled for per-thread default streams: two threads whose stream 0 is their own. */
#include <thread>

#include "common.cuh"

__global__ void step(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = v[i] * 3 + key;
}

static int right[2];

static void work(int me)
{
	const int n = 4096 * scale();
	std::vector<uint32_t> got(n);
	uint32_t *v, want = 0;

	OK(cudaMalloc(&v, n * 4));
	OK(cudaMemsetAsync(v, 0, n * 4, 0));
	for (int r = 0; r < 10; r++) {
		step<<<n / 64, 64>>>(v, n, me + r);
		want = want * 3 + me + r;
	}
	OK(cudaMemcpy(got.data(), v, n * 4, cudaMemcpyDeviceToHost));
	right[me] = 1;
	for (uint32_t x : got)
		right[me] &= x == want;
	OK(cudaStreamSynchronize(cudaStreamPerThread));
	OK(cudaFree(v));
}

int main()
{
	std::thread a(work, 0), b(work, 1);

	linger_start(2);
	a.join();
	b.join();
	return report("perthread_default", right[0] && right[1], 0);
}
