/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of EffiSha, Table 2 (SHOC, level 1), small: breadth-first
 * search, FFT, molecular dynamics, MD5, a neural network, reduction, scan,
 * radix sort, sparse products, the 9-point stencil, triad.
 */
extern "C" __global__ void bfs_frontier(int *level, int *changed, const unsigned *rows, const unsigned *columns,
					int depth, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n || level[i] != depth)
		return;
	for (unsigned e = rows[i]; e < rows[i + 1]; e++) {
		unsigned to = columns[e];

		if (level[to] > depth + 1) {
			level[to] = depth + 1;
			*changed = 1;
		}
	}
}

/* 256 points for each block of 128 threads, radix 2, in shared memory. */
extern "C" __global__ void fft256(float2 *out, const float2 *in, int inverse)
{
	__shared__ float2 line[2][256];
	unsigned t = threadIdx.x, base = blockIdx.x * 256, from = 0;

	line[0][t] = in[base + t];
	line[0][t + 128] = in[base + t + 128];
	for (unsigned half = 1; half < 256; half <<= 1) {
		unsigned k = t & (half - 1), at = (t / half) * 2 * half + k;
		float s, c;
		float2 a, b, v;

		__syncthreads();
		sincospif((inverse ? 1.0f : -1.0f) * (float)k / (float)half, &s, &c);
		a = line[from][t];
		b = line[from][t + 128];
		v = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
		line[!from][at] = make_float2(a.x + v.x, a.y + v.y);
		line[!from][at + half] = make_float2(a.x - v.x, a.y - v.y);
		from = !from;
	}
	__syncthreads();
	out[base + t] = line[from][t];
	out[base + t + 128] = line[from][t + 128];
}

/* Lennard-Jones forces from a neighbour list, one atom a thread. */
extern "C" __global__ void md_forces(float4 *force, const float4 *position, const unsigned *neighbour, int neighbours,
				     float cutoff2, float lj1, float lj2, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 own, f = make_float4(0, 0, 0, 0);

	if (i >= n)
		return;
	own = position[i];
	for (int k = 0; k < neighbours; k++) {
		float4 other = position[neighbour[k * n + i]];
		float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
		float r2 = dx * dx + dy * dy + dz * dz;

		if (r2 < cutoff2 && r2 > 0) {
			float inv = 1.0f / r2, inv6 = inv * inv * inv, part = inv * inv6 * (lj1 * inv6 - lj2);

			f.x += dx * part;
			f.y += dy * part;
			f.z += dz * part;
		}
	}
	force[i] = f;
}

static __constant__ unsigned md5_sine[64] = {
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
	0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
	0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
	0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
	0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
	0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
	0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391
};
static __constant__ unsigned char md5_shift[16] = { 7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21 };

static __device__ __noinline__ uint4 md5(const unsigned *block)
{
	unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;

	for (unsigned i = 0; i < 64; i++) {
		unsigned f, g, s = md5_shift[i / 16 * 4 + i % 4], next;

		switch (i / 16) {
		case 0: f = (b & c) | (~b & d); g = i; break;
		case 1: f = (d & b) | (~d & c); g = (5 * i + 1) % 16; break;
		case 2: f = b ^ c ^ d; g = (3 * i + 5) % 16; break;
		default: f = c ^ (b | ~d); g = 7 * i % 16; break;
		}
		f += a + md5_sine[i] + block[g];
		next = b + ((f << s) | (f >> (32 - s)));
		a = d;
		d = c;
		c = b;
		b = next;
	}
	return make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}

/* Which key of four letters has the digest? */
extern "C" __global__ void md5_search(unsigned *found, uint4 *digests, unsigned first, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, block[16] = { 0 };

	if (i >= n)
		return;
	for (unsigned k = 0, v = first + i; k < 4; k++, v /= 26)
		block[0] |= ('a' + v % 26) << 8 * k;
	block[1] = 0x80;
	block[14] = 32;
	digests[i] = md5(block);
	if ((digests[i].x & 63) == 7)
		atomicMax(found, block[0]);
}

extern "C" __global__ void net_forward(float *out, const float *in, const float *weight, int inputs, int outputs)
{
	extern __shared__ float sample[];
	int o = blockIdx.x * blockDim.x + threadIdx.x, s = blockIdx.y;
	float sum = 0;

	for (int i = threadIdx.x; i < inputs; i += blockDim.x)
		sample[i] = in[s * inputs + i];
	__syncthreads();
	if (o < outputs) {
		for (int i = 0; i < inputs; i++)
			sum += sample[i] * weight[i * outputs + o];
		out[s * outputs + o] = 1.0f / (1.0f + expf(-sum));
	}
}

extern "C" __global__ void net_train(float *weight, const float *delta, const float *in, float rate, int inputs,
				     int outputs, int samples)
{
	int o = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
	float step = 0;

	if (o >= outputs || i >= inputs)
		return;
	for (int s = 0; s < samples; s++)
		step += delta[s * outputs + o] * in[s * inputs + i];
	weight[i * outputs + o] += rate * step;
}

/* Sum of what the block meets in grid strides. */
template <typename T, unsigned SIZE> static __device__ T block_sum(T v)
{
	__shared__ T line[SIZE];

	line[threadIdx.x] = v;
	__syncthreads();
	for (unsigned d = SIZE / 2; d; d /= 2) {
		if (threadIdx.x < d)
			line[threadIdx.x] += line[threadIdx.x + d];
		__syncthreads();
	}
	return line[0];
}

extern "C" __global__ void reduction(float *out, const float *in, unsigned n)
{
	float sum = 0;

	for (unsigned i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
		sum += in[i];
	sum = block_sum<float, 128>(sum);
	if (threadIdx.x == 0)
		out[blockIdx.x] = sum;
}

template <typename T, unsigned SIZE> static __device__ T block_scan(T v)
{
	__shared__ T line[2 * SIZE];

	line[threadIdx.x] = 0;
	line[SIZE + threadIdx.x] = v;
	for (unsigned d = 1; d < SIZE; d <<= 1) {
		T other;

		__syncthreads();
		other = line[SIZE + threadIdx.x - d];
		__syncthreads();
		line[SIZE + threadIdx.x] += other;
	}
	__syncthreads();
	return line[SIZE + threadIdx.x] - v;
}

/* The three steps of the scan: sums of regions, their scan by one block, the scan within each. */
extern "C" __global__ void scan_sums(float *sums, const float *in, unsigned region)
{
	float sum = 0;

	for (unsigned i = threadIdx.x; i < region; i += 64)
		sum += in[blockIdx.x * region + i];
	sum = block_sum<float, 64>(sum);
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
}

extern "C" __global__ void scan_top(float *sums, unsigned n)
{
	float v = threadIdx.x < n ? sums[threadIdx.x] : 0;

	v = block_scan<float, 64>(v);
	if (threadIdx.x < n)
		sums[threadIdx.x] = v;
}

extern "C" __global__ void scan_bottom(float *out, const float *in, const float *sums, unsigned region)
{
	__shared__ float before;
	unsigned base = blockIdx.x * region;

	if (threadIdx.x == 0)
		before = sums[blockIdx.x];
	__syncthreads();
	for (unsigned first = 0; first < region; first += 64) {
		unsigned i = first + threadIdx.x;
		float v = in[base + i], own = before + block_scan<float, 64>(v);

		out[base + i] = own;
		__syncthreads();
		if (threadIdx.x == 63)
			before = own + v;
		__syncthreads();
	}
}

/* Radix sort by four bits: how many keys of each digit a block has, and where they go. */
extern "C" __global__ void sort_count(unsigned *counts, const unsigned *key, unsigned region, unsigned shift)
{
	__shared__ unsigned count[16];

	if (threadIdx.x < 16)
		count[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned i = threadIdx.x; i < region; i += blockDim.x)
		atomicAdd(&count[key[blockIdx.x * region + i] >> shift & 15], 1);
	__syncthreads();
	if (threadIdx.x < 16)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

extern "C" __global__ void sort_scatter(unsigned *keys, unsigned *values, const unsigned *key, const unsigned *value,
					unsigned region, unsigned shift)
{
	__shared__ unsigned at[16];

	if (threadIdx.x < 16)
		at[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned first = 0; first < region; first += 64) {
		unsigned i = first + threadIdx.x, k = key[blockIdx.x * region + i], own = k >> shift & 15, rank = 0, to = 0, n = 0;

		for (unsigned digit = 0; digit < 16; digit++) {
			unsigned before = block_scan<unsigned, 64>(own == digit);

			if (own == digit)
				rank = before;
			__syncthreads();
		}
		to = at[own] + rank;
		__syncthreads();
		n = atomicAdd(&at[own], 1);
		keys[(blockIdx.x * 16 + own) * region + to] = k;
		values[(blockIdx.x * 16 + own) * region + to] = value[blockIdx.x * region + i] + (n > region);
		__syncthreads();
	}
}

extern "C" __global__ void spmv_scalar(float *out, const float *value, const unsigned *column, const unsigned *rows,
				       const float *x, unsigned n)
{
	unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n)
		return;
	for (unsigned e = rows[row]; e < rows[row + 1]; e++)
		sum += value[e] * x[column[e]];
	out[row] = sum;
}

/* A warp for each row. */
extern "C" __global__ void spmv_vector(float *out, const float *value, const unsigned *column, const unsigned *rows,
				       const float *x, unsigned n)
{
	unsigned lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	float sum = 0;

	if (row < n)
		for (unsigned e = rows[row] + lane; e < rows[row + 1]; e += 32)
			sum += value[e] * x[column[e]];
	for (unsigned d = 16; d; d /= 2)
		sum += __shfl_down_sync(0xffffffffu, sum, d);
	if (row < n && lane == 0)
		out[row] = sum;
}

extern "C" __global__ void spmv_ellpack(double *out, const double *value, const unsigned *column,
					const unsigned *length, const double *x, unsigned n)
{
	unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
	double sum = 0;

	if (row < n) {
		for (unsigned k = 0; k < length[row]; k++)
			sum += value[k * n + row] * x[column[k * n + row]];
		out[row] = sum;
	}
}

/* 9 points, a tile with its border in shared memory. */
template <typename T> static __device__ void stencil9(T *out, const T *in, int n, T centre, T cardinal, T diagonal)
{
	__shared__ T tile[10][18];
	int x0 = blockIdx.x * 16, y0 = blockIdx.y * 8, x = threadIdx.x + 1, y = threadIdx.y + 1;

	for (int j = threadIdx.y; j < 10; j += 8)
		for (int i = threadIdx.x; i < 18; i += 16)
			tile[j][i] = in[(y0 + j) * (n + 2) + x0 + i];
	__syncthreads();
	out[(y0 + y) * (n + 2) + x0 + x] = centre * tile[y][x] +
		cardinal * (tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1]) +
		diagonal * (tile[y - 1][x - 1] + tile[y - 1][x + 1] + tile[y + 1][x - 1] + tile[y + 1][x + 1]);
}

extern "C" __global__ void stencil9_single(float *out, const float *in, int n)
{
	stencil9(out, in, n, 0.25f, 0.15f, 0.05f);
}

extern "C" __global__ void stencil9_double(double *out, const double *in, int n)
{
	stencil9(out, in, n, 0.25, 0.15, 0.05);
}

extern "C" __global__ void triad_float2(float2 *a, const float2 *b, const float2 *c, float s)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	a[i] = make_float2(b[i].x + s * c[i].x, b[i].y + s * c[i].y);
}
