/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix product by tiles in shared memory. */
#include "common.cuh"

#define T 16

__global__ void product(float *c, const float *a, const float *b, int n)
{
	__shared__ float s[T][T], t[T][T];
	int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
	float sum = 0;

	linger();
	for (int k = 0; k < n; k += T) {
		s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
		t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
		__syncthreads();
		for (int i = 0; i < T; i++)
			sum += s[threadIdx.y][i] * t[i][threadIdx.x];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

int main()
{
	int n = 64, right = 1;
	std::vector<float> a, b, got;

	linger_start();
	for (int s = scale(); s > 1; s /= 4)
		n *= 2;
	/* small integers: sums are exact in any order */
	for (int i = 0; i < n * n; i++) {
		a.push_back((float)(mix(i) % 16));
		b.push_back((float)(mix(i + n * n) % 16));
	}
	float *da = device(a), *db = device(b), *dc = device<float>(n * n);
	product<<<dim3(n / T, n / T), dim3(T, T)>>>(dc, da, db, n);
	LAUNCHED();
	got = host(dc, n * n);
	for (int y = 0; y < n; y += n / 256 + 1) {
		for (int x = 0; x < n; x += 7) {
			float sum = 0;

			for (int k = 0; k < n; k++)
				sum += a[y * n + k] * b[k * n + x];
			right &= got[y * n + x] == sum;
		}
	}
	return report("matmul", right, hash(got.data(), got.size() * 4));
}
