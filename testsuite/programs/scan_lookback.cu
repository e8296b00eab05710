/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A prefix sum in one pass: blocks wait for what the blocks before them have published. */
#include "common.cuh"

__device__ unsigned int ticket;

__global__ void scan(uint32_t *out, const uint32_t *in, volatile uint32_t *flag, volatile uint32_t *sum, volatile uint32_t *prefix)
{
	__shared__ uint32_t s[128], before, mine;
	uint32_t x;

	linger();
	if (threadIdx.x == 0)
		mine = atomicAdd(&ticket, 1u);
	__syncthreads();
	x = in[mine * 128 + threadIdx.x];
	s[threadIdx.x] = x;
	__syncthreads();
	for (int d = 1; d < 128; d *= 2) {
		uint32_t y = threadIdx.x >= d ? s[threadIdx.x - d] : 0;

		__syncthreads();
		s[threadIdx.x] += y;
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		uint32_t total = 0;

		sum[mine] = s[127];
		__threadfence();
		flag[mine] = 1;
		for (int b = (int)mine - 1; b >= 0; b--) {
			while (flag[b] == 0)
				;
			__threadfence();
			if (flag[b] == 2) {
				total += prefix[b];
				break;
			}
			total += sum[b];
		}
		prefix[mine] = total + s[127];
		__threadfence();
		flag[mine] = 2;
		before = total;
	}
	__syncthreads();
	out[mine * 128 + threadIdx.x] = before + s[threadIdx.x];
}

int main()
{
	const int blocks = 80 * scale(), n = blocks * 128;
	std::vector<uint32_t> in(n), got;
	uint32_t total = 0, zero = 0;
	int right = 1;

	linger_start();
	for (int i = 0; i < n; i++)
		in[i] = mix(i) % 10;
	uint32_t *din = device(in), *out = device<uint32_t>(n), *work = device<uint32_t>(3 * blocks);
	for (int r = 0; r < 2; r++) {
		OK(cudaMemset(work, 0, 12 * blocks));
		OK(cudaMemcpyToSymbol(ticket, &zero, 4));
		scan<<<blocks, 128>>>(out, din, work, work + blocks, work + 2 * blocks);
	}
	LAUNCHED();
	got = host(out, n);
	for (int i = 0; i < n; i++) {
		total += in[i];
		right &= got[i] == total;
	}
	return report("scan_lookback", right, total);
}
