/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of the host, each with a stream, memory and launches of its own. */
#include <thread>

#include "common.cuh"

__global__ void step(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(v[i] ^ key);
}

static uint64_t result[6];
static int right[6];

static void work(int me)
{
	const int n = 2048 * scale();
	std::vector<uint32_t> got(n);
	uint32_t *v, want = 0;
	cudaStream_t s;

	OK(cudaSetDevice(0));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc(&v, n * 4));
	OK(cudaMemsetAsync(v, 0, n * 4, s));
	for (int r = 0; r < 12; r++) {
		step<<<n / 64, 64, 0, s>>>(v, n, me * 100 + r);
		want = mix(want ^ (me * 100 + r));
	}
	OK(cudaMemcpyAsync(got.data(), v, n * 4, cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	right[me] = 1;
	for (uint32_t x : got)
		right[me] &= x == want;
	result[me] = hash(got.data(), n * 4);
	OK(cudaFree(v));
	OK(cudaStreamDestroy(s));
}

int main()
{
	std::vector<std::thread> t;
	uint64_t h = 0;
	int all = 1;

	linger_start(4);
	for (int i = 0; i < 6; i++)
		t.emplace_back(work, i);
	for (int i = 0; i < 6; i++) {
		t[i].join();
		h ^= result[i];
		all &= right[i];
	}
	return report("threads", all, h);
}
