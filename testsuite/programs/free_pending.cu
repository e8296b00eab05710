/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory freed while kernels run: cudaFree waits, and takes nothing from under them. */
#include "common.cuh"

__global__ void chain(uint32_t *v, int n, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = i;

	linger();
	for (int r = 0; r < rounds; r++)
		x = mix(x);
	if (i < n)
		v[i] += x;
}

int main()
{
	const int n = 8192 * scale();
	uint32_t *keep = device<uint32_t>(n), *other, *pinned;
	int right = 1, rounds = 50;

	linger_start();
	for (int r = 0; r < 5; r++) {
		OK(cudaMalloc(&other, n * 4));
		OK(cudaMallocHost(&pinned, 4096));
		chain<<<n / 64, 64>>>(other, n, rounds);
		chain<<<n / 64, 64>>>(keep, n, rounds);
		OK(cudaFree(other));
		chain<<<n / 64, 64>>>(keep, n, rounds);
		OK(cudaFreeHost(pinned));
	}
	std::vector<uint32_t> got = host(keep, n);
	for (int i = 0; i < n; i++) {
		uint32_t x = i;

		for (int r = 0; r < rounds; r++)
			x = mix(x);
		right &= got[i] == x * 10;
	}
	return report("free_pending", right, 0);
}
