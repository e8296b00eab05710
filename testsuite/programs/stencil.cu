/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A five-point stencil, to and fro between two grids. */
#include "common.cuh"

__global__ void relax(int32_t *out, const int32_t *in, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, at = y * n + x;

	linger();
	if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) {
		if (x < n && y < n)
			out[at] = in[at];
		return;
	}
	out[at] = (4 * in[at] + in[at - 1] + in[at + 1] + in[at - n] + in[at + n]) / 8;
}

int main()
{
	int n = 96, rounds = 4;
	std::vector<int32_t> a, b, got;

	linger_start();
	for (int s = scale(); s > 1; s /= 4)
		n *= 2;
	b.resize(n * n);
	for (int i = 0; i < n * n; i++)
		a.push_back((int32_t)(mix(i) % 100000));
	int32_t *da = device(a), *db = device<int32_t>(n * n);
	for (int r = 0; r < rounds; r++) {
		relax<<<dim3(n / 16, n / 8), dim3(16, 8)>>>(db, da, n);
		std::swap(da, db);
		for (int y = 0; y < n; y++)
			for (int x = 0; x < n; x++) {
				int at = y * n + x;

				b[at] = x == 0 || y == 0 || x == n - 1 || y == n - 1 ? a[at] :
					(4 * a[at] + a[at - 1] + a[at + 1] + a[at - n] + a[at + n]) / 8;
			}
		a = b;
	}
	LAUNCHED();
	got = host(da, n * n);
	return report("stencil", got == a, hash(got.data(), got.size() * 4));
}
