/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Parboil benchmarks that SMK runs, small: bfs, cutcp, histo, lbm,
 * mri-gridding, mri-q, sad, sgemm, spmv, stencil, tpacf.
 */
extern "C" __global__ void bfs_queue(unsigned *next, unsigned *tail, unsigned *cost, const unsigned *queue,
				     const unsigned *rows, const unsigned *columns, unsigned n)
{
	__shared__ unsigned local[512], count, start;
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x == 0)
		count = 0;
	__syncthreads();
	if (i < n) {
		unsigned from = queue[i];

		for (unsigned e = rows[from]; e < rows[from + 1]; e++) {
			unsigned to = columns[e];

			if (atomicExch(&cost[to], 1) == 0) {
				unsigned at = atomicAdd(&count, 1);

				if (at < 512)
					local[at] = to;
			}
		}
	}
	__syncthreads();
	if (threadIdx.x == 0)
		start = atomicAdd(tail, min(count, 512u));
	__syncthreads();
	/* where a vertex stands depends on the order of the blocks; that it is in the queue does not */
	for (unsigned k = threadIdx.x; k < count; k += blockDim.x)
		if (start + k < 16384)
			atomicAdd(&next[local[k]], 1);
}

/* Potential of a box of the lattice from the atoms of its bin and the bins around. */
extern "C" __global__ void __launch_bounds__(128, 4) cutcp(float *lattice, const float4 *atom, int bins_x, int bins_y,
							   float cutoff2)
{
	__shared__ float4 bin[8];
	int bx = blockIdx.x, by = blockIdx.y, points_x = bins_x * 8;
	float x = bx * 8 + threadIdx.x % 8, y = by * 8 + threadIdx.x / 8 % 8, z = threadIdx.x / 64, energy = 0;

	for (int j = -1; j <= 1; j++)
		for (int i = -1; i <= 1; i++) {
			int cx = bx + i, cy = by + j;

			if (cx < 0 || cy < 0 || cx >= bins_x || cy >= bins_y)
				continue;
			__syncthreads();
			if (threadIdx.x < 8)
				bin[threadIdx.x] = atom[(cy * bins_x + cx) * 8 + threadIdx.x];
			__syncthreads();
			for (int k = 0; k < 8; k++) {
				float dx = cx * 8 + bin[k].x - x, dy = cy * 8 + bin[k].y - y, dz = bin[k].z - z;
				float r2 = dx * dx + dy * dy + dz * dz;

				if (r2 < cutoff2 && r2 > 0) {
					float s = 1.0f - r2 / cutoff2;

					energy += bin[k].w * rsqrtf(r2) * s * s;
				}
			}
		}
	lattice[((int)z * bins_y * 8 + (int)y) * points_x + (int)x] += energy;
}

/* Histogram with saturation at 255: prescan for the range, bins in shared memory, saturated sums. */
extern "C" __global__ void histo_prescan(unsigned *range, const unsigned *data, unsigned n)
{
	__shared__ float average[128], deviation[128];
	unsigned stride = n / gridDim.x, base = blockIdx.x * stride;
	float avg = 0, dev = 0;

	for (unsigned i = threadIdx.x; i < stride; i += 128)
		avg += data[base + i];
	avg /= (float)(stride / 128);
	for (unsigned i = threadIdx.x; i < stride; i += 128)
		dev += (data[base + i] - avg) * (data[base + i] - avg);
	average[threadIdx.x] = avg;
	deviation[threadIdx.x] = sqrtf(dev / (float)(stride / 128));
#define STEP(d) \
	__syncthreads(); \
	if (threadIdx.x < d) { \
		average[threadIdx.x] += average[threadIdx.x + d]; \
		deviation[threadIdx.x] += deviation[threadIdx.x + d]; \
	}
	STEP(64) STEP(32) STEP(16) STEP(8) STEP(4) STEP(2)
	if (threadIdx.x == 0) {
		avg = (average[0] + average[1]) / 128;
		dev = (deviation[0] + deviation[1]) / 128;
		atomicMin(range, (unsigned)max(avg - 10 * dev, 0.0f));
		atomicMax(range + 1, (unsigned)(avg + 10 * dev));
	}
}

extern "C" __global__ void histo_main(unsigned *bins, const unsigned *data, unsigned n, unsigned low, unsigned high)
{
	extern __shared__ unsigned own[];

	for (unsigned i = threadIdx.x; i < high - low; i += blockDim.x)
		own[i] = 0;
	__syncthreads();
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		unsigned v = data[i];

		if (v >= low && v < high)
			atomicAdd(&own[v - low], 1);
		else
			atomicAdd(&bins[v], 1);
	}
	__syncthreads();
	for (unsigned i = threadIdx.x; i < high - low; i += blockDim.x)
		if (own[i])
			atomicAdd(&bins[low + i], own[i]);
}

extern "C" __global__ void histo_final(uchar4 *out, uint4 *bins, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	uint4 b = bins[i];

	out[i] = make_uchar4(min(b.x, 255u), min(b.y, 255u), min(b.z, 255u), min(b.w, 255u));
	bins[i] = make_uint4(0, 0, 0, 0);
}

/* Lattice Boltzmann, 19 velocities: stream and collide. */
static __constant__ signed char velocity[19][3] = {
	{ 0, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 }, { 1, 0, 0 }, { -1, 0, 0 }, { 0, 0, 1 }, { 0, 0, -1 },
	{ 1, 1, 0 }, { -1, 1, 0 }, { 1, -1, 0 }, { -1, -1, 0 }, { 0, 1, 1 }, { 0, 1, -1 }, { 0, -1, 1 },
	{ 0, -1, -1 }, { 1, 0, 1 }, { 1, 0, -1 }, { -1, 0, 1 }, { -1, 0, -1 },
};

extern "C" __global__ void lbm(float *to, const float *from, const unsigned *flags, int margin)
{
	int nx = blockDim.x, ny = gridDim.x, nz = gridDim.y, cells = nx * ny * nz;
	int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, cell = (z * ny + y) * nx + x;
	float f[19], rho = 0, u[3] = { 0, 0, 0 }, u2;

#pragma unroll
	for (int i = 0; i < 19; i++) {
		f[i] = 0.5f + 0.01f * from[i * cells + cell];
		rho += f[i];
		for (int k = 0; k < 3; k++)
			u[k] += f[i] * velocity[i][k];
	}
	for (int k = 0; k < 3; k++)
		u[k] /= rho;
	u2 = 1.5f * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
#pragma unroll
	for (int i = 0; i < 19; i++) {
		float w = i == 0 ? 1.0f / 3 : i < 7 ? 1.0f / 18 : 1.0f / 36;
		float cu = 3 * (velocity[i][0] * u[0] + velocity[i][1] * u[1] + velocity[i][2] * u[2]);
		int tx = (x + velocity[i][0] + nx) % nx, ty = (y + velocity[i][1] + ny) % ny,
		    tz = (z + velocity[i][2] + nz) % nz;
		float out = flags[cell] == 0 ? f[i] : 0.05f * f[i] + 1.95f * w * rho * (1 + cu + 0.5f * cu * cu - u2);

		to[margin + i * cells + (tz * ny + ty) * nx + tx] = out;
	}
}

/* Gridding: samples into bins, then every grid point gathers from the bins near it. */
extern "C" __global__ void gridding_bins(unsigned *bin, unsigned *fill, const float2 *sample, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at;

	if (i >= n)
		return;
	at = (unsigned)(sample[i].y / 4) * 4 + (unsigned)(sample[i].x / 4);
	bin[i] = at;
	atomicAdd(&fill[at], 1);
}

extern "C" __global__ void __launch_bounds__(64) gridding_gather(float *grid, const float2 *sample, const unsigned *bin,
								 unsigned n, float cutoff2)
{
	__shared__ float2 some[64];
	__shared__ unsigned where[64];
	float x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, sum = 0;
	unsigned t = threadIdx.y * 8 + threadIdx.x;

	for (unsigned base = 0; base < n; base += 64) {
		some[t] = base + t < n ? sample[base + t] : make_float2(1e6f, 1e6f);
		where[t] = base + t < n ? bin[base + t] : 0;
		__syncthreads();
		for (unsigned k = 0; k < 64; k++) {
			float dx = some[k].x - x, dy = some[k].y - y, r2 = dx * dx + dy * dy;

			if (r2 < cutoff2)
				sum += (1.0f - r2 / cutoff2) * (1 + where[k]);
		}
		__syncthreads();
	}
	grid[(int)y * gridDim.x * 8 + (int)x] = sum;
}

struct trajectory { float kx, ky, kz, magnitude; };
__constant__ struct trajectory chunk[64];

extern "C" __global__ void mri_magnitude(float *magnitude, const float *re, const float *im, int n)
{
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < n)
		magnitude[i] = re[i] * re[i] + im[i] * im[i];
}

extern "C" __global__ void mri_q(float *qr, float *qi, const float *x, const float *y, const float *z, int first, int count)
{
	int i = blockIdx.x * 64 + threadIdx.x;
	float px = x[i], py = y[i], pz = z[i], r = qr[i], q = qi[i];

	for (int k = first; k < count; k++) {
		float angle = 6.2831853f * (chunk[k].kx * px + chunk[k].ky * py + chunk[k].kz * pz);

		r += chunk[k].magnitude * __cosf(angle);
		q += chunk[k].magnitude * __sinf(angle);
	}
	qr[i] = r;
	qi[i] = q;
}

/* Sums of absolute differences of 4x4 blocks for every offset, then of larger blocks. */
extern "C" __global__ void sad_small(unsigned short *sad, const unsigned char *frame, const unsigned char *reference,
				     int width, int range)
{
	int mx = blockIdx.x, my = blockIdx.y, side = 2 * range + 1;

	for (int o = threadIdx.x; o < side * side; o += blockDim.x) {
		int dx = o % side, dy = o / side;
		unsigned sum = 0;

		for (int j = 0; j < 4; j++)
			for (int i = 0; i < 4; i++)
				sum = __usad(frame[(my * 4 + j) * width + mx * 4 + i],
					     reference[(my * 4 + j + dy) * width + mx * 4 + i + dx], sum);
		sad[(my * gridDim.x + mx) * side * side + o] = sum;
	}
}

extern "C" __global__ void sad_large(unsigned short *large, const unsigned short *small, int small_width, int offsets)
{
	int at = (blockIdx.y * 2 * small_width + blockIdx.x * 2) * offsets;

	for (int o = threadIdx.x; o < offsets; o += blockDim.x)
		large[(blockIdx.y * gridDim.x + blockIdx.x) * offsets + o] = small[at + o] + small[at + offsets + o] +
			small[at + small_width * offsets + o] + small[at + (small_width + 1) * offsets + o];
}

/* A strip of 16 results in registers, the tile of b in shared memory. */
extern "C" __global__ void sgemm(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k, float alpha,
				 float beta)
{
	__shared__ float tile[4][16];
	float sum[16] = { 0 };
	int t = threadIdx.y * 16 + threadIdx.x, m = blockIdx.x * 64 + t, n = blockIdx.y * 16 + threadIdx.x;

	for (int i = 0; i < k; i += 4) {
		tile[threadIdx.y][threadIdx.x] = b[n + (i + threadIdx.y) * ldb];
		__syncthreads();
		for (int j = 0; j < 4; j++) {
			float v = a[m + (i + j) * lda];

#pragma unroll
			for (int kk = 0; kk < 16; kk++)
				sum[kk] += v * tile[j][kk];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 16; i++) {
		int at = m + (blockIdx.y * 16 + i) * ldc;

		c[at] = c[at] * beta + alpha * sum[i];
	}
}

/* Jagged diagonals, a texture-less version: __ldg. */
__constant__ unsigned jds_start[50], jds_rows[50];

extern "C" __global__ void spmv_jds(float *out, const float *data, const unsigned *index, const unsigned *perm,
				    const float *x, int n, int depth)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (row >= n)
		return;
	for (int k = 0; k < depth && row < 50 * (int)jds_rows[k] + 200; k++) {
		unsigned j = jds_start[k] + row;

		sum += __ldg(&data[j]) * __ldg(&x[index[j]]);
	}
	atomicAdd(&out[perm[row]], sum);
}

/* 7 points, two cells a thread, marching along z. */
extern "C" __global__ void stencil7(float *out, const float *in, float c0, float c1, int nx, int ny, int nz)
{
	extern __shared__ float plane[];
	int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
	int own = threadIdx.y * blockDim.x + threadIdx.x, inside = i < nx && j < ny, at = j * nx + i;
	float bottom = inside ? in[at] : 0, current = inside ? in[nx * ny + at] : 0;

	for (int k = 1; k < nz - 1; k++) {
		float top = inside ? in[(k + 1) * nx * ny + at] : 0;

		plane[own] = current;
		__syncthreads();
		if (inside && i > 0 && j > 0 && i < nx - 1 && j < ny - 1) {
			const float *p = in + k * nx * ny + at;
			float left = threadIdx.x > 0 ? plane[own - 1] : p[-1];
			float right = threadIdx.x < blockDim.x - 1 ? plane[own + 1] : p[1];
			float up = threadIdx.y > 0 ? plane[own - blockDim.x] : p[-nx];
			float down = threadIdx.y < blockDim.y - 1 ? plane[own + blockDim.x] : p[nx];

			out[k * nx * ny + at] = (top + bottom + left + right + up + down) * c1 - current * c0;
		}
		__syncthreads();
		bottom = current;
		current = top;
	}
}

/* Angular correlation: each block the distances of its points to all of the others, in bins by bisection. */
__constant__ float bin_edge[20];

extern "C" __global__ void tpacf(unsigned long long *histogram, const float *px, const float *py, const float *pz, int n)
{
	__shared__ unsigned bins[20];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x < 20)
		bins[threadIdx.x] = 0;
	__syncthreads();
	for (int k = i + 1; i < n && k < n; k++) {
		float dot = px[i] * px[k] + py[i] * py[k] + pz[i] * pz[k];
		int low = 0, high = 19;

		while (high > low + 1) {
			int middle = (low + high) / 2;

			if (dot >= bin_edge[middle] + 1.5f - 0.3f * middle)
				high = middle;
			else
				low = middle;
		}
		atomicAdd(&bins[low], 1);
	}
	__syncthreads();
	if (threadIdx.x < 20)
		atomicAdd(&histogram[threadIdx.x], (unsigned long long)bins[threadIdx.x]);
}
