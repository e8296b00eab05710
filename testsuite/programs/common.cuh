/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs share: each computes something on the GPU, checks it against
 * the CPU, and prints one line that is the same in every run.  GS_SCALE (1: small,
 * for the emulated device) makes the grids larger, not the result's form.
 * GS_LINGER_US makes kernels last: what is over in microseconds is never evicted.
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

static inline int number(const char *name, int least, int most)
{
	const char *s = getenv(name);
	int n = s ? atoi(s) : least;

	return n < least ? least : n > most ? most : n;
}

static inline int scale(int most = 1 << 20)
{
	return number("GS_SCALE", 1, most);
}

/* How long a kernel is to last at least, in us; 0: as long as its work does. */
static inline int linger_us(void)
{
	return number("GS_LINGER_US", 0, 1000000);
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

/* Of the module: what linger() goes by.  ns 0: it returns at once. */
struct linger_by {
	unsigned int ns, sms, blocks, threads; /* of a kernel; of the device; that an SM holds */
};
static __constant__ struct linger_by linger_by;

/*
 * In a kernel, by each thread of it, early: a block stays so long that the whole grid
 * lasts as long as linger_start() said, however many blocks it has.  No barrier, no
 * exit, and a bound on the loop, for a timer that stands still.
 */
static __device__ __forceinline__ void linger(void)
{
	unsigned int fit;
	uint64_t grid = (uint64_t)gridDim.x * gridDim.y * gridDim.z, begin, now, ns = linger_by.ns;

	if (!ns)
		return;
	fit = linger_by.threads / (blockDim.x * blockDim.y * blockDim.z);
	fit = (fit > linger_by.blocks ? linger_by.blocks : fit) * linger_by.sms;
	ns /= (grid + fit - 1) / fit;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	for (uint64_t i = 0; i < ns; i++) {
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
		if (now - begin >= ns)
			break;
	}
}

/*
 * On the host, before the first launch of this module's kernels: each is to last a
 * share of GS_LINGER_US.  Nothing is called where nothing is to linger.
 */
static inline void linger_start(unsigned int share = 1)
{
	struct linger_by by = { linger_us() * 1000u / share, 0, 0, 0 };
	int sms, blocks, threads;

	if (!by.ns)
		return;
	OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	OK(cudaDeviceGetAttribute(&blocks, cudaDevAttrMaxBlocksPerMultiprocessor, 0));
	OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
	by.sms = sms;
	by.blocks = blocks;
	by.threads = threads;
	OK(cudaMemcpyToSymbol(linger_by, &by, sizeof(by)));
	OK(cudaDeviceSynchronize()); /* for streams that do not block on the default one */
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
