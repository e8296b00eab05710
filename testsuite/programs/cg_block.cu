/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cooperative groups: the block. */
#include <cooperative_groups.h>

#include "common.cuh"

namespace cg = cooperative_groups;

__global__ void rotate(uint32_t *v)
{
	__shared__ uint32_t s[128];
	cg::thread_block b = cg::this_thread_block();
	uint32_t at = b.group_index().x * b.size() + b.thread_rank();

	linger();
	s[b.thread_rank()] = v[at];
	for (int r = 0; r < 8; r++) {
		uint32_t x;

		b.sync();
		x = s[(b.thread_rank() + 1) % b.size()];
		b.sync();
		s[b.thread_rank()] = x + r;
	}
	v[at] = s[b.thread_rank()];
}

int main()
{
	const int n = 128 * 64 * scale();
	std::vector<uint32_t> data(n), got;
	int right = 1;

	linger_start();
	for (int i = 0; i < n; i++)
		data[i] = mix(i);
	uint32_t *v = device(data);
	rotate<<<n / 128, 128>>>(v);
	LAUNCHED();
	got = host(v, n);
	for (int i = 0; i < n; i++)
		right &= got[i] == data[i / 128 * 128 + (i + 8) % 128] + 28;
	return report("cg_block", right, hash(got.data(), n * 4));
}
