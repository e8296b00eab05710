/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that leave before the others meet at barriers. */
#include "common.cuh"

__global__ void leave(uint32_t *v, int n)
{
	__shared__ uint32_t s[128];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (blockIdx.x % 7 == 3)
		return;
	s[threadIdx.x] = i;
	__syncthreads();
	if (threadIdx.x >= 64)
		return;
	s[threadIdx.x] += s[threadIdx.x + 64];
	__syncthreads();
	if (threadIdx.x >= 32)
		return;
	v[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 32];
}

int main()
{
	const int blocks = 96 * scale();
	uint32_t *v = device<uint32_t>(blocks * 32);
	int right = 1;

	linger_start();
	leave<<<blocks, 128>>>(v, blocks * 128);
	LAUNCHED();
	std::vector<uint32_t> got = host(v, blocks * 32);
	for (int b = 0; b < blocks; b++)
		for (int t = 0; t < 32; t++)
			right &= got[b * 32 + t] == (b % 7 == 3 ? 0u : 4u * (b * 128 + t) + 192);
	return report("leave_first", right, hash(got.data(), got.size() * 4));
}
