/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Textures and surfaces, half precision, special functions, private arrays. */
#include <cuda_fp16.h>

extern "C" __global__ void sample(float *out, cudaTextureObject_t image, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < width && y < height)
		out[y * width + x] = tex2D<float>(image, (x + 0.5f) / width, (y + 0.5f) / height);
}

extern "C" __global__ void paint(cudaSurfaceObject_t image, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < width && y < height)
		surf2Dwrite((float)(x ^ y), image, x * 4, y);
}

extern "C" __global__ void halves(__half *out, const __half *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = __hfma(in[i], __float2half(2.0f), __float2half(0.5f));
}

extern "C" __global__ void black_scholes(float *call, float *put, const float *price, const float *strike,
					 const float *years, float rate, float volatility, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float root, d1, d2, discount;

	if (i >= n)
		return;
	root = sqrtf(years[i]);
	d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
	d2 = d1 - volatility * root;
	discount = expf(-rate * years[i]);
	call[i] = price[i] * normcdff(d1) - strike[i] * discount * normcdff(d2);
	put[i] = strike[i] * discount * normcdff(-d2) - price[i] * normcdff(-d1) + sinf(d1) + powf(d2, 3);
}

extern "C" __global__ void private_sort(int *data, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, own[16];

	if (i >= n)
		return;
	for (int k = 0; k < 16; k++)
		own[k] = data[i * 16 + k];
	for (int a = 0; a < 16; a++)
		for (int b = 0; b + 1 < 16 - a; b++)
			if (own[b] > own[b + 1]) {
				int t = own[b];

				own[b] = own[b + 1];
				own[b + 1] = t;
			}
	for (int k = 0; k < 16; k++)
		data[i * 16 + k] = own[k ^ (data[i * 16] & 1)];
}
