/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the stream: allocated, used and freed in its order. */
#include "common.cuh"

__global__ void step(uint32_t *out, const uint32_t *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		out[i] = mix((in ? in[i] : 0) + i);
}

int main()
{
	const int n = 8192 * scale();
	uint32_t *last = NULL, *next;
	std::vector<uint32_t> got(n);
	cudaStream_t s;
	int right = 1;

	linger_start();
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int r = 0; r < 10; r++) {
		OK(cudaMallocAsync(&next, n * 4, s));
		step<<<n / 64, 64, 0, s>>>(next, last, n);
		if (last)
			OK(cudaFreeAsync(last, s));
		last = next;
	}
	OK(cudaMemcpyAsync(got.data(), last, n * 4, cudaMemcpyDeviceToHost, s));
	OK(cudaFreeAsync(last, s));
	OK(cudaStreamSynchronize(s));
	for (int i = 0; i < n; i++) {
		uint32_t x = 0;

		for (int r = 0; r < 10; r++)
			x = mix(x + i);
		right &= got[i] == x;
	}
	return report("malloc_async", right, hash(got.data(), n * 4));
}
