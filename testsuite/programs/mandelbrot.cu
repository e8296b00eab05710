/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks whose times differ widely. */
#include "common.cuh"

__host__ __device__ static inline int escape(int px, int py, int w, int h)
{
	/* fixed point, so that all agree */
	int64_t cx = (int64_t)(px * 3 - 2 * w) * 65536 / w, cy = (int64_t)(py * 2 - h) * 65536 / h, x = 0, y = 0;
	int n = 0;

	while (n < 64 && x * x + y * y < (int64_t)4 << 32) {
		int64_t t = (x * x - y * y) / 65536 + cx;

		y = 2 * x * y / 65536 + cy;
		x = t;
		n++;
	}
	return n;
}

__global__ void paint(unsigned char *v, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	linger();
	if (x < w && y < h)
		v[y * w + x] = (unsigned char)escape(x, y, w, h);
}

int main()
{
	int w = 64, h = 48, right = 1;

	linger_start();
	for (int s = scale(); s > 1; s /= 4) {
		w *= 2;
		h *= 2;
	}
	unsigned char *v = device<unsigned char>(w * h);
	paint<<<dim3(w / 8, h / 8), dim3(8, 8)>>>(v, w, h);
	LAUNCHED();
	std::vector<unsigned char> got = host(v, w * h);
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++)
			right &= got[y * w + x] == escape(x, y, w, h);
	return report("mandelbrot", right, hash(got.data(), got.size()));
}
