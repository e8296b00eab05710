/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ways to leave: early returns, before barriers and warp-wide instructions, and exit from assembly. */
extern "C" __global__ void early_return(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (in[i] < 0) {
		out[i] = -1;
		return;
	}
	out[i] = in[i] * 2;
}

extern "C" __global__ void barrier_after_return(int *out, const int *in, int n)
{
	__shared__ int line[256];
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i >= n)
		return;
	line[threadIdx.x] = in[i];
	__syncthreads();
	out[i] = line[threadIdx.x] + line[threadIdx.x / 2];
}

extern "C" __global__ void reduction_after_return(int *out, const int *in, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i >= n)
		return;
	out[i] = __syncthreads_count(in[i] > 0) + 1000 * __syncthreads_or(in[i] == 7) +
		 2000 * __syncthreads_and(in[i] != 9);
}

extern "C" __global__ void shuffle_after_return(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	out[i] = __shfl_xor_sync(0xffffffffu, in[i], 1);
}

extern "C" __global__ void ballot_after_return(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned lanes = __ballot_sync(0xffffffffu, i < n);

	if (i >= n)
		return;
	out[i] = __shfl_sync(lanes, in[i], 0);
}

extern "C" __global__ void loop_return(int *out, const int *in, int n, int rounds)
{
	__shared__ int line[128];
	int v = in[blockIdx.x * 128 + threadIdx.x];

	for (int r = 0; r < rounds; r++) {
		line[threadIdx.x] = v;
		__syncthreads();
		v += line[(threadIdx.x + 1) & 127];
		__syncthreads();
		if (v > n)
			return;
		out[blockIdx.x * 128 + threadIdx.x] = v;
	}
}

extern "C" __global__ void assembly_exit(int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	asm volatile("{\n\t.reg .pred done;\n\tsetp.ge.s32 done, %0, %1;\n\t@done exit;\n\t}" :: "r"(i), "r"(n));
	out[i] = i;
}

extern "C" __global__ void warps_leave(int *out, const int *in, int n)
{
	__shared__ int line[256];
	int i = blockIdx.x * 256 + threadIdx.x, v = in[i];

	line[threadIdx.x] = v;
	__syncthreads();
	if (threadIdx.x >= 192)
		return;
	for (int k = 0; k < n; k++) {
		v += line[threadIdx.x ^ 1] + __syncthreads_count(v > k) + __syncthreads_or(v == 7) +
		     __syncthreads_and(v != 9);
		line[threadIdx.x] = v;
		__syncthreads();
		if (k == 3 && threadIdx.x >= 64)
			return;
		out[i] = v;
	}
}
