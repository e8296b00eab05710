/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-demo-triad: a stream triad, checked against the CPU bit by bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

static const char ptx[] =
#include "triad.ptx.inc"
	;

/* The inputs repeat, so that the CPU computes each different element once. */
#define PERIOD_B 101
#define PERIOD_C 59
#define PERIOD (PERIOD_B * PERIOD_C)

enum { ELEMENTS, PASSES, REPEATS };

static struct demo_option options[] = {
	{ "elements", "floats per array", 1 << 18, 1, 1 << 30 },
	{ "passes", "multiply-adds per element", 100, 1, 1000000 },
	{ "repeats", "kernel launches", 1, 1, 1000000 },
	{ 0 },
};

static size_t count_wrong(const float *a, const float *b, const float *c, unsigned int n, float s,
			  int passes)
{
	float *expected = demo_host(PERIOD * sizeof(*expected));
	size_t wrong = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (i < PERIOD) {
			float x = c[i];

			for (int p = 0; p < passes; p++)
				x = fmaf(s, x, b[i]);
			expected[i] = x;
		}
		wrong += !(a[i] == expected[i % PERIOD]);
	}
	free(expected);
	return wrong;
}

int main(int argc, char **argv)
{
	float s = 0.75f;
	size_t wrong;

	demo_options(argc, argv, "A stream triad: a = b + s * a, many times per element.", options);

	unsigned int n = (unsigned int)options[ELEMENTS].value;
	int passes = (int)options[PASSES].value;
	size_t bytes = n * sizeof(float);
	float *b = demo_host(bytes), *c = demo_host(bytes), *a = demo_host(bytes);

	for (unsigned int i = 0; i < n; i++) {
		b[i] = (float)(i % PERIOD_B) * 0.125f;
		c[i] = (float)(i % PERIOD_C) - 200.0f;
		a[i] = NAN;
	}

	CUfunction f = demo_start(ptx, "triad");
	CUdeviceptr da = demo_memory(a, bytes), db = demo_memory(b, bytes);
	CUdeviceptr dc = demo_memory(c, bytes);
	unsigned int grid[3] = { (n + 255) / 256, 1, 1 }, block[3] = { 256, 1, 1 };
	void *params[] = { &da, &db, &dc, &s, &n, &passes };

	demo_launch(f, grid, block, options[REPEATS].value, params);
	CHECK(cuMemcpyDtoH(a, da, bytes));
	wrong = count_wrong(a, b, c, n, s, passes);
	CHECK(cuMemFree(da));
	CHECK(cuMemFree(db));
	CHECK(cuMemFree(dc));
	free(a);
	free(b);
	free(c);
	return demo_verdict(n, wrong);
}
