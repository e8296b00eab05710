/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Managed memory, allocated and declared, passed to and fro. */
#include "common.cuh"

__managed__ uint32_t counter;
__managed__ uint32_t table[256];

__global__ void work(uint32_t *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n) {
		v[i] = v[i] * 5 + table[i % 256];
		atomicAdd(&counter, 1u);
	}
}

int main()
{
	const int n = 8192 * scale();
	uint32_t *v;
	int right = 1;

	linger_start();
	OK(cudaMallocManaged(&v, n * 4));
	for (int i = 0; i < 256; i++)
		table[i] = mix(i);
	for (int i = 0; i < n; i++)
		v[i] = i;
	work<<<n / 128, 128>>>(v, n);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < n; i++)
		v[i] += 1;
	work<<<n / 128, 128>>>(v, n);
	OK(cudaDeviceSynchronize());
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		right &= v[i] == (i * 5 + mix(i % 256) + 1) * 5 + mix(i % 256);
	return report("managed", right && counter == 2u * n, hash(v, n * 4));
}
