/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monte-Carlo integration with counters instead of floats. */
#include "common.cuh"

__host__ __device__ static inline int inside(uint32_t i)
{
	uint64_t x = mix(2 * i) >> 16, y = mix(2 * i + 1) >> 16;

	return x * x + y * y < 65536ull * 65536ull;
}

__global__ void throws(unsigned long long *hits, int per_thread)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	int n = 0;

	linger();
	for (int k = 0; k < per_thread; k++)
		n += inside(i * per_thread + k);
	n = __reduce_add_sync(0xffffffff, n);
	if (threadIdx.x % 32 == 0)
		atomicAdd(hits, (unsigned long long)n);
}

int main()
{
	const int blocks = 64 * scale(), per_thread = 16;
	unsigned long long *hits = device<unsigned long long>(1), want = 0;

	linger_start();
	throws<<<blocks, 64>>>(hits, per_thread);
	LAUNCHED();
	for (int i = 0; i < blocks * 64 * per_thread; i++)
		want += inside(i);
	return report("monte_carlo", host(hits, 1)[0] == want, want);
}
