/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A single-pass scan with look-back: a block spins on its predecessors. */
extern "C" __global__ void scan_lookback(int *out, const int *in, volatile int *sums, volatile int *flags, int n)
{
	__shared__ int line[256];
	__shared__ int before;
	int i = blockIdx.x * 256 + threadIdx.x;

	line[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	for (int d = 1; d < 256; d <<= 1) {
		int v = threadIdx.x >= d ? line[threadIdx.x - d] : 0;

		__syncthreads();
		line[threadIdx.x] += v;
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		int sum = 0;

		if (blockIdx.x) {
			while (!flags[blockIdx.x - 1])
				;
			__threadfence();
			sum = sums[blockIdx.x - 1];
		}
		sums[blockIdx.x] = sum + line[255];
		__threadfence();
		flags[blockIdx.x] = 1;
		before = sum;
	}
	__syncthreads();
	if (i < n)
		out[i] = line[threadIdx.x] + before;
}

__device__ unsigned ticket;

extern "C" __global__ void scan_ticket(int *out, const int *in, volatile int *sums, volatile int *flags, int n)
{
	__shared__ unsigned block;
	__shared__ int before;

	if (threadIdx.x == 0)
		block = atomicAdd(&ticket, 1);
	__syncthreads();
	if (threadIdx.x == 0) {
		int sum = 0;

		if (block)
			while (!flags[block - 1])
				;
		__threadfence();
		if (block)
			sum = sums[block - 1];
		sums[block] = sum + in[block];
		__threadfence();
		flags[block] = 1;
		before = sum;
	}
	__syncthreads();
	if (block * blockDim.x + threadIdx.x < n)
		out[block * blockDim.x + threadIdx.x] = before;
}
