/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How threads of a block and blocks of a grid meet: barriers, early returns,
 * shared memory that outlives a block-task, look-back, locks, the last block.
 */

/* Warp 0 is slow: the others must not take up what it has not yet claimed. */
extern "C" __global__ void slow_leader(unsigned *out, const unsigned *in)
{
	unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x];

	if (threadIdx.x < 32)
		for (int i = 0; i < 900; i++)
			v = v * 1664525u + 1013904223u;
	atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], v);
}

/* The last warp is slow: thread 0 must not claim, nor count out, over its head. */
extern "C" __global__ void slow_tail(unsigned *out, const unsigned *in)
{
	unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x];

	if (threadIdx.x >= blockDim.x - 32)
		for (int i = 0; i < 900; i++)
			v = v * 1664525u + 1013904223u;
	atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], v);
}

/* The same, with shared memory that the next block-task writes at once. */
extern "C" __global__ void shared_reuse(unsigned *out, const unsigned *in)
{
	__shared__ unsigned line[128];
	unsigned v = 0;

	line[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
	__syncthreads();
	if (threadIdx.x >= 96)
		for (int i = 0; i < 600; i++)
			v = v * 69069u + line[(threadIdx.x + i) & 127];
	out[blockIdx.x * 128 + threadIdx.x] = v + line[127 - threadIdx.x];
}

/* Every block-task counts itself and adds its number: twice or not at all shows. */
extern "C" __global__ void count_tasks(unsigned *count, unsigned long long *sum)
{
	unsigned long long block = blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);

	atomicAdd(&count[block], 1u + threadIdx.x);
	if (threadIdx.x == 0)
		atomicAdd(sum, block);
}

/* Look-back by warps: a status word holds a flag and a sum, 32 predecessors are read at once. */
extern "C" __global__ void scan_decoupled(int *out, const int *in, unsigned long long *status)
{
	__shared__ int line[128], before;
	int v = in[blockIdx.x * 128 + threadIdx.x], own = v;

	line[threadIdx.x] = v;
	for (int d = 1; d < 128; d *= 2) {
		__syncthreads();
		int other = threadIdx.x >= d ? line[threadIdx.x - d] : 0;
		__syncthreads();
		line[threadIdx.x] = own += other;
	}
	__syncthreads();
	if (threadIdx.x < 32) {
		volatile unsigned long long *s = status;
		int sum = 0;

		if (threadIdx.x == 0)
			s[blockIdx.x] = (blockIdx.x ? 1ull : 2ull) << 32 | (unsigned)line[127];
		for (int first = (int)blockIdx.x - 1; first >= 0; first -= 32) {
			int at = first - (int)threadIdx.x, part;
			unsigned long long w;
			unsigned ready, whole;

			do {
				w = at >= 0 ? s[at] : 2ull << 32;
				ready = __ballot_sync(0xffffffffu, w >> 32 != 0);
			} while (ready != 0xffffffffu);
			whole = __ballot_sync(0xffffffffu, w >> 32 == 2);
			part = whole && threadIdx.x > __ffs(whole) - 1 ? 0 : (int)w;
			for (int d = 16; d; d /= 2)
				part += __shfl_xor_sync(0xffffffffu, part, d);
			sum += part;
			if (whole)
				break;
		}
		if (threadIdx.x == 0) {
			before = sum;
			s[blockIdx.x] = 2ull << 32 | (unsigned)(sum + line[127]);
		}
	}
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = before + own;
}

__device__ unsigned arrived, total;

/* The last block sums what all have left, and makes the counter ready for the next launch. */
extern "C" __global__ void last_block(unsigned *out, unsigned *part, const unsigned *in)
{
	__shared__ bool last;
	unsigned v = in[blockIdx.x * 64 + threadIdx.x];

	v = __syncthreads_count(v & 1) + 2 * __syncthreads_or(v == 3);
	if (threadIdx.x == 0) {
		part[blockIdx.x] = v;
		__threadfence();
		last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last) {
		unsigned sum = 0;

		for (unsigned i = threadIdx.x; i < gridDim.x; i += 64)
			sum += ((volatile unsigned *)part)[i];
		atomicAdd(&total, sum);
		__syncthreads();
		if (threadIdx.x == 0)
			*out = atomicExch(&total, 0);
	}
}

__device__ int lock;

/* A lock held by one block at a time. */
extern "C" __global__ void locked(unsigned *sum, const unsigned *in)
{
	if (threadIdx.x == 0) {
		while (atomicCAS(&lock, 0, 1) != 0)
			;
		__threadfence();
		*(volatile unsigned *)sum = *(volatile unsigned *)sum * 1 + in[blockIdx.x];
		__threadfence();
		atomicExch(&lock, 0);
	}
}

/* The whole block returns, or nobody: no thread is missed at the barrier. */
extern "C" __global__ void block_returns(int *out, const int *in, int n)
{
	__shared__ int line[64];

	if (blockIdx.x * 64 >= n || in[blockIdx.x] < 0)
		return;
	line[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
	__syncthreads();
	if (blockIdx.x % 3 == 1)
		return;
	out[blockIdx.x * 64 + threadIdx.x] = line[63 - threadIdx.x];
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] += line[threadIdx.x ^ 1];
}

/* Whole warps return before barriers, one after the other, in a loop. */
extern "C" __global__ void warps_return(int *out, const int *in, int rounds)
{
	__shared__ int line[128];
	int v = in[blockIdx.x * 128 + threadIdx.x];

	for (int r = 0; r < rounds; r++) {
		line[threadIdx.x] = v;
		__syncthreads();
		if (threadIdx.x / 32 == r) {
			out[blockIdx.x * 128 + threadIdx.x] = v;
			return;
		}
		v += line[(threadIdx.x + 32) & 127] * (r + 1);
		__syncthreads();
	}
	out[blockIdx.x * 128 + threadIdx.x] = -v;
}

/* Reductions at the barrier while warps have left. */
extern "C" __global__ void warps_return_reduce(int *out, const int *in, int rounds)
{
	int v = in[blockIdx.x * 128 + threadIdx.x], sum = 0;

	for (int r = 0; r < rounds; r++) {
		sum += __syncthreads_count(v > r);
		sum += 1000 * __syncthreads_or(v == r + 7);
		sum += 5000 * __syncthreads_and(v < 90 + r);
		if (threadIdx.x / 32 == r)
			break;
	}
	if (sum == 12345)
		return;
	out[blockIdx.x * 128 + threadIdx.x] = sum;
}

/* Lanes return before a barrier: on a GPU they could not answer it any more. */
extern "C" __global__ void lanes_return(int *out, const int *in, int n)
{
	__shared__ int line[64];
	int i = blockIdx.x * 64 + threadIdx.x;

	if (in[i] < n)
		return;
	line[threadIdx.x] = in[i];
	__syncthreads();
	out[i] = line[threadIdx.x];
}

/* A loop with a barrier that runs as often as the thread says. */
extern "C" __global__ void ragged_loop(int *out, const int *in, int n)
{
	__shared__ int line[64];

	for (int i = threadIdx.x; i < n; i += 64) {
		line[threadIdx.x] = in[blockIdx.x * n + i];
		__syncthreads();
		out[blockIdx.x * n + i] = line[63 - threadIdx.x];
		__syncthreads();
	}
}

static __device__ __noinline__ int sum_of_block(int v)
{
	__shared__ int line[64];

	line[threadIdx.x] = v;
	__syncthreads();
	for (int d = 32; d; d /= 2) {
		if (threadIdx.x < d)
			line[threadIdx.x] += line[threadIdx.x + d];
		__syncthreads();
	}
	v = line[0];
	__syncthreads();
	return v;
}

/* Barriers within a function. */
extern "C" __global__ void barrier_in_function(int *out, const int *in)
{
	int v = in[blockIdx.x * 64 + threadIdx.x];

	for (int i = 0; i < 3; i++)
		v += sum_of_block(v) >> 4;
	out[blockIdx.x * 64 + threadIdx.x] = v;
}

/* Halves that use barriers of their own, counted; then all. */
extern "C" __global__ void named_barriers(int *out, const int *in)
{
	__shared__ int line[128];
	int half = threadIdx.x / 64;

	line[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
	asm volatile("bar.sync %0, 64;" :: "n"(1) : "memory");
	if (half)
		asm volatile("barrier.sync 3, 64;" ::: "memory");
	else
		asm volatile("barrier.sync.aligned 5, 64;" ::: "memory");
	line[threadIdx.x ^ 1] += half + 1;
	asm volatile("bar.sync 7;" ::: "memory");
	out[blockIdx.x * 128 + threadIdx.x] = line[127 - threadIdx.x];
}

/* As much static shared memory as leaves room for the worker's, and one word more. */
extern "C" __global__ void most_shared(int *out, const int *in)
{
	__shared__ int line[(48 * 1024 - 128) / 4];

	for (int i = threadIdx.x; i < (48 * 1024 - 128) / 4; i += blockDim.x)
		line[i] = in[(blockIdx.x + i) & 4095];
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = line[(threadIdx.x * 97 + 5000) % ((48 * 1024 - 128) / 4)];
}

extern "C" __global__ void too_much_shared(int *out, const int *in)
{
	__shared__ int line[48 * 1024 / 4];

	for (int i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x)
		line[i] = in[(blockIdx.x + i) & 4095];
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = line[(threadIdx.x * 97 + 5000) % (48 * 1024 / 4)];
}

/* Dynamic shared memory of two types behind static memory. */
extern "C" __global__ void shared_mixed(double *out, const int *in)
{
	extern __shared__ double wide[];
	__shared__ int line[64];
	short *narrow = (short *)(wide + blockDim.x);

	line[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
	narrow[threadIdx.x] = line[threadIdx.x] * 2;
	__syncthreads();
	wide[threadIdx.x] = narrow[blockDim.x - 1 - threadIdx.x] + 0.25 * line[threadIdx.x ^ 1];
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = wide[(threadIdx.x + 7) % blockDim.x];
}

/* The largest block; bounds that leave few registers. */
extern "C" __global__ void __launch_bounds__(1024, 1) thousand_threads(float *out, const float *in)
{
	__shared__ float line[1024];
	float v[8], sum = 0;

	line[threadIdx.x] = in[(blockIdx.x * 1024 + threadIdx.x) & 8191];
	__syncthreads();
	for (int i = 0; i < 8; i++)
		v[i] = line[(threadIdx.x * (i + 1)) & 1023];
	__syncthreads();
	line[threadIdx.x] = v[1] + v[7];
	__syncthreads();
	for (int i = 0; i < 8; i++)
		sum += v[i] * line[(threadIdx.x ^ i * 33) & 1023];
	out[blockIdx.x * 1024 + threadIdx.x] = sum;
}

extern "C" __global__ void single_thread(unsigned *out, const unsigned *in)
{
	out[blockIdx.x] = in[blockIdx.x] + gridDim.x * blockDim.x;
}

/* Every index there is, and blocks of three dimensions. */
extern "C" __global__ void all_indices(uint4 *out, unsigned *rank)
{
	unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	unsigned threads = blockDim.x * blockDim.y * blockDim.z;
	unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);

	out[block * threads + thread] = make_uint4(blockIdx.x | threadIdx.x << 16, blockIdx.y | threadIdx.y << 16,
						    blockIdx.z | threadIdx.z << 16, gridDim.x | gridDim.y << 8 | gridDim.z << 16);
	atomicAdd(&rank[block], thread);
}

/* 4,000 bytes of parameters. */
struct large { int word[1000]; };

extern "C" __global__ void many_parameters(int *out, struct large l)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = l.word[i % 1000] + l.word[(i * 7 + 3) % 1000];
}

/* The last warp writes long after the others are done: nobody may be told of the end before. */
extern "C" __global__ void slow_writer(unsigned *out, const unsigned *in)
{
	unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x];

	if (threadIdx.x >= blockDim.x - 32)
		for (int i = 0; i < 20000; i++)
			v = v * 1664525u + in[i & 1023];
	out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
