/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matrix product with tiles in shared memory; a transposition; a dynamic shared tile. */
#define TILE 16

extern "C" __global__ void matmul(float *c, const float *a, const float *b, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < n / TILE; t++) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256, 4) transpose(float *out, const float *in, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int j = 0; j < 32; j += 8)
		if (x < n && y + j < n)
			tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8)
		if (x < n && y + j < n)
			out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void reverse_dynamic(int *data, int n)
{
	extern __shared__ int line[];
	int base = blockIdx.x * blockDim.x;

	line[threadIdx.x] = base + threadIdx.x < n ? data[base + threadIdx.x] : 0;
	__syncthreads();
	if (base + threadIdx.x < n)
		data[base + threadIdx.x] = line[blockDim.x - 1 - threadIdx.x];
}
