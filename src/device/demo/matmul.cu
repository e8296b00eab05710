// SPDX-License-Identifier: GPL-2.0-or-later
// A matrix product over tiles in shared memory, two barriers per tile: c (n x n) of a (n x k) and b (k x n),
// n and k multiples of 16.  The matrices may have more than 2^31 elements.
#define TILE 16

extern "C" __global__ void matmul(int *c, const int *a, const int *b, int n, int k)
{
	__shared__ int ta[TILE][TILE], tb[TILE][TILE];
	size_t row = blockIdx.y * TILE + threadIdx.y;
	size_t column = blockIdx.x * TILE + threadIdx.x;
	int sum = 0;

	for (int t = 0; t < k / TILE; t++) {
		ta[threadIdx.y][threadIdx.x] = a[row * k + t * TILE + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(size_t)(t * TILE + threadIdx.y) * n + column];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}
