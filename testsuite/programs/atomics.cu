/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Atomics of all kinds, and a lock made of one. */
#include "common.cuh"

__device__ unsigned int lock;

__global__ void all(uint32_t *v, unsigned long long *big, float *f, int n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, x = mix(i);

	linger();
	if (i >= n)
		return;
	atomicAdd(&v[0], x);
	atomicXor(&v[1], x);
	atomicMax(&v[2], x);
	atomicMin(&v[3], x);
	atomicOr(&v[4], 1u << x % 32);
	atomicAnd(&v[5], ~(1u << i % 7));
	atomicInc(&v[6], 999);
	atomicAdd(big, (unsigned long long)x);
	atomicAdd(f, (float)(x % 4)); /* exact: integers */
	if (threadIdx.x == 0) {
		while (atomicCAS(&lock, 0u, 1u))
			;
		__threadfence();
		((volatile uint32_t *)v)[7] += 1;
		__threadfence();
		atomicExch(&lock, 0u);
	}
}

int main()
{
	const int n = 64 * 80 * scale();
	uint32_t *v = device<uint32_t>(8), want[8] = { 0, 0, 0, ~0u, 0, ~0u, 0, 0 };
	unsigned long long *big = device<unsigned long long>(1), sum = 0;
	float *f = device<float>(1), total = 0;

	linger_start();
	OK(cudaMemcpy(v, want, 32, cudaMemcpyHostToDevice));
	all<<<n / 64, 64>>>(v, big, f, n);
	LAUNCHED();
	for (int i = 0; i < n; i++) {
		uint32_t x = mix(i);

		want[0] += x;
		want[1] ^= x;
		want[2] = x > want[2] ? x : want[2];
		want[3] = x < want[3] ? x : want[3];
		want[4] |= 1u << x % 32;
		want[5] &= ~(1u << i % 7);
		want[6] = (want[6] + 1) % 1000;
		want[7] += i % 64 == 0;
		sum += x;
		total += x % 4;
	}
	std::vector<uint32_t> got = host(v, 8);
	return report("atomics", !memcmp(got.data(), want, 32) && host(big, 1)[0] == sum && host(f, 1)[0] == total, sum);
}
