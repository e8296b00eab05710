/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time between events: not what it is, but that it makes sense. */
#include "common.cuh"

__global__ void spin(uint32_t *out, int rounds)
{
	uint32_t x = threadIdx.x;

	for (int i = 0; i < rounds; i++)
		x = mix(x);
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

int main()
{
	uint32_t *out = device<uint32_t>(64 * 64);
	float all = 0, first = 0, second = 0;
	cudaEvent_t e[3];

	for (int k = 0; k < 3; k++)
		OK(cudaEventCreate(&e[k]));
	OK(cudaEventRecord(e[0]));
	spin<<<64, 64>>>(out, 20);
	OK(cudaEventRecord(e[1]));
	spin<<<64, 64>>>(out, 200 * scale());
	OK(cudaEventRecord(e[2]));
	OK(cudaEventSynchronize(e[2]));
	OK(cudaEventElapsedTime(&all, e[0], e[2]));
	OK(cudaEventElapsedTime(&first, e[0], e[1]));
	OK(cudaEventElapsedTime(&second, e[1], e[2]));
	return report("event_timing", first >= 0 && second > 0 && all >= first && all >= second && all < 60000, 0);
}
