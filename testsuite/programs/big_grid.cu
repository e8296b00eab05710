/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More blocks than 16 bits count, most with next to nothing to do. */
#include "common.cuh"

__global__ void mark(uint32_t *v, unsigned long long *sum)
{
	linger();
	if (threadIdx.x == 0) {
		v[blockIdx.x] = blockIdx.x * 2654435761u;
		atomicAdd(sum, (unsigned long long)blockIdx.x);
	}
}

int main()
{
	const unsigned int n = 70001 * scale();
	uint32_t *v = device<uint32_t>(n);
	unsigned long long *sum = device<unsigned long long>(1);
	int right = 1;

	linger_start();
	mark<<<n, 32>>>(v, sum);
	LAUNCHED();
	std::vector<uint32_t> got = host(v, n);
	for (unsigned int i = 0; i < n; i++)
		right &= got[i] == i * 2654435761u;
	return report("big_grid", right && host(sum, 1)[0] == (unsigned long long)n * (n - 1) / 2, hash(got.data(), n * 4));
}
