/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tests of RBDM, small: the matrix product of the CUDA samples with a
 * scale of its own for each call, and an FFT application: transform by
 * stages over global memory, inverse, convolution in the frequency domain.
 */
extern "C" __global__ void matrix_product(float *c, const float *a, const float *b, int n, float scale)
{
	__shared__ float as[8][8], bs[8][8 + 1];
	int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	float sum = 0;

	for (int t = 0; t < (n + 7) / 8; t++) {
		as[threadIdx.y][threadIdx.x] = y < n && t * 8 + threadIdx.x < n ? a[y * n + t * 8 + threadIdx.x] : 0;
		bs[threadIdx.y][threadIdx.x] = x < n && t * 8 + threadIdx.y < n ? b[(t * 8 + threadIdx.y) * n + x] : 0;
		__syncthreads();
		for (int k = 0; k < 8; k++)
			sum = fmaf(as[threadIdx.y][k], bs[k][threadIdx.x], sum);
		__syncthreads();
	}
	if (x < n && y < n)
		c[y * n + x] = scale * sum;
}

extern "C" __global__ void fft_reverse(float2 *out, const float2 *in, int bits)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[__brev(i) >> (32 - bits)] = in[i];
}

/* One stage: a butterfly a thread, in place. */
extern "C" __global__ void fft_stage(float2 *data, unsigned half, float sign)
{
	unsigned t = blockIdx.x * blockDim.x + threadIdx.x, k = t % half, at = t / half * 2 * half + k;
	float s, c;
	float2 a = data[at], b = data[at + half];

	__sincosf(sign * 3.14159265f * k / half, &s, &c);
	data[at] = make_float2(a.x + b.x * c - b.y * s, a.y + b.x * s + b.y * c);
	data[at + half] = make_float2(a.x - b.x * c + b.y * s, a.y - b.x * s - b.y * c);
}

/* 4 points in registers, radix 4, exchanged through shared memory: 64 points for each block of 16 threads. */
extern "C" __global__ void fft_radix4(float2 *out, const float2 *in)
{
	__shared__ float2 line[64];
	unsigned t = threadIdx.x, base = blockIdx.x * 64;
	float2 v[4];

	for (unsigned i = 0; i < 4; i++)
		v[i] = in[base + t + 16 * i];
	for (unsigned n = 1; n < 64; n *= 4) {
		float2 a, b, c, d;

		for (unsigned i = 1; i < 4; i++) {
			float s, co, x = v[i].x;

			__sincosf(-6.2831853f * i * (t % n) / (4 * n), &s, &co);
			v[i].x = x * co - v[i].y * s;
			v[i].y = x * s + v[i].y * co;
		}
		a = make_float2(v[0].x + v[2].x, v[0].y + v[2].y);
		b = make_float2(v[0].x - v[2].x, v[0].y - v[2].y);
		c = make_float2(v[1].x + v[3].x, v[1].y + v[3].y);
		d = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
		__syncthreads();
		line[(t / n) * 4 * n + t % n] = make_float2(a.x + c.x, a.y + c.y);
		line[(t / n) * 4 * n + t % n + n] = make_float2(b.x + d.x, b.y + d.y);
		line[(t / n) * 4 * n + t % n + 2 * n] = make_float2(a.x - c.x, a.y - c.y);
		line[(t / n) * 4 * n + t % n + 3 * n] = make_float2(b.x - d.x, b.y - d.y);
		__syncthreads();
		for (unsigned i = 0; i < 4; i++)
			v[i] = line[t + 16 * i];
	}
	for (unsigned i = 0; i < 4; i++)
		out[base + t + 16 * i] = v[i];
}

extern "C" __global__ void multiply_scale(float2 *a, const float2 *b, int n, float scale)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		a[i] = make_float2(scale * (a[i].x * b[i].x - a[i].y * b[i].y), scale * (a[i].x * b[i].y + a[i].y * b[i].x));
}
