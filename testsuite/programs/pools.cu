/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A memory pool of the program's own, its counts and its bounds. */
#include "common.cuh"

__global__ void fill(uint32_t *v, int n, uint32_t key)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(i + key);
}

int main()
{
	const int n = 65536 * ((scale() + 7) / 8);
	uint64_t used = 0, high = 0, keep = 1 << 20;
	cudaMemPoolProps props = {};
	cudaMemPool_t pool, byDefault;
	uint32_t *a, *b;
	cudaStream_t s;
	int right = 1;

	linger_start();
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	OK(cudaMemPoolCreate(&pool, &props));
	OK(cudaDeviceGetDefaultMemPool(&byDefault, 0));
	OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	OK(cudaStreamCreate(&s));
	OK(cudaMallocFromPoolAsync((void **)&a, n * 4, pool, s));
	OK(cudaMallocFromPoolAsync((void **)&b, n * 4, pool, s));
	fill<<<n / 128, 128, 0, s>>>(a, n, 1);
	fill<<<n / 128, 128, 0, s>>>(b, n, 2);
	OK(cudaStreamSynchronize(s));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	right &= used >= 2u * n * 4;
	std::vector<uint32_t> x = host(a, n), y = host(b, n);
	for (int i = 0; i < n; i++)
		right &= x[i] == mix(i + 1) && y[i] == mix(i + 2);
	OK(cudaFreeAsync(a, s));
	OK(cudaFreeAsync(b, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
	OK(cudaMemPoolTrimTo(pool, 0));
	OK(cudaMemPoolDestroy(pool));
	return report("pools", right && used == 0 && high >= 2u * n * 4 && pool != byDefault, hash(x.data(), n * 4));
}
