/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PTX linked at run time (cuLink*), then loaded. */
#include "driver.cuh"

int main()
{
	const unsigned int n = 8192 * scale();
	unsigned int factor = 3, count = n;
	CUdeviceptr in, out;
	CUlinkState link;
	CUfunction f;
	CUcontext ctx;
	CUmodule m;
	size_t size;
	void *image;
	int right = 1;

	CU(DRIVER(cuInit)(0));
	CU(DRIVER(cuDevicePrimaryCtxRetain)(&ctx, 0));
	CU(DRIVER(cuCtxSetCurrent)(ctx));
	CU(DRIVER(cuLinkCreate)(0, NULL, NULL, &link));
	CU(DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, (void *)affine_ptx, sizeof(affine_ptx), "affine", 0, NULL, NULL));
	CU(DRIVER(cuLinkComplete)(link, &image, &size));
	CU(DRIVER(cuModuleLoadData)(&m, image));
	CU(DRIVER(cuLinkDestroy)(link));
	CU(DRIVER(cuModuleGetFunction)(&f, m, "affine"));
	linger_module(m, n / 64, 64);
	CU(DRIVER(cuMemAlloc)(&in, n * 4));
	CU(DRIVER(cuMemAlloc)(&out, n * 4));
	CU(DRIVER(cuMemsetD32)(in, 7, n));
	void *args[] = { &out, &in, &factor, &count };
	CU(DRIVER(cuLaunchKernel)(f, n / 64, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	std::vector<uint32_t> got(n);
	CU(DRIVER(cuMemcpyDtoH)(got.data(), out, n * 4));
	for (unsigned int i = 0; i < n; i++)
		right &= got[i] == 21 + i;
	return report("link_jit", right, hash(got.data(), n * 4));
}
