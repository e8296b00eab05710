/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies and sets of two and three dimensions, and between arrays and memory. */
#include "common.cuh"

__global__ void flip(unsigned char *v, size_t pitch, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

	linger();
	if (x < w && y < h)
		v[y * pitch + x] = (unsigned char)(v[y * pitch + x] * 3 + y);
}

int main()
{
	const int w = 100, h = 40, d = 3 * scale(512);
	std::vector<unsigned char> in(w * h * d), out(w * h * d), want(w * h * d);
	cudaExtent e = make_cudaExtent(w, h, d);
	cudaMemcpy3DParms p = {};
	cudaPitchedPtr v;
	unsigned char *flat;
	size_t pitch;
	int right = 1;

	linger_start();
	for (size_t i = 0; i < in.size(); i++)
		in[i] = (unsigned char)mix(i);
	OK(cudaMalloc3D(&v, e));
	OK(cudaMemset3D(v, 9, e));
	p.srcPtr = make_cudaPitchedPtr(in.data(), w, w, h);
	p.dstPtr = v;
	p.extent = e;
	p.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&p));
	flip<<<dim3((w + 31) / 32, h * d), 32>>>((unsigned char *)v.ptr, v.pitch, w, h * d);
	LAUNCHED();
	p.srcPtr = v;
	p.dstPtr = make_cudaPitchedPtr(out.data(), w, w, h);
	p.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&p));
	for (int y = 0; y < h * d; y++)
		for (int x = 0; x < w; x++)
			want[y * w + x] = (unsigned char)(in[y * w + x] * 3 + y);
	right &= out == want;
	OK(cudaMallocPitch((void **)&flat, &pitch, w, h));
	OK(cudaMemset2D(flat, pitch, 7, w, h));
	OK(cudaMemcpy2D(flat, pitch, in.data(), w, w / 2, h, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2D(out.data(), w, flat, pitch, w, h, cudaMemcpyDeviceToHost));
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			right &= out[y * w + x] == (x < w / 2 ? in[y * w + x] : 7);
	cudaChannelFormatDesc c = cudaCreateChannelDesc<unsigned char>();
	cudaArray_t a;
	OK(cudaMallocArray(&a, &c, w, h));
	OK(cudaMemcpy2DToArray(a, 0, 0, flat, pitch, w, h, cudaMemcpyDeviceToDevice));
	std::vector<unsigned char> back(w * h);
	OK(cudaMemcpy2DFromArray(back.data(), w, a, 0, 0, w, h, cudaMemcpyDeviceToHost));
	right &= memcmp(back.data(), out.data(), w * h) == 0;
	OK(cudaFreeArray(a));
	return report("copies", right, hash(want.data(), want.size()));
}
