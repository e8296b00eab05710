/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several contexts of one device through the driver API, each with its module, memory and work. */
#include "driver.cuh"

int main()
{
	const unsigned int n = 4096 * scale(), contexts = 3;
	CUcontext ctx[contexts];
	CUdeviceptr a[contexts], b[contexts];
	CUmodule m[contexts];
	CUfunction f[contexts];
	uint64_t h = 0;
	int right = 1;

	CU(DRIVER(cuInit)(0));
	for (unsigned int k = 0; k < contexts; k++) {
		CU(((CUresult(*)(CUcontext *, unsigned int, CUdevice))driver_symbol("cuCtxCreate_v2"))(&ctx[k], 0, 0));
		CU(DRIVER(cuModuleLoadData)(&m[k], affine_ptx));
		CU(DRIVER(cuModuleGetFunction)(&f[k], m[k], "affine"));
		linger_module(m[k], n / 64, 64);
		CU(DRIVER(cuMemAlloc)(&a[k], n * 4));
		CU(DRIVER(cuMemAlloc)(&b[k], n * 4));
		CU(DRIVER(cuMemsetD32)(a[k], k + 1, n));
	}
	for (unsigned int r = 0; r < 4; r++) {
		for (unsigned int k = 0; k < contexts; k++) {
			unsigned int factor = r + k + 2, count = n;
			void *args[] = { &b[k], &a[k], &factor, &count };

			CU(DRIVER(cuCtxSetCurrent)(ctx[k]));
			CU(DRIVER(cuLaunchKernel)(f[k], n / 64, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
			CUdeviceptr t = a[k];
			a[k] = b[k];
			b[k] = t;
		}
	}
	for (unsigned int k = 0; k < contexts; k++) {
		std::vector<uint32_t> got(n);

		CU(DRIVER(cuCtxSetCurrent)(ctx[k]));
		CU(DRIVER(cuMemcpyDtoH)(got.data(), a[k], n * 4));
		for (unsigned int i = 0; i < n; i++) {
			uint32_t x = k + 1;

			for (unsigned int r = 0; r < 4; r++)
				x = x * (r + k + 2) + i;
			right &= got[i] == x;
		}
		h ^= hash(got.data(), n * 4);
		CU(DRIVER(cuCtxDestroy)(ctx[k]));
	}
	return report("contexts", right, h);
}
