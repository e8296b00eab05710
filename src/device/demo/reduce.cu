// SPDX-License-Identifier: GPL-2.0-or-later
// A sum: each block adds its part up in shared memory, then one atomic per block.
#define THREADS 256

extern "C" __global__ void reduce(unsigned long long *sum, const unsigned int *data,
				  unsigned int n, unsigned int per_thread)
{
	__shared__ unsigned long long part[THREADS];
	unsigned int first = blockIdx.x * THREADS * per_thread + threadIdx.x;
	unsigned long long mine = 0;

	for (unsigned int k = 0; k < per_thread; k++) {
		unsigned int i = first + k * THREADS;

		if (i < n)
			mine += data[i];
	}
	part[threadIdx.x] = mine;
	__syncthreads();
	for (unsigned int half = THREADS / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		atomicAdd(sum, part[0]);
}
