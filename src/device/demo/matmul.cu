// SPDX-License-Identifier: GPL-2.0-or-later
// A matrix product over tiles in shared memory, two barriers per tile; n is a multiple of 16.
#define TILE 16

extern "C" __global__ void matmul(int *c, const int *a, const int *b, int n)
{
	__shared__ int ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y;
	int column = blockIdx.x * TILE + threadIdx.x;
	int sum = 0;

	for (int t = 0; t < n / TILE; t++) {
		ta[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}
