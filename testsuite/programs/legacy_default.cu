/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The legacy default stream and blocking streams wait for each other, without a word. */
#include "common.cuh"

__global__ void step(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = v[i] * 7 + key;
}

int main()
{
	const int n = 8192 * scale();
	uint32_t *v = device<uint32_t>(n), want = 0;
	cudaStream_t a, b;
	int right = 1;

	linger_start(2);
	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	for (int r = 0; r < 6; r++) {
		step<<<n / 64, 64, 0, a>>>(v, n, r * 4);
		step<<<n / 64, 64>>>(v, n, r * 4 + 1);
		step<<<n / 64, 64, 0, b>>>(v, n, r * 4 + 2);
		step<<<n / 64, 64, 0, cudaStreamLegacy>>>(v, n, r * 4 + 3);
		for (int k = 0; k < 4; k++)
			want = want * 7 + r * 4 + k;
	}
	std::vector<uint32_t> got = host(v, n);
	for (uint32_t x : got)
		right &= x == want;
	return report("legacy_default", right, want);
}
