/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cooperative groups: tiles of warps, shuffles and votes. */
#include <cooperative_groups.h>

#include "common.cuh"

namespace cg = cooperative_groups;

template <class Tile> __device__ uint32_t total(Tile t, uint32_t x)
{
	for (int d = t.size() / 2; d; d /= 2)
		x += t.shfl_down(x, d);
	return t.shfl(x, 0);
}

__global__ void sums(uint32_t *out, int n)
{
	cg::thread_block b = cg::this_thread_block();
	cg::thread_block_tile<32> w = cg::tiled_partition<32>(b);
	cg::thread_block_tile<8> e = cg::tiled_partition<8>(b);
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = mix(i) & 0xff;

	linger();
	out[i] = total(w, x) * 1000 + total(e, x) + __popc(w.ballot(x & 1)) * 1000000 + e.thread_rank();
}

int main()
{
	const int n = 128 * 48 * scale();
	uint32_t *out = device<uint32_t>(n);
	int right = 1;

	linger_start();
	sums<<<n / 128, 128>>>(out, n);
	LAUNCHED();
	std::vector<uint32_t> got = host(out, n);
	for (int i = 0; i < n; i++) {
		uint32_t s32 = 0, s8 = 0, odd = 0;

		for (int k = 0; k < 32; k++) {
			s32 += mix(i / 32 * 32 + k) & 0xff;
			odd += mix(i / 32 * 32 + k) & 1;
		}
		for (int k = 0; k < 8; k++)
			s8 += mix(i / 8 * 8 + k) & 0xff;
		right &= got[i] == s32 * 1000 + s8 + odd * 1000000 + i % 8;
	}
	return report("cg_tile", right, hash(got.data(), n * 4));
}
