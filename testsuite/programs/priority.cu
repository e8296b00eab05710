/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams of high and low priority at once: whoever goes first, both are right. */
#include "common.cuh"

__global__ void chain(uint32_t *v, int n, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = v[i];

	linger();
	for (int r = 0; r < rounds; r++)
		x = mix(x + r);
	if (i < n)
		v[i] = x;
}

int main()
{
	const int n = 8192 * scale(), rounds = 20;
	uint32_t *a = device<uint32_t>(n), *b = device<uint32_t>(n), want = 0;
	int least, greatest, p = 1, right = 1;
	cudaStream_t low, high;

	linger_start();
	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	OK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
	OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
	OK(cudaStreamGetPriority(high, &p));
	OK(cudaDeviceSynchronize());
	for (int r = 0; r < 4; r++) {
		chain<<<n / 64, 64, 0, low>>>(a, n, rounds);
		chain<<<n / 64, 64, 0, high>>>(b, n, rounds);
		for (int k = 0; k < rounds; k++)
			want = mix(want + k);
	}
	OK(cudaStreamSynchronize(high));
	OK(cudaStreamSynchronize(low));
	for (uint32_t x : host(a, n))
		right &= x == want;
	for (uint32_t x : host(b, n))
		right &= x == want;
	return report("priority", right && p == greatest && least >= greatest, want);
}
