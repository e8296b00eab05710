/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled for a debugger (nvcc -G): nothing optimised, .loc, .section, calls of everything. */
static __device__ int twice(int v)
{
	return v + v;
}

extern "C" __global__ void debug_sum(int *out, const int *in, int n)
{
	__shared__ int line[64];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	line[threadIdx.x] = i < n ? twice(in[i]) : 0;
	__syncthreads();
	for (int d = 32; d > 0; d /= 2) {
		if (threadIdx.x < d)
			line[threadIdx.x] += line[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = line[0];
}

extern "C" __global__ void debug_early(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (in[i] % 3 == 0) {
		out[i] = twice(in[i]);
		return;
	}
	out[i] = in[i] + (int)gridDim.y;
}
