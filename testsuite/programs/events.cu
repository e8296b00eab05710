/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams that wait for each other's events, round after round. */
#include "common.cuh"

__global__ void bump(uint32_t *v, int n, uint32_t by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = v[i] * 3 + by;
}

int main()
{
	const int n = 8192 * scale(), rounds = 10;
	uint32_t *v = device<uint32_t>(n), want = 0;
	cudaStream_t s[3];
	cudaEvent_t e[3];
	int right = 1;

	linger_start(2);
	for (int k = 0; k < 3; k++) {
		OK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
		OK(cudaEventCreateWithFlags(&e[k], cudaEventDisableTiming));
	}
	OK(cudaDeviceSynchronize());
	for (int r = 0; r < rounds; r++) {
		for (int k = 0; k < 3; k++) {
			OK(cudaStreamWaitEvent(s[k], e[(k + 2) % 3], 0));
			bump<<<n / 128, 128, 0, s[k]>>>(v, n, r * 3 + k);
			OK(cudaEventRecord(e[k], s[k]));
			want = want * 3 + r * 3 + k;
		}
	}
	OK(cudaEventSynchronize(e[2]));
	OK(cudaEventQuery(e[2]));
	std::vector<uint32_t> got = host(v, n);
	for (uint32_t x : got)
		right &= x == want;
	return report("events", right, want);
}
