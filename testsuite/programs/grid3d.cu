/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A grid of three dimensions, in blocks of three. */
#include "common.cuh"

__global__ void where(uint32_t *v)
{
	uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
		 z = blockIdx.z * blockDim.z + threadIdx.z, w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;

	linger();
	atomicAdd(&v[(z * h + y) * w + x], x + 1000 * y + 1000000 * z + gridDim.z);
}

int main()
{
	const uint32_t w = 4 * 12, h = 3 * 10, d = 2 * 7 * scale();
	uint32_t *v = device<uint32_t>(w * h * d);
	int right = 1;

	linger_start();
	where<<<dim3(12, 10, d / 2), dim3(4, 3, 2)>>>(v);
	LAUNCHED();
	std::vector<uint32_t> got = host(v, w * h * d);
	for (uint32_t z = 0; z < d; z++)
		for (uint32_t y = 0; y < h; y++)
			for (uint32_t x = 0; x < w; x++)
				right &= got[(z * h + y) * w + x] == x + 1000 * y + 1000000 * z + d / 2;
	return report("grid3d", right, hash(got.data(), got.size() * 4));
}
