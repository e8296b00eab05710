/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes wrong is told as ever: at the launch, at the copy, and once. */
#include "common.cuh"

__global__ void step(uint32_t *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main()
{
	uint32_t *v = device<uint32_t>(1024), x;
	void *huge;
	int right = 1;

	step<<<1, 4096>>>(v);
	right &= cudaPeekAtLastError() == cudaErrorInvalidConfiguration;
	right &= cudaGetLastError() == cudaErrorInvalidConfiguration;
	right &= cudaGetLastError() == cudaSuccess;
	step<<<0, 32>>>(v);
	right &= cudaGetLastError() == cudaErrorInvalidConfiguration;
	right &= cudaMalloc(&huge, (size_t)1 << 50) == cudaErrorMemoryAllocation;
	right &= cudaGetLastError() == cudaErrorMemoryAllocation;
	right &= cudaSetDevice(1000) == cudaErrorInvalidDevice;
	right &= cudaMemcpyFromSymbol(&x, v, 4) == cudaErrorInvalidSymbol;
	right &= cudaMemcpy(v, v, 4, (cudaMemcpyKind)77) == cudaErrorInvalidMemcpyDirection;
	cudaGetLastError();
	right &= !strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration");
	step<<<16, 64>>>(v);
	LAUNCHED();
	for (uint32_t y : host(v, 1024))
		right &= y == 1;
	return report("errors", right, 0);
}
