// SPDX-License-Identifier: GPL-2.0-or-later
// What the containers of this folder hold: two kernels, a constant, a function that is no kernel.
__constant__ float scale[4];

__device__ __noinline__ float scaled(float v, int i)
{
	return v * scale[i & 3];
}

extern "C" __global__ void axpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += scaled(a * x[i], i);
}

extern "C" __global__ void copy(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i];
}
