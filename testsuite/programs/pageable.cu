/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies from and to ordinary memory, asynchronous ones too, with work before and behind them. */
#include "common.cuh"

__global__ void step(uint32_t *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(v[i]);
}

int main()
{
	const int n = 32768 * scale();
	uint32_t *v = device<uint32_t>(n);
	std::vector<uint32_t> data(n), want(n), got(n);
	cudaStream_t s;
	int right = 1;

	linger_start();
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (int r = 0; r < 3; r++) {
		for (int i = 0; i < n; i++) {
			data[i] = i * 3 + r;
			want[i] = mix(mix(data[i]));
		}
		OK(cudaMemcpyAsync(v, data.data(), n * 4, cudaMemcpyHostToDevice, s));
		step<<<n / 128, 128, 0, s>>>(v, n);
		std::fill(data.begin(), data.end(), 0); /* the copy has taken it */
		step<<<n / 128, 128, 0, s>>>(v, n);
		OK(cudaMemcpyAsync(got.data(), v, n * 4, cudaMemcpyDeviceToHost, s));
		OK(cudaStreamSynchronize(s));
		right &= got == want;
		step<<<n / 128, 128>>>(v, n);
		OK(cudaMemcpy(got.data(), v, n * 4, cudaMemcpyDeviceToHost));
		for (int i = 0; i < n; i++)
			right &= got[i] == mix(want[i]);
	}
	return report("pageable", right, hash(got.data(), n * 4));
}
