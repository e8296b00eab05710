/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Producers and consumers of a block that meet at named, counted barriers. */
#include "common.cuh"

__global__ void pipe(uint32_t *out, int rounds)
{
	__shared__ uint32_t s[64];
	int t = threadIdx.x % 64;

	linger();
	for (int r = 0; r < rounds; r++) {
		if (threadIdx.x < 64) {
			s[t] = mix(blockIdx.x * 64 + t + r);
			asm volatile("bar.arrive 1, 128;" ::: "memory");
			asm volatile("bar.sync 2, 128;" ::: "memory");
		} else {
			asm volatile("bar.sync 1, 128;" ::: "memory");
			out[blockIdx.x * 64 + t] += s[63 - t];
			asm volatile("bar.arrive 2, 128;" ::: "memory");
		}
	}
}

int main()
{
	const int blocks = 64 * scale(), rounds = 4;
	uint32_t *out = device<uint32_t>(blocks * 64);
	int right = 1;

	linger_start();
	pipe<<<blocks, 128>>>(out, rounds);
	LAUNCHED();
	std::vector<uint32_t> got = host(out, blocks * 64);
	for (int b = 0; b < blocks; b++) {
		for (int t = 0; t < 64; t++) {
			uint32_t x = 0;

			for (int r = 0; r < rounds; r++)
				x += mix(b * 64 + 63 - t + r);
			right &= got[b * 64 + t] == x;
		}
	}
	return report("named_barriers", right, hash(got.data(), got.size() * 4));
}
