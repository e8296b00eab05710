/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram: counts in shared memory, added up by atomics. */
#include "common.cuh"

__global__ void count(uint32_t *bins, const unsigned char *in, int n)
{
	__shared__ uint32_t s[256];

	linger();
	s[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&s[in[i]], 1u);
	__syncthreads();
	if (s[threadIdx.x])
		atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

int main()
{
	const int blocks = 60 * scale(), n = 1000 * blocks;
	std::vector<unsigned char> in(n);
	std::vector<uint32_t> want(256);

	linger_start();
	for (int i = 0; i < n; i++)
		want[in[i] = (unsigned char)(mix(i) >> (i % 3 * 3))]++;
	unsigned char *din = device(in);
	uint32_t *bins = device<uint32_t>(256);
	count<<<blocks, 256>>>(bins, din, n);
	LAUNCHED();
	std::vector<uint32_t> got = host(bins, 256);
	return report("histogram", got == want, hash(got.data(), 1024));
}
