/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual memory management: a range that grows while its front is in use. */
#include "driver.cuh"

__global__ void step(uint32_t *v, size_t n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	linger();
	if (i < n)
		v[i] = mix(v[i] + (uint32_t)i);
}

int main()
{
	CUmemGenericAllocationHandle h[3];
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	const size_t n = 20000 * scale();
	CUdeviceptr base;
	size_t piece = 0;
	int right = 1;

	linger_start();
	OK(cudaFree(0));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CU(DRIVER(cuMemGetAllocationGranularity)(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	piece *= (n * 4 + piece - 1) / piece;
	CU(DRIVER(cuMemAddressReserve)(&base, 3 * piece, 0, 0, 0));
	for (int k = 0; k < 3; k++) {
		CU(DRIVER(cuMemCreate)(&h[k], piece, &prop, 0));
		CU(DRIVER(cuMemMap)(base + k * piece, piece, 0, h[k], 0));
		CU(DRIVER(cuMemSetAccess)(base + k * piece, piece, &access, 1));
		CU(DRIVER(cuMemsetD32)(base + k * piece, k, n));
		for (int j = 0; j <= k; j++)
			step<<<(n + 127) / 128, 128>>>((uint32_t *)(base + j * piece), n);
		LAUNCHED();
	}
	for (int k = 0; k < 3; k++) {
		std::vector<uint32_t> got = host((uint32_t *)(base + k * piece), n);

		for (size_t i = 0; i < n; i++) {
			uint32_t x = k;

			for (int r = k; r < 3; r++)
				x = mix(x + (uint32_t)i);
			right &= got[i] == x;
		}
	}
	OK(cudaDeviceSynchronize());
	for (int k = 0; k < 3; k++) {
		CU(DRIVER(cuMemUnmap)(base + k * piece, piece));
		CU(DRIVER(cuMemRelease)(h[k]));
	}
	CU(DRIVER(cuMemAddressFree)(base, 3 * piece));
	return report("vmm", right, 0);
}
