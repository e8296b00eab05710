/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Named and counted barriers, warp-wide instructions, asynchronous copies (sm_80). */
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" __global__ void halves_meet(int *out, const int *in)
{
	__shared__ int line[256];
	int half = threadIdx.x / 128;

	line[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
	if (half == 0)
		asm volatile("bar.sync 1, 128;" ::: "memory");
	else
		asm volatile("bar.sync 2, 128;" ::: "memory");
	out[blockIdx.x * 256 + threadIdx.x] = line[threadIdx.x ^ 1] + half;
}

extern "C" __global__ void produce(int *out, const int *in)
{
	__shared__ int line[64];

	if (threadIdx.x < 64) {
		line[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
		asm volatile("bar.arrive 3, 128;" ::: "memory");
	} else {
		asm volatile("bar.sync 3, 128;" ::: "memory");
		out[blockIdx.x * 64 + threadIdx.x - 64] = line[127 - threadIdx.x];
	}
}

extern "C" __global__ void agree(unsigned *out, const unsigned *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = in[i];

	out[i] = __match_any_sync(0xffffffffu, v & 3) + __popc(__ballot_sync(0xffffffffu, v > 5)) +
		 __reduce_add_sync(0xffffffffu, v);
	__syncwarp();
	out[i] += __any_sync(0xffffffffu, v == 9);
}

extern "C" __global__ void copy_ahead(int *out, const int *in)
{
	__shared__ int line[128];

	__pipeline_memcpy_async(&line[threadIdx.x], &in[blockIdx.x * 128 + threadIdx.x], 4);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = line[127 - threadIdx.x];
}

extern "C" __global__ void tensor_product(float *c, const __half *a, const __half *b)
{
	using namespace nvcuda;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	wmma::fill_fragment(fc, 0.0f);
	for (int k = 0; k < 4; k++) {
		wmma::load_matrix_sync(fa, a + (blockIdx.x * 4 + k) * 256, 16);
		wmma::load_matrix_sync(fb, b + (blockIdx.y * 4 + k) * 256, 16);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + (blockIdx.y * gridDim.x + blockIdx.x) * 256, fc, 16, wmma::mem_row_major);
}
