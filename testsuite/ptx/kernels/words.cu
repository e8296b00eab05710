/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel may do besides: atomics, warps, functions, private memory,
 * wide and narrow numbers, printf, assertions, variables of the module.
 */
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

extern "C" __global__ void atomics(unsigned *a, int *b, unsigned long long *c, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];

	atomicAdd(&a[0], v & 15);
	atomicSub(&a[1], 3u);
	atomicOr(&a[2], 1u << (v & 31));
	atomicAnd(&a[3], ~(1u << (i & 15)));
	atomicXor(&a[4], v * 77);
	atomicMin(&b[0], v);
	atomicMax(&b[1], v);
	atomicAdd(&c[0], (unsigned long long)v << 20);
	atomicMax(&c[1], (unsigned long long)i * i);
	atomicAdd_block(&a[8 + blockIdx.x], 1u);
	atomicAdd_system(&a[5], 2u);
	atomicInc(&a[6], 0xffffu);
	atomicAdd((float *)&b[2], 1.0f);
}

/* A sum of doubles by compare and swap: whole numbers, so that the order does not show. */
extern "C" __global__ void atomic_loop(unsigned long long *sum, const int *in)
{
	unsigned long long old = *sum, seen;

	do {
		seen = old;
		old = atomicCAS(sum, seen, __double_as_longlong(__longlong_as_double(seen) + in[blockIdx.x * 32 + threadIdx.x]));
	} while (old != seen);
}

/* One atomic operation for all lanes that came here together. */
extern "C" __global__ void aggregated(unsigned *count, unsigned *seen, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (in[i] % 3 == 0) {
		cg::coalesced_group g = cg::coalesced_threads();
		unsigned first = 0;

		if (g.thread_rank() == 0)
			first = atomicAdd(count, g.size());
		first = g.shfl(first, 0);
		seen[i] = first < 100000u;
	}
}

extern "C" __global__ void shuffles(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	v += __shfl_up_sync(0xffffffffu, v, 3);
	v += __shfl_down_sync(0xffffffffu, v, 5, 16);
	v += __shfl_xor_sync(0xffffffffu, v, 9);
	v += __shfl_sync(0xffffffffu, v, lane * 7, 8);
	v += __match_any_sync(0xffffffffu, v & 7) & 0xff;
	v += __all_sync(0xffffffffu, v > -100) + 2 * __any_sync(0xffffffffu, v == 50);
	out[i] = v + __popc(__ballot_sync(0xffffffffu, v & 1));
}

/* Lanes part and meet again within the warp. */
extern "C" __global__ void lanes_part(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];

	for (int k = 0; k < (v & 7); k++)
		v += k * in[(i + k) & 1023];
	__syncwarp();
	if (v & 1)
		v = __shfl_xor_sync(__activemask(), v, 0);
	__syncwarp();
	out[i] = v + __shfl_down_sync(0xffffffffu, v & 3, 1);
}

static __device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(unsigned *out, const unsigned *in)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = ackermann(in[i] % 3, in[i] % 4);
}

struct shape {
	float size;
	__device__ shape(float s) : size(s) {}
	virtual __device__ float area() const { return 0; }
};
struct square : shape {
	__device__ square(float s) : shape(s) {}
	__device__ float area() const override { return size * size; }
};
struct circle : shape {
	__device__ circle(float s) : shape(s) {}
	__device__ float area() const override { return 3.25f * size * size; }
};

extern "C" __global__ void virtual_calls(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	square s(in[i]);
	circle c(in[i]);
	const shape *both[2] = { &s, &c };

	out[i] = both[(int)in[i] & 1]->area();
}

/* A private stack: an explicit tree walk. */
extern "C" __global__ void private_stack(int *out, const int *in, int n)
{
	int stack[24], depth = 0, sum = 0, i = blockIdx.x * blockDim.x + threadIdx.x;

	stack[depth++] = 1 + (i & 3);
	while (depth) {
		int node = stack[--depth];

		sum += in[node];
		if (2 * node + 1 < n) {
			stack[depth++] = 2 * node;
			stack[depth++] = 2 * node + 1;
		}
	}
	out[i] = sum;
}

extern "C" __global__ void wide_numbers(unsigned long long *out, const unsigned *in)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long a = (unsigned long long)in[i] << 32 | in[i + 1], b = in[i + 2] | 1;
	unsigned lo, hi;

	asm("{ add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 0; }" : "=r"(lo), "=r"(hi) : "r"(in[i]), "r"(in[i + 3]));
	out[i] = a / b + a % b + __umul64hi(a, b) + ((unsigned long long)hi << 32 | lo) + __popcll(a) + __clzll(b) +
		 __ffsll(a) + __brevll(b) + (long long)a / 77;
}

extern "C" __global__ void narrow_numbers(unsigned *out, const unsigned *in)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, a = in[i], b = in[i + 1];
	signed char c = (signed char)a;
	short s = (short)(b >> 3);

	out[i] = __byte_perm(a, b, 0x5173) + __funnelshift_l(a, b, a & 31) + (c * s) + (unsigned)(c >> 1) + __dp4a(a, b, 5u) +
		 __usad(a, b, 9) + __mul24(a, b) + __hadd((int)a, (int)b);
}

/* Instructions for pictures. */
extern "C" __global__ void bytes_at_once(unsigned *out, const unsigned *in)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, a = in[i], b = in[i + 1];

	out[i] = __vabsdiffu4(a, b) + __vadd2(a, b) + __vmaxs4(a, b);
}

extern "C" __global__ void floating(double *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = in[i];
	double d = x;

	out[i] = sin(d) + exp(-d) + log(d + 1) + sqrt(d) + pow(d, 1.5) + tanhf(x) + cbrtf(x) + erff(x) + fmodf(x, 0.3f) +
		 rint(d * 7) + floorf(x * 3) + __fdividef(x, 3.0f) + __half2float(hsin(__float2half(x))) + ldexp(d, 3) + fmin(d, 1.0);
}

extern "C" __global__ void packed_halves(__half2 *out, const __half2 *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	__half2 v = in[i];

	v = __hfma2(v, __float2half2_rn(1.5f), __hmul2(v, v));
	v = __hmin2(v, __float2half2_rn(6.0f));
	if (__hgt(__low2half(v), __high2half(v)))
		v = __lowhigh2highlow(v);
	out[i] = __hadd2(v, h2sqrt(v));
}

extern "C" __global__ void say_block(const int *in)
{
	if (threadIdx.x == 0)
		printf("block %d of %d: %d %s %.2f %llx\n", blockIdx.x, gridDim.x, in[blockIdx.x], "words", in[blockIdx.x] / 4.0,
		       (unsigned long long)in[blockIdx.x]);
}

extern "C" __global__ void asserts(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	assert(in[i] >= -5 && in[i] < 100);
	if (in[i] == 1000)
		__trap();
	out[i] = in[i] * 3;
}

extern "C" __global__ void heap(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, *own = (int *)malloc(16 * sizeof(int));

	for (int k = 0; k < 16; k++)
		own[k] = in[i] + k;
	out[i] = own[in[i] & 15];
	free(own);
}

__device__ int table[64] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
__device__ unsigned visits;
__constant__ int few[4] = { 2, 7, 1, 8 };
__device__ int *table_end = table + 64;

/* Variables of the module, one read through a pointer that another holds. */
extern "C" __global__ void variables(int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&visits, 1u);
	atomicAdd(&table[32 + (i & 31)], few[i & 3]);
	out[i] = table[i & 15] + few[i & 3] + (int)(table_end - table);
}

/* Time passes, whatever is made of it. */
extern "C" __global__ void clocks(unsigned *out, const unsigned *in)
{
	long long start = clock64();
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = in[i];
	unsigned long long now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	for (int k = 0; k < 20; k++)
		sum = sum * 31 + k;
	__nanosleep(100);
	out[i] = sum + (clock64() < start) + (now == 0);
}

/* Loops that the block index bounds, a switch by it, and a branch over it. */
extern "C" __global__ void by_block(unsigned *out, const unsigned *in)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];

	for (unsigned k = 0; k < blockIdx.x + blockIdx.y; k++)
		v = v * 5 + k;
	switch (blockIdx.x % 5) {
	case 0: v ^= gridDim.x; break;
	case 1: v += threadIdx.x * gridDim.y; break;
	case 2: v = __brev(v); break;
	case 3: v = v / (blockIdx.y + 1); break;
	default: v = ~v; break;
	}
	atomicAdd(&out[i], v);
}
