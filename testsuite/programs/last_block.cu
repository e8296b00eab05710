/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last block to finish adds up what the others left. */
#include "common.cuh"

__device__ unsigned int finished;

__global__ void sum(unsigned long long *out, unsigned long long *part, const uint32_t *in, int n)
{
	__shared__ unsigned long long s[128];
	__shared__ bool last;
	unsigned long long x = 0;

	linger();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x += in[i];
	s[threadIdx.x] = x;
	for (int d = 64; d; d /= 2) {
		__syncthreads();
		if (threadIdx.x < d)
			s[threadIdx.x] += s[threadIdx.x + d];
	}
	if (threadIdx.x == 0) {
		part[blockIdx.x] = s[0];
		__threadfence();
		last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (!last)
		return;
	x = 0;
	for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
		x += ((volatile unsigned long long *)part)[i];
	atomicAdd(out, x);
}

int main()
{
	const int blocks = 100 * scale(), n = 600 * blocks;
	std::vector<uint32_t> in(n);
	unsigned long long want = 0;

	linger_start();
	for (int i = 0; i < n; i++)
		want += in[i] = mix(i);
	uint32_t *din = device(in);
	unsigned long long *out = device<unsigned long long>(1), *part = device<unsigned long long>(blocks);
	for (int r = 0; r < 3; r++)
		sum<<<blocks, 128>>>(out, part, din, n);
	LAUNCHED();
	return report("last_block", host(out, 1)[0] == 3 * want, want);
}
