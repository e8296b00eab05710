/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From sm_80 on: asynchronous copies that overlap, reductions over a warp, bfloat16, matrix fragments. */
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

/* Four stages in flight; some are still under way when the loop ends. */
extern "C" __global__ void copy_stages(int *out, const int *in, int rounds)
{
	__shared__ int line[4][64];
	const int *from = in + blockIdx.x * rounds * 64 + threadIdx.x;
	int sum = 0;

	for (int r = 0; r < 3; r++) {
		__pipeline_memcpy_async(&line[r][threadIdx.x], from + r * 64, 4);
		__pipeline_commit();
	}
	for (int r = 0; r < rounds; r++) {
		__pipeline_wait_prior(2);
		__syncthreads();
		sum += line[r % 4][63 - threadIdx.x];
		if (r + 3 < rounds)
			__pipeline_memcpy_async(&line[(r + 3) % 4][threadIdx.x], from + (r + 3) * 64, 4);
		__pipeline_commit();
	}
	out[blockIdx.x * 64 + threadIdx.x] = sum;
}

/* A copy that nobody waits for: it must not land in the next block-task's memory. */
extern "C" __global__ void copy_forgotten(int *out, const int *in)
{
	__shared__ int line[128];

	line[threadIdx.x] = blockIdx.x;
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = line[63 - threadIdx.x] + in[threadIdx.x];
	__pipeline_memcpy_async(&line[64 + threadIdx.x], in + threadIdx.x, 4);
	__pipeline_commit();
}

extern "C" __global__ void warp_reduce(int *out, const int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];

	out[i] = __reduce_add_sync(0xffffffffu, v) + __reduce_min_sync(0xffffffffu, v) * 3 + __reduce_max_sync(0xffffffffu, v) * 5 +
		 __reduce_xor_sync(0xffffffffu, (unsigned)v) + (int)__match_any_sync(0xffffffffu, v);
}

extern "C" __global__ void brain_floats(__nv_bfloat16 *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	__nv_bfloat16 v = __float2bfloat16(in[i]);

	out[i] = __hfma(v, __float2bfloat16(1.5f), __float2bfloat16(0.25f));
}

/* Blocks of 16 x 16 by a warp. */
extern "C" __global__ void fragments(float *c, const __half *a, const __half *b)
{
	using namespace nvcuda;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	wmma::fill_fragment(fc, 0.0f);
	for (int k = 0; k < 2; k++) {
		wmma::load_matrix_sync(fa, a + (blockIdx.x * 2 + k) * 256, 16);
		wmma::load_matrix_sync(fb, b + (blockIdx.y * 2 + k) * 256, 16);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + (blockIdx.y * gridDim.x + blockIdx.x) * 256, fc, 16, wmma::mem_row_major);
}
