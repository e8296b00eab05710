/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A number-theoretic transform (an FFT with exact results) and its inverse. */
#include "common.cuh"

#define P 998244353ull

__host__ __device__ static inline uint32_t power(uint64_t b, uint32_t e)
{
	uint64_t r = 1;

	for (; e; e /= 2, b = b * b % P)
		if (e & 1)
			r = r * b % P;
	return (uint32_t)r;
}

__global__ void reverse(uint32_t *out, const uint32_t *in, int bits)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	out[__brev(i) >> (32 - bits)] = in[i];
}

__global__ void butterfly(uint32_t *v, unsigned int half, uint32_t root)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, k = i % half, at = i / half * half * 2 + k;
	uint64_t w = (uint64_t)v[at + half] * power(root, k) % P, u = v[at];

	linger();
	v[at] = (uint32_t)((u + w) % P);
	v[at + half] = (uint32_t)((u + P - w) % P);
}

static void transform(uint32_t *out, const uint32_t *in, int bits, int inverse)
{
	unsigned int n = 1u << bits;

	reverse<<<n / 64, 64>>>(out, in, bits);
	for (unsigned int half = 1; half < n; half *= 2) {
		uint32_t root = power(3, (uint32_t)(P - 1) / (half * 2));

		butterfly<<<n / 128, 64>>>(out, half, inverse ? power(root, P - 2) : root);
	}
}

int main()
{
	int bits = 10, right = 1;
	std::vector<uint32_t> in, got;
	uint64_t sum = 0;

	linger_start(8);
	for (int s = scale(); s > 1; s /= 2)
		bits++;
	if (scale() > 1)
		bits += 2; /* more blocks than a GPU holds */
	for (unsigned int i = 0; i < 1u << bits; i++) {
		in.push_back((uint32_t)(mix(i) % P));
		sum = (sum + in[i]) % P;
	}
	uint32_t *a = device(in), *b = device<uint32_t>(in.size()), *c = device<uint32_t>(in.size());
	transform(b, a, bits, 0);
	transform(c, b, bits, 1);
	LAUNCHED();
	right &= host(b, 1)[0] == sum;
	got = host(c, in.size());
	uint32_t inverse = power(in.size() % P, P - 2);
	for (size_t i = 0; i < in.size(); i++)
		right &= (uint64_t)got[i] * inverse % P == in[i];
	got = host(b, in.size());
	return report("fft", right, hash(got.data(), got.size() * 4));
}
