/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module from PTX text; its kernel launched with parameters packed by the program. */
#include "driver.cuh"

int main()
{
	const unsigned int n = 16384 * scale();
	CUdeviceptr in, out;
	CUfunction f;
	CUcontext ctx;
	CUmodule m;
	CUstream s;
	std::vector<uint32_t> data(n), got(n);
	int right = 1;

	CU(DRIVER(cuInit)(0));
	CU(DRIVER(cuDevicePrimaryCtxRetain)(&ctx, 0));
	CU(DRIVER(cuCtxSetCurrent)(ctx));
	CU(DRIVER(cuModuleLoadData)(&m, affine_ptx));
	CU(DRIVER(cuModuleGetFunction)(&f, m, "affine"));
	linger_module(m, n / 128, 128);
	CU(DRIVER(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	CU(DRIVER(cuMemAlloc)(&in, n * 4));
	CU(DRIVER(cuMemAlloc)(&out, n * 4));
	for (unsigned int i = 0; i < n; i++)
		data[i] = mix(i);
	CU(DRIVER(cuMemcpyHtoDAsync)(in, data.data(), n * 4, s));
	struct {
		CUdeviceptr out, in;
		unsigned int factor, n;
	} block = { out, in, 11, n };
	size_t size = sizeof(block);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
	CU(DRIVER(cuLaunchKernel)(f, n / 128, 1, 1, 128, 1, 1, 0, s, NULL, extra));
	CU(DRIVER(cuMemcpyDtoHAsync)(got.data(), out, n * 4, s));
	CU(DRIVER(cuStreamSynchronize)(s));
	for (unsigned int i = 0; i < n; i++)
		right &= got[i] == data[i] * 11 + i;
	CU(DRIVER(cuModuleUnload)(m));
	return report("driver_module", right, hash(got.data(), n * 4));
}
