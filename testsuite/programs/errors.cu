/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes wrong is told as ever: at the launch, at the call, and once.  The
 * result is a hash of the errors' names: which of the documented ones a call
 * returns is the vendor's affair, that it is the same under gpushare is ours.
 */
#include "common.cuh"

__global__ void step(uint32_t *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static uint64_t names;

/* An error, and one of the documented ones; it goes into the result. */
static int fails(int line, cudaError_t got, cudaError_t either, cudaError_t other)
{
	const char *name = cudaGetErrorName(got);

	names = names * 31 + hash(name, strlen(name));
	if (got != either && got != other)
		printf("line %d: %s\n", line, name);
	return got == either || got == other;
}
#define FAILS(call, either, other) fails(__LINE__, call, either, other)

static int clean(int line)
{
	cudaError_t got = cudaGetLastError();

	if (got != cudaSuccess)
		printf("line %d: %s is left over\n", line, cudaGetErrorName(got));
	return got == cudaSuccess;
}

int main()
{
	uint32_t *v = device<uint32_t>(1024), x;
	void *huge;
	int right = 1;

	step<<<1, 4096>>>(v);
	right &= FAILS(cudaPeekAtLastError(), cudaErrorInvalidConfiguration, cudaErrorInvalidValue);
	right &= FAILS(cudaGetLastError(), cudaErrorInvalidConfiguration, cudaErrorInvalidValue);
	right &= clean(__LINE__);
	step<<<0, 32>>>(v);
	right &= FAILS(cudaGetLastError(), cudaErrorInvalidConfiguration, cudaErrorInvalidValue);
	right &= clean(__LINE__);
	right &= FAILS(cudaMalloc(&huge, (size_t)1 << 50), cudaErrorMemoryAllocation, cudaErrorInvalidValue);
	right &= FAILS(cudaGetLastError(), cudaErrorMemoryAllocation, cudaErrorInvalidValue);
	right &= clean(__LINE__);
	right &= FAILS(cudaSetDevice(1000), cudaErrorInvalidDevice, cudaErrorInvalidValue);
	OK(cudaSetDevice(0));
	cudaGetLastError();
	right &= FAILS(cudaMemcpyFromSymbol(&x, v, 4), cudaErrorInvalidSymbol, cudaErrorInvalidValue);
	cudaGetLastError();
	right &= FAILS(cudaMemcpy(v, v, 4, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection, cudaErrorInvalidValue);
	cudaGetLastError();
	right &= clean(__LINE__);
	right &= !strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration");
	/* None of this has hurt the context. */
	step<<<16, 64>>>(v);
	LAUNCHED();
	for (uint32_t y : host(v, 1024))
		right &= y == 1;
	return report("errors", right, names);
}
