/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls through pointers and virtual functions, and recursion. */
#include "common.cuh"

typedef uint32_t (*fn)(uint32_t);

__device__ __noinline__ uint32_t twice(uint32_t x)
{
	return 2 * x;
}

__device__ __noinline__ uint32_t square(uint32_t x)
{
	return x * x;
}

__device__ __noinline__ uint32_t fib(uint32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__device__ fn table[3] = { twice, square, fib };

struct shape {
	__device__ virtual uint32_t area() const = 0;
};
struct box : shape {
	uint32_t a, b;
	__device__ box(uint32_t x, uint32_t y) : a(x), b(y) {}
	__device__ uint32_t area() const override { return a * b; }
};
struct line : shape {
	uint32_t n;
	__device__ line(uint32_t x) : n(x) {}
	__device__ uint32_t area() const override { return n; }
};

__global__ void call(uint32_t *v, int n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	box b(i, 3);
	line l(i + 7);
	const shape *s = i % 2 ? (const shape *)&b : (const shape *)&l;

	linger();
	if (i < n)
		v[i] = table[i % 3](i % 3 == 2 ? i % 9 : i) + s->area();
}

int main()
{
	const uint32_t f[9] = { 0, 1, 1, 2, 3, 5, 8, 13, 21 };
	const int n = 64 * 40 * scale();
	uint32_t *v = device<uint32_t>(n);
	int right = 1;

	linger_start();
	call<<<n / 64, 64>>>(v, n);
	LAUNCHED();
	std::vector<uint32_t> got = host(v, n);
	for (uint32_t i = 0; i < (uint32_t)n; i++)
		right &= got[i] == (i % 3 == 0 ? 2 * i : i % 3 == 1 ? i * i : f[i % 9]) + (i % 2 ? 3 * i : i + 7);
	return report("function_pointers", right, hash(got.data(), n * 4));
}
