/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An array read through a texture: points, and halves of the way between four texels. */
#include "common.cuh"

__global__ void sample(float *out, cudaTextureObject_t points, cudaTextureObject_t between, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	linger();
	if (x < w && y < h)
		out[y * w + x] = tex2D<float>(points, x + 0.5f, y + 0.5f) * 16 + tex2D<float>(between, x + 1.0f, y + 1.0f);
}

int main()
{
	int w = 96, h = 64;
	cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
	std::vector<float> data, got;
	cudaTextureObject_t points, between;
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaArray_t a;
	int right = 1;

	linger_start();
	for (int s = scale(); s > 1; s /= 4) {
		w *= 2;
		h *= 2;
	}
	for (int i = 0; i < w * h; i++)
		data.push_back((float)(mix(i) % 64));
	OK(cudaMallocArray(&a, &d, w, h));
	OK(cudaMemcpy2DToArray(a, 0, 0, data.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	t.addressMode[0] = t.addressMode[1] = cudaAddressModeClamp;
	OK(cudaCreateTextureObject(&points, &r, &t, NULL));
	t.filterMode = cudaFilterModeLinear;
	OK(cudaCreateTextureObject(&between, &r, &t, NULL));
	float *out = device<float>(w * h);
	sample<<<dim3(w / 16, h / 8), dim3(16, 8)>>>(out, points, between, w, h);
	LAUNCHED();
	got = host(out, w * h);
	for (int y = 0; y < h; y++) {
		for (int x = 0; x < w; x++) {
			int u = x + 1 < w ? x + 1 : x, v = y + 1 < h ? y + 1 : y;
			float four = (data[y * w + x] + data[y * w + u] + data[v * w + x] + data[v * w + u]) / 4;

			right &= got[y * w + x] == data[y * w + x] * 16 + four;
		}
	}
	OK(cudaDestroyTextureObject(points));
	OK(cudaDestroyTextureObject(between));
	OK(cudaFreeArray(a));
	return report("texture_2d", right, hash(got.data(), w * h * 4));
}
