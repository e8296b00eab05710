/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums by trees in shared memory, then warps; minimum and maximum by atomics. */
#include "common.cuh"

__global__ void reduce(unsigned long long *sum, uint32_t *least, uint32_t *most, const uint32_t *in, int n)
{
	__shared__ unsigned long long s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long x = i < n ? in[i] : 0;

	linger();
	if (i < n) {
		atomicMin(least, in[i]);
		atomicMax(most, in[i]);
	}
	s[threadIdx.x] = x;
	__syncthreads();
	for (int d = 128; d >= 32; d /= 2) {
		if (threadIdx.x < d)
			s[threadIdx.x] += s[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x < 32) {
		x = s[threadIdx.x];
		for (int d = 16; d; d /= 2)
			x += __shfl_xor_sync(0xffffffff, x, d);
		if (threadIdx.x == 0)
			atomicAdd(sum, x);
	}
}

int main()
{
	const int n = 40000 * scale();
	std::vector<uint32_t> in(n);
	unsigned long long want = 0;
	uint32_t least = ~0u, most = 0;

	linger_start();
	for (int i = 0; i < n; i++) {
		want += in[i] = mix(i + 12345);
		least = in[i] < least ? in[i] : least;
		most = in[i] > most ? in[i] : most;
	}
	uint32_t *din = device(in), *l = device<uint32_t>(1), *m = device<uint32_t>(1);
	unsigned long long *sum = device<unsigned long long>(1);
	OK(cudaMemset(l, 0xff, 4));
	reduce<<<(n + 255) / 256, 256>>>(sum, l, m, din, n);
	LAUNCHED();
	return report("reduction", host(sum, 1)[0] == want && host(l, 1)[0] == least && host(m, 1)[0] == most, want);
}
