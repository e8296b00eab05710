/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sparse matrix (compressed rows) times a vector, a warp per row. */
#include "common.cuh"

__global__ void multiply(uint32_t *y, const int *row, const int *col, const uint32_t *val, const uint32_t *x, int rows)
{
	int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	uint32_t sum = 0;

	linger();
	if (r >= rows)
		return;
	for (int i = row[r] + lane; i < row[r + 1]; i += 32)
		sum += val[i] * x[col[i]];
	for (int d = 16; d; d /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, d);
	if (lane == 0)
		y[r] = sum;
}

int main()
{
	const int rows = 500 * scale();
	std::vector<uint32_t> val, x(rows), got;
	std::vector<int> row(1), col;
	int right = 1;

	linger_start();
	for (int r = 0; r < rows; r++) {
		int n = mix(r) % 70;

		for (int i = 0; i < n; i++) {
			col.push_back(mix(r * 71 + i) % rows);
			val.push_back(mix(r * 73 + i));
		}
		row.push_back((int)col.size());
		x[r] = mix(r + 5);
	}
	uint32_t *y = device<uint32_t>(rows);
	multiply<<<(rows + 3) / 4, 128>>>(y, device(row), device(col), device(val), device(x), rows);
	LAUNCHED();
	got = host(y, rows);
	for (int r = 0; r < rows; r++) {
		uint32_t sum = 0;

		for (int i = row[r]; i < row[r + 1]; i++)
			sum += val[i] * x[col[i]];
		right &= got[r] == sum;
	}
	return report("spmv", right, hash(got.data(), rows * 4));
}
