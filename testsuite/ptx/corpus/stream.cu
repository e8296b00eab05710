/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streaming kernels: one element per thread, a grid-stride loop, and a two-dimensional copy. */
extern "C" __global__ void triad(float *a, const float *b, const float *c, float s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] = b[i] + s * c[i];
}

extern "C" __global__ void triad_stride(float *a, const float *b, const float *c, float s, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		a[i] = b[i] + s * c[i];
}

extern "C" __global__ void matrix_add(double *c, const double *a, const double *b, int rows, int columns)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x >= columns || y >= rows)
		return;
	c[(size_t)y * columns + x] = a[(size_t)y * columns + x] + b[(size_t)y * columns + x];
}
