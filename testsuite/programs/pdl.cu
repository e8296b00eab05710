/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programmatic dependent launch: kernels that may start early, and wait for the one before. */
#include "common.cuh"

__global__ void step(uint32_t *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#if __CUDA_ARCH__ >= 900
	cudaGridDependencySynchronize();
	cudaTriggerProgrammaticLaunchCompletion();
#endif
	if (i < n)
		v[i] = mix(v[i] + 1);
}

int main()
{
	const int n = 16384 * scale(), rounds = 8;
	uint32_t *v = device<uint32_t>(n), want = 0;
	cudaLaunchAttribute a[1] = {};
	cudaLaunchConfig_t c = {};
	cudaStream_t s;
	int major = 0, right = 1;

	OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	OK(cudaStreamCreate(&s));
	OK(cudaDeviceSynchronize());
	a[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
	a[0].val.programmaticStreamSerializationAllowed = 1;
	c.gridDim = dim3(n / 128);
	c.blockDim = dim3(128);
	c.stream = s;
	c.attrs = a;
	c.numAttrs = major >= 9;
	for (int r = 0; r < rounds; r++) {
		OK(cudaLaunchKernelEx(&c, step, v, n));
		want = mix(want + 1);
	}
	OK(cudaStreamSynchronize(s));
	std::vector<uint32_t> got = host(v, n);
	for (uint32_t x : got)
		right &= x == want;
	return report("pdl", right, want);
}
