/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Breadth-first search: a kernel per level, and a flag that comes back after each. */
#include "common.cuh"

__global__ void level(int *dist, const int *first, const int *edge, int n, int d, int *more)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (v >= n || dist[v] != d)
		return;
	for (int i = first[v]; i < first[v + 1]; i++)
		if (atomicCAS(&dist[edge[i]], -1, d + 1) == -1)
			*more = 1;
}

int main()
{
	const int n = 3000 * scale();
	std::vector<int> first(1), edge, want(n, -1), got, queue(1, 0);
	int more = 1, *dmore = device<int>(1);

	linger_start(4);
	for (int v = 0; v < n; v++) {
		for (int k = 0; k < 3; k++)
			edge.push_back(k ? (int)(mix(v * 3 + k) % n) : (v + 1) % n);
		first.push_back((int)edge.size());
	}
	want[0] = 0;
	for (size_t q = 0; q < queue.size(); q++)
		for (int i = first[queue[q]]; i < first[queue[q] + 1]; i++)
			if (want[edge[i]] < 0) {
				want[edge[i]] = want[queue[q]] + 1;
				queue.push_back(edge[i]);
			}
	std::vector<int> start(n, -1);
	start[0] = 0;
	int *dist = device(start), *dfirst = device(first), *dedge = device(edge);
	for (int d = 0; more; d++) {
		OK(cudaMemset(dmore, 0, 4));
		level<<<(n + 63) / 64, 64>>>(dist, dfirst, dedge, n, d, dmore);
		OK(cudaMemcpy(&more, dmore, 4, cudaMemcpyDeviceToHost));
	}
	got = host(dist, n);
	return report("bfs", got == want, hash(got.data(), n * 4));
}
