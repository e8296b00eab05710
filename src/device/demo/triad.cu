// SPDX-License-Identifier: GPL-2.0-or-later
// A stream triad: a = b + s * a, `passes` times per element, starting from c.
extern "C" __global__ void triad(float *a, const float *b, const float *c, float s,
				 unsigned int n, int passes)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float x = c[i];
	float y = b[i];
	for (int p = 0; p < passes; p++)
		x = fmaf(s, x, y);
	a[i] = x;
}
