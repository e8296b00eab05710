/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in many streams, each with its own data. */
#include "common.cuh"

__global__ void step(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(v[i] + key) + i;
}

int main()
{
	const int streams = 12, n = 4096 * scale();
	std::vector<uint32_t> got(n), want(n);
	cudaStream_t s[streams];
	uint32_t *v[streams];
	uint64_t h = 0;
	int right = 1;

	linger_start(4);
	for (int k = 0; k < streams; k++) {
		OK(cudaStreamCreateWithFlags(&s[k], k & 1 ? cudaStreamNonBlocking : cudaStreamDefault));
		v[k] = device<uint32_t>(n);
	}
	OK(cudaDeviceSynchronize());
	for (int r = 0; r < 4; r++)
		for (int k = 0; k < streams; k++)
			step<<<(n + 127) / 128, 128, 0, s[k]>>>(v[k], n, r * 100 + k);
	LAUNCHED();
	for (int k = 0; k < streams; k++) {
		OK(cudaMemcpyAsync(got.data(), v[k], n * 4, cudaMemcpyDeviceToHost, s[k]));
		OK(cudaStreamSynchronize(s[k]));
		for (int i = 0; i < n; i++) {
			want[i] = 0;
			for (int r = 0; r < 4; r++)
				want[i] = mix(want[i] + r * 100 + k) + i;
		}
		right &= got == want;
		h ^= hash(got.data(), n * 4) + k;
		OK(cudaStreamDestroy(s[k]));
	}
	return report("streams", right, h);
}
