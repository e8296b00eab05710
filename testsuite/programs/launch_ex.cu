/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cudaLaunchKernelExC and its attributes: priority, a cooperative launch, none. */
#include "common.cuh"

__global__ void step(uint32_t *v, int n, uint32_t key)
{
	linger();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v[i] = mix(v[i] ^ key);
}

int main()
{
	int n = 8192 * scale(), right = 1;
	uint32_t *v = device<uint32_t>(n), want = 0;
	cudaLaunchAttribute a[2] = {};
	cudaLaunchConfig_t c = {};

	linger_start();
	a[0].id = cudaLaunchAttributePriority;
	a[0].val.priority = 0;
	a[1].id = cudaLaunchAttributeCooperative;
	a[1].val.cooperative = 1;
	c.blockDim = dim3(64);
	c.attrs = a;
	for (uint32_t key = 0; key < 6; key++) {
		void *args[] = { &v, &n, &key };

		c.numAttrs = key % 3;
		c.gridDim = dim3(c.numAttrs == 2 ? 2 : n / 64);
		OK(cudaLaunchKernelExC(&c, (const void *)step, args));
		want = mix(want ^ key);
	}
	std::vector<uint32_t> got = host(v, n);
	for (uint32_t x : got)
		right &= x == want;
	return report("launch_ex", right, want);
}
