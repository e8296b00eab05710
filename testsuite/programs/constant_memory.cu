/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter whose weights are in constant memory. */
#include "common.cuh"

__constant__ int32_t weight[16];

__global__ void filter(int32_t *out, const int32_t *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x = 0;

	linger();
	for (int k = 0; k < 16; k++)
		x += weight[k] * in[(i + k) % n];
	if (i < n)
		out[i] = x;
}

int main()
{
	const int n = 8192 * scale();
	std::vector<int32_t> in(n), w(16), got;
	int right = 1;

	linger_start();
	for (int i = 0; i < n; i++)
		in[i] = (int32_t)(mix(i) % 1000);
	int32_t *din = device(in), *out = device<int32_t>(n);
	for (int r = 0; r < 3; r++) {
		for (int k = 0; k < 16; k++)
			w[k] = (int32_t)(mix(k + r * 16) % 21) - 10;
		OK(cudaMemcpyToSymbol(weight, w.data(), 64));
		filter<<<(n + 63) / 64, 64>>>(out, din, n);
		LAUNCHED();
		got = host(out, n);
		for (int i = 0; i < n; i++) {
			int x = 0;

			for (int k = 0; k < 16; k++)
				x += w[k] * in[(i + k) % n];
			right &= got[i] == x;
		}
	}
	return report("constant_memory", right, hash(got.data(), n * 4));
}
