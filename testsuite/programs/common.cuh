/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs share: each computes something on the GPU, checks it against
 * the CPU, and prints one line that is the same in every run.  GS_SCALE (1: small,
 * for the emulated device) makes the grids larger, not the result's form.
 */
#ifndef GPUSHARE_PROGRAMS_COMMON_CUH
#define GPUSHARE_PROGRAMS_COMMON_CUH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define OK(call) \
	do { \
		cudaError_t rc_ = (call); \
		if (rc_ != cudaSuccess) { \
			printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(rc_)); \
			exit(1); \
		} \
	} while (0)
#define LAUNCHED() OK(cudaGetLastError())

static inline int scale(void)
{
	const char *s = getenv("GS_SCALE");
	int n = s ? atoi(s) : 1;

	return n < 1 ? 1 : n;
}

/* A generator that CPU and GPU share. */
__host__ __device__ static inline uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

static inline uint64_t hash(const void *data, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

/* The program's line and its status. */
static inline int report(const char *name, int right, uint64_t value)
{
	printf("%s: %s %016llx\n", name, right ? "right" : "WRONG", (unsigned long long)value);
	return right ? 0 : 1;
}

template <class T> static T *device(size_t n)
{
	T *p;

	OK(cudaMalloc((void **)&p, n * sizeof(T)));
	OK(cudaMemset(p, 0, n * sizeof(T)));
	OK(cudaDeviceSynchronize()); /* a stream that does not block on the default one must find it cleared */
	return p;
}

template <class T> static T *device(const std::vector<T> &v)
{
	T *p;

	OK(cudaMalloc((void **)&p, v.size() * sizeof(T)));
	OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	OK(cudaDeviceSynchronize()); /* the copy returns once the source is taken */
	return p;
}

template <class T> static std::vector<T> host(const T *p, size_t n)
{
	std::vector<T> v(n);

	OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

#endif
