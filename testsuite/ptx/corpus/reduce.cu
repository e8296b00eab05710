/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reductions: a tree in shared memory, warp shuffles, atomics, the last block finishing the sum. */
extern "C" __global__ void reduce_tree(float *out, const float *in, int n)
{
	__shared__ float part[256];
	int i = blockIdx.x * 256 + threadIdx.x;

	part[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	for (int s = 128; s > 0; s >>= 1) {
		if (threadIdx.x < s)
			part[threadIdx.x] += part[threadIdx.x + s];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		atomicAdd(out, part[0]);
}

static __device__ float warp_sum(float v)
{
	for (int d = 16; d > 0; d >>= 1)
		v += __shfl_down_sync(0xffffffffu, v, d);
	return v;
}

extern "C" __global__ void reduce_warps(float *out, const float *in, int n)
{
	__shared__ float part[32];
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	float v = warp_sum(i < n ? in[i] : 0);

	if (lane == 0)
		part[warp] = v;
	__syncthreads();
	if (warp == 0) {
		v = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
		if (lane == 0)
			atomicAdd(out, v);
	}
}

__device__ unsigned finished;

extern "C" __global__ void reduce_last_block(float *out, float *parts, const float *in, int n)
{
	__shared__ float part[256];
	__shared__ bool last;
	float v = 0;

	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		v += in[i];
	part[threadIdx.x] = v;
	__syncthreads();
	for (int s = 128; s > 0; s >>= 1) {
		if (threadIdx.x < s)
			part[threadIdx.x] += part[threadIdx.x + s];
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		parts[blockIdx.x] = part[0];
		__threadfence();
		last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (!last || threadIdx.x)
		return;
	v = 0;
	for (int i = 0; i < gridDim.x; i++)
		v += ((volatile float *)parts)[i];
	*out = v;
}

extern "C" __global__ void histogram(unsigned *bins, const unsigned char *in, int n)
{
	__shared__ unsigned local[256];

	local[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
