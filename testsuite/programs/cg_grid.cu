/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cooperative groups: the whole grid waits for itself. */
#include <cooperative_groups.h>

#include "common.cuh"

namespace cg = cooperative_groups;

__global__ void waves(uint32_t *a, uint32_t *b, int n, int rounds)
{
	cg::grid_group g = cg::this_grid();

	for (int r = 0; r < rounds; r++) {
		for (int i = g.thread_rank(); i < n; i += g.size())
			b[i] = a[(i + 1) % n] + a[(i + n - 1) % n];
		g.sync();
		for (int i = g.thread_rank(); i < n; i += g.size())
			a[i] = b[i] ^ i;
		g.sync();
	}
}

int main()
{
	int n = 2048, rounds = 4 * scale(), per_sm = 0, sms = 0, right;
	std::vector<uint32_t> a(n), b(n), got;

	for (int i = 0; i < n; i++)
		a[i] = mix(i);
	uint32_t *da = device(a), *db = device<uint32_t>(n);
	void *args[] = { &da, &db, &n, &rounds };
	OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, waves, 128, 0));
	OK(cudaLaunchCooperativeKernel((void *)waves, dim3(per_sm * sms < 16 ? per_sm * sms : 16), dim3(128), args, 0, 0));
	got = host(da, n);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			b[i] = a[(i + 1) % n] + a[(i + n - 1) % n];
		for (int i = 0; i < n; i++)
			a[i] = b[i] ^ i;
	}
	right = got == a;
	return report("cg_grid", right, hash(got.data(), n * 4));
}
