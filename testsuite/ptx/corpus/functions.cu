/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions: printf, recursion, pointers to functions, templates, structs by value, constants. */
#include <cstdio>

__constant__ float weights[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
struct settings { int steps[5]; double scale; char mode; };

extern "C" __global__ void say(const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && in[i] == 42)
		printf("block %d thread %d: %f\n", blockIdx.x, threadIdx.x, in[i] * 0.5);
}

static __device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recurse(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = fibonacci(in[i] & 15);
}

typedef float (*operation)(float);
static __device__ __noinline__ float twice(float x) { return 2 * x; }
static __device__ __noinline__ float square(float x) { return x * x; }
static __device__ operation operations[2] = { twice, square };

extern "C" __global__ void through_pointers(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = operations[i & 1](in[i]) + weights[i & 7];
}

static __device__ __noinline__ unsigned block_number()
{
	return blockIdx.x + gridDim.x * blockIdx.y;
}

extern "C" __global__ void block_in_function(unsigned *out)
{
	if (threadIdx.x == 0)
		out[block_number()] = block_number();
}

template <typename T> __global__ void scaled(T *out, const T *in, struct settings s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i] * (T)s.scale + s.steps[i % 5] + s.mode;
}

template __global__ void scaled<float>(float *, const float *, struct settings, int);
template __global__ void scaled<double>(double *, const double *, struct settings, int);
template __global__ void scaled<long long>(long long *, const long long *, struct settings, int);

extern "C" __global__ void choose(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v;

	if (i >= n)
		return;
	switch (in[i] & 7) {
	case 0: v = in[i] + 3; break;
	case 1: v = in[i] * 5; break;
	case 2: v = in[i] >> 2; break;
	case 3: v = in[i] ^ 99; break;
	case 4: v = __popc(in[i]); break;
	case 5: v = -in[i]; break;
	default: v = 0;
	}
	out[i] = v;
}

extern "C" __global__ void nothing(void)
{
}
