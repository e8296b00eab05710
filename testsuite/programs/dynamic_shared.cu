/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dynamic shared memory: little, and more than a kernel may have without asking. */
#include "common.cuh"

__global__ void reverse(uint32_t *v, int n)
{
	extern __shared__ uint32_t s[];

	linger();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s[i] = v[blockIdx.x * n + i];
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		v[blockIdx.x * n + i] = s[n - 1 - i] + s[i];
}

int main()
{
	int right = 1;
	uint64_t h = 0;

	linger_start();
	for (int n = 256; n <= 16384; n *= 64) {
		const int blocks = 12 * scale(128);
		std::vector<uint32_t> in(blocks * n), got;

		for (size_t i = 0; i < in.size(); i++)
			in[i] = mix(i);
		uint32_t *v = device(in);
		if (n > 12288) {
			reverse<<<blocks, 128, n * 4>>>(v, n);
			right &= cudaGetLastError() != cudaSuccess;
			OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, n * 4));
		}
		reverse<<<blocks, 128, n * 4>>>(v, n);
		LAUNCHED();
		got = host(v, in.size());
		for (int b = 0; b < blocks; b++)
			for (int i = 0; i < n; i++)
				right &= got[b * n + i] == in[b * n + n - 1 - i] + in[b * n + i];
		h ^= hash(got.data(), got.size() * 4);
	}
	return report("dynamic_shared", right, h);
}
