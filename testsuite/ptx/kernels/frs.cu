/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The applications of FRS, Table I, small: Canny's four kernels, sparse
 * product, vector addition, separable convolution, Black-Scholes, path finder,
 * matrix product, histogram of 256 bins, reduction.
 */
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

#define EDGE 16

__constant__ float gauss[9];

extern "C" __global__ void canny_gaussian(float *out, const unsigned char *in, int width, int height)
{
	extern __shared__ float near[];
	int x = blockIdx.x * EDGE + threadIdx.x, y = blockIdx.y * EDGE + threadIdx.y, pitch = EDGE + 2;
	float sum = 0;

	for (int j = threadIdx.y; j < pitch; j += EDGE)
		for (int i = threadIdx.x; i < pitch; i += EDGE) {
			int px = min(max((int)blockIdx.x * EDGE + i - 1, 0), width - 1);
			int py = min(max((int)blockIdx.y * EDGE + j - 1, 0), height - 1);

			near[j * pitch + i] = in[py * width + px];
		}
	__syncthreads();
	for (int j = 0; j < 3; j++)
		for (int i = 0; i < 3; i++)
			sum += gauss[j * 3 + i] * near[(threadIdx.y + j) * pitch + threadIdx.x + i];
	if (x < width && y < height)
		out[y * width + x] = sum;
}

extern "C" __global__ void canny_sobel(float *strength, unsigned char *direction, const float *in, int width, int height)
{
	int x = blockIdx.x * EDGE + threadIdx.x, y = blockIdx.y * EDGE + threadIdx.y;
	const float *p = in + y * width + x;
	float gx, gy, angle;

	if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
		return;
	gx = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[-1 + width];
	gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[-width + 1];
	strength[y * width + x] = sqrtf(gx * gx + gy * gy);
	angle = atan2f(gy, gx);
	if (angle < 0)
		angle += 3.14159265f;
	direction[y * width + x] = (unsigned char)((int)(angle / 3.14159265f * 4 + 0.5f) % 4);
}

/* Keep what is the strongest along its direction. */
extern "C" __global__ void canny_thin(float *out, const float *strength, const unsigned char *direction, int width,
				      int height)
{
	int x = blockIdx.x * EDGE + threadIdx.x, y = blockIdx.y * EDGE + threadIdx.y, at = y * width + x, step;
	float own;

	if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
		return;
	switch (direction[at] & 3) {
	case 0: step = 1; break;
	case 1: step = width + 1; break;
	case 2: step = width; break;
	default: step = width - 1; break;
	}
	own = strength[at];
	out[at] = own > strength[at - step] && own >= strength[at + step] ? own : 0;
}

/* Weak ones count if a strong one is near; the block says whether anything changed. */
extern "C" __global__ void canny_hysteresis(unsigned char *edge, unsigned *changes, const float *in, float low, float high,
					    int width, int height)
{
	int x = blockIdx.x * EDGE + threadIdx.x, y = blockIdx.y * EDGE + threadIdx.y, at = y * width + x, keep = 0;

	if (x >= 1 && y >= 1 && x < width - 1 && y < height - 1) {
		keep = in[at] >= high;
		if (!keep && in[at] >= low)
			for (int j = -1; j <= 1; j++)
				for (int i = -1; i <= 1; i++)
					keep |= in[at + j * width + i] >= high;
		edge[at] = keep ? 255 : 0;
	}
	keep = __syncthreads_count(keep);
	if (threadIdx.x == 0 && threadIdx.y == 0 && keep)
		atomicAdd(changes, keep);
}

extern "C" __global__ void vector_add(float *c, const float *a, const float *b, int n)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

#define RADIUS 4
__constant__ float taps[2 * RADIUS + 1];

extern "C" __global__ void convolve_rows(float *out, const float *in, int width)
{
	__shared__ float line[4][3 * 16];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
	float sum = 0;

#pragma unroll
	for (int part = -1; part <= 1; part++) {
		int px = x + part * 16;

		line[threadIdx.y][threadIdx.x + 16 + part * 16] = px >= 0 && px < width ? in[y * width + px] : 0;
	}
	__syncthreads();
#pragma unroll
	for (int k = -RADIUS; k <= RADIUS; k++)
		sum += taps[RADIUS - k] * line[threadIdx.y][threadIdx.x + 16 + k];
	out[y * width + x] = sum;
}

extern "C" __global__ void convolve_columns(float *out, const float *in, int width, int height)
{
	__shared__ float line[16][3 * 8 + 1];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	float sum = 0;

#pragma unroll
	for (int part = -1; part <= 1; part++) {
		int py = y + part * 8;

		line[threadIdx.x][threadIdx.y + 8 + part * 8] = py >= 0 && py < height ? in[py * width + x] : 0;
	}
	__syncthreads();
#pragma unroll
	for (int k = -RADIUS; k <= RADIUS; k++)
		sum += taps[RADIUS - k] * line[threadIdx.x][threadIdx.y + 8 + k];
	out[y * width + x] = sum;
}

static __device__ float normal(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
	float c = 0.3989423f * expf(-0.5f * d * d) *
		(k * (0.3193815f + k * (-0.3565638f + k * (1.781478f + k * (-1.821256f + k * 1.330274f)))));

	return d > 0 ? 1.0f - c : c;
}

/* In grid strides over pairs of options. */
extern "C" __global__ void __launch_bounds__(128) options(float2 *call, float2 *put, const float2 *price,
							   const float2 *strike, const float2 *years, float rate,
							   float volatility, int pairs)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += blockDim.x * gridDim.x) {
		float2 p = price[i], k = strike[i], t = years[i], c, q;

#define OPTION(f) { \
		float root = __fsqrt_rn(t.f), d1 = (__logf(p.f / k.f) + (rate + 0.5f * volatility * volatility) * t.f) / \
			(volatility * root), d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2), \
			discount = __expf(-rate * t.f); \
		c.f = p.f * n1 - k.f * discount * n2; \
		q.f = k.f * discount * (1.0f - n2) - p.f * (1.0f - n1); }
		OPTION(x)
		OPTION(y)
		call[i] = c;
		put[i] = q;
	}
}

/* Several rows of the wall for each launch: the block's border becomes stale row by row. */
extern "C" __global__ void path_finder(int *out, const int *wall, const int *from, int rows, int columns)
{
	__shared__ int prev[128], result[128];
	int inner = 128 - 2 * rows, x = blockIdx.x * inner + (int)threadIdx.x - rows, valid = x >= 0 && x < columns;
	bool computed = false;

	if (valid)
		prev[threadIdx.x] = from[x];
	__syncthreads();
	for (int i = 0; i < rows; i++) {
		computed = false;
		if (threadIdx.x > i && threadIdx.x < 127 - i && valid) {
			int left = x > 0 ? prev[threadIdx.x - 1] : prev[threadIdx.x];
			int right = x < columns - 1 ? prev[threadIdx.x + 1] : prev[threadIdx.x];

			computed = true;
			result[threadIdx.x] = min(min(left, right), prev[threadIdx.x]) + wall[i * columns + x];
		}
		__syncthreads();
		if (i == rows - 1)
			break;
		if (computed)
			prev[threadIdx.x] = result[threadIdx.x];
		__syncthreads();
	}
	if (computed)
		out[x] = result[threadIdx.x];
}

template <int SIZE> __global__ void product(float *c, const float *a, const float *b, int wa, int wb)
{
	float sum = 0;

	for (int at = wa * SIZE * blockIdx.y, bt = SIZE * blockIdx.x; at < wa * (SIZE * (int)blockIdx.y + 1);
	     at += SIZE, bt += SIZE * wb) {
		__shared__ float as[SIZE][SIZE], bs[SIZE][SIZE];

		as[threadIdx.y][threadIdx.x] = a[at + wa * threadIdx.y + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[bt + wb * threadIdx.y + threadIdx.x];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < SIZE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[wb * (SIZE * blockIdx.y + threadIdx.y) + SIZE * blockIdx.x + threadIdx.x] = sum;
}
template __global__ void product<16>(float *, const float *, const float *, int, int);
template __global__ void product<32>(float *, const float *, const float *, int, int);

/* A histogram for each warp in shared memory, one for the block in global memory. */
extern "C" __global__ void histogram256(unsigned *partial, const unsigned *data, unsigned n)
{
	__shared__ unsigned bin[2][256];
	unsigned *own = bin[threadIdx.x / 32 % 2];

	for (unsigned i = threadIdx.x; i < 512; i += blockDim.x)
		bin[i / 256][i % 256] = 0;
	cg::sync(cg::this_thread_block());
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
		unsigned v = data[i];

		atomicAdd(own + (v & 255), 1);
		atomicAdd(own + (v >> 8 & 255), 1);
		atomicAdd(own + (v >> 16 & 255), 1);
		atomicAdd(own + (v >> 24), 1);
	}
	cg::sync(cg::this_thread_block());
	for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
		partial[blockIdx.x * 256 + i] = bin[0][i] + bin[1][i];
}

extern "C" __global__ void histogram256_merge(unsigned *bins, const unsigned *partial, unsigned count)
{
	__shared__ unsigned sums[64];
	unsigned sum = 0;

	for (unsigned i = threadIdx.x; i < count; i += 64)
		sum += partial[blockIdx.x + i * 256];
	sums[threadIdx.x] = sum;
	for (unsigned stride = 32; stride > 0; stride >>= 1) {
		__syncthreads();
		if (threadIdx.x < stride)
			sums[threadIdx.x] += sums[threadIdx.x + stride];
	}
	if (threadIdx.x == 0)
		bins[blockIdx.x] = sums[0];
}

/* Two elements each, a tree in shared memory, the last warp by shuffles. */
template <bool LINEAR> static __device__ void reduce_shuffles(int *out, const int *in, unsigned n)
{
	__shared__ int line[128];
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
	unsigned i = blockIdx.x * 256 + threadIdx.x;
	int sum = (i < n ? in[i] : 0) + (i + 128 < n ? in[i + 128] : 0);

	line[threadIdx.x] = sum;
	cg::sync(block);
	if (threadIdx.x < 64)
		line[threadIdx.x] = sum = sum + line[threadIdx.x + 64];
	cg::sync(block);
	if ((LINEAR ? block.thread_rank() : threadIdx.x) < 32) {
		sum += line[threadIdx.x + 32];
		for (int d = 16; d > 0; d /= 2)
			sum += tile.shfl_down(sum, d);
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = sum;
}

extern "C" __global__ void reduce_shuffle(int *out, const int *in, unsigned n)
{
	reduce_shuffles<false>(out, in, n);
}

/* As the CUDA samples write it: the rank counts all three dimensions. */
extern "C" __global__ void reduce_ranks(int *out, const int *in, unsigned n)
{
	reduce_shuffles<true>(out, in, n);
}
