// SPDX-License-Identifier: GPL-2.0-or-later
// What calls.cubin is made of (generate): kernels that call functions of the driver's, two of them beside a variable of their module.
#include <cassert>
#include <cstdio>

__device__ int counter = 17;

extern "C" __global__ void gather(float *out, const float *in, const int *index, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		int from = index[i];

		assert(from >= 0 && from < n && "index out of bounds");
		out[i] = in[from];
	}
}

extern "C" __global__ void say(const int *p)
{
	if (p[threadIdx.x] < 0)
		printf("block %d: %d\n", blockIdx.x, p[threadIdx.x]);
}

extern "C" __global__ void heap(int **p)
{
	p[threadIdx.x] = static_cast<int *>(malloc(16));
	if (threadIdx.x & 1)
		free(p[threadIdx.x]);
}

__device__ __noinline__ float root(float x, int depth)
{
	assert(x >= 0);
	return depth > 0 ? root(sqrtf(x), depth - 1) : x;
}

// All of it: a function of its own that calls the driver's, a table, more than one string.
extern "C" __global__ void all(float *p, const int *depth)
{
	float x = root(p[threadIdx.x], depth[threadIdx.x]);

	printf("%s: %f\n", __func__, x);
	assert(p[blockIdx.x] < 100);
	p[threadIdx.x] = sinf(x);
}

extern "C" __global__ void count(int *p)
{
	assert(p[0] >= 0);
	p[0] = atomicAdd(&counter, 1);
}

extern "C" __global__ void show(int *p)
{
	*p = printf("%p\n", &counter);
}

extern "C" __global__ void plain(int *p)
{
	*p = 1;
}
