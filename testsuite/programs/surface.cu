/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A surface written by one kernel and read by the next. */
#include "common.cuh"

__global__ void put(cudaSurfaceObject_t s, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

	linger();
	if (x < w)
		surf2Dwrite<uint32_t>(mix(y * w + x), s, x * 4, y);
}

__global__ void round(uint32_t *out, cudaSurfaceObject_t s, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

	linger();
	if (x < w)
		out[x * h + y] = surf2Dread<uint32_t>(s, x * 4, y);
}

int main()
{
	const int w = 128, h = 48 * scale(512);
	cudaChannelFormatDesc d = cudaCreateChannelDesc<uint32_t>();
	uint32_t *out = device<uint32_t>(w * h);
	cudaResourceDesc r = {};
	cudaSurfaceObject_t s;
	cudaArray_t a;
	int right = 1;

	linger_start();
	OK(cudaMallocArray(&a, &d, w, h, cudaArraySurfaceLoadStore));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	OK(cudaCreateSurfaceObject(&s, &r));
	put<<<dim3(w / 64, h), 64>>>(s, w, h);
	round<<<dim3(w / 64, h), 64>>>(out, s, w, h);
	LAUNCHED();
	std::vector<uint32_t> got = host(out, w * h);
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			right &= got[x * h + y] == mix(y * w + x);
	OK(cudaDestroySurfaceObject(s));
	OK(cudaFreeArray(a));
	return report("surface", right, hash(got.data(), w * h * 4));
}
