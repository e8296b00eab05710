/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grids of more than 2^32 blocks: no device runs one to its end, so launches
 * begin in the middle, as after an eviction, and every block-task writes down
 * its index and the grid's size, in the kernel and in a function.
 * Usage: ptx_far DRIVER
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/ctl.h"
#include "device/ptx/slice.h"
#include "device/ptx/transform.h"
#include "driver.h"

#define TASKS 9u
#define WORDS 6u /* x, y, z, and the grid's */

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".func (.reg .b32 r) depth() {\n\t.reg .b32 a, b;\n\tmov.u32 a, %ctaid.z;\n\tmov.u32 b, %nctaid.z;\n"
	"\tshl.b32 a, a, 16;\n\tor.b32 r, a, b;\n\tret;\n}\n"
	".visible .entry far(.param .u64 out) {\n"
	"\t.reg .b32 n, x, y, z, nx, ny, nz, d;\n\t.reg .b64 at, to;\n"
	"\tld.param.u64 at, [out];\n\tatom.global.add.u32 n, [at], 1;\n"
	"\tmad.wide.u32 to, n, 24, at;\n\tmov.u32 x, %ctaid.x;\n\tmov.u32 y, %ctaid.y;\n"
	"\tmov.u32 nx, %nctaid.x;\n\tmov.u32 ny, %nctaid.y;\n\tcall (d), depth;\n"
	"\tshr.u32 z, d, 16;\n\tand.b32 nz, d, 65535;\n"
	"\tst.global.u32 [to+8], x;\n\tst.global.u32 [to+12], y;\n\tst.global.u32 [to+16], z;\n"
	"\tst.global.u32 [to+20], nx;\n\tst.global.u32 [to+24], ny;\n\tst.global.u32 [to+28], nz;\n\tret;\n}\n";

static const uint32_t grids[][3] = {
	{ 2147483647, 65535, 32767 }, { 2147483647, 3, 65535 }, { 65537, 65535, 7 },
	{ 1, 65535, 65535 },          { 2147483646, 2, 1 },     { 1000003, 65521, 64 },
};

static struct driver drv;
static struct gs_ctl *ctl;
static uint64_t ctl_device, out;

static int by_index(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	for (int i = 2; i >= 0; i--)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static void run(void *module, enum ptx_transform_kind transform, const uint32_t *g, uint64_t from)
{
	struct gs_slice slice = gs_slice_at(from, g[0], g[1], g[2]);
	unsigned blocks = transform == PTX_TRANSFORM_PERSISTENT ? 2 : TASKS;
	void *params[] = { &out, &ctl_device }, *variant;
	char name[40];

	*ctl = (struct gs_ctl) { .next = from,
				 .limit = UINT32_MAX,
				 .chunk = 2,
				 .chunk_max = 4,
				 .total = from + TASKS,
				 .nctaid = { g[0], g[1], g[2] },
				 .workers = blocks };
	if (transform == PTX_TRANSFORM_SLICED)
		params[1] = &slice;
	snprintf(name, sizeof(name), "far%s", ptx_transform_suffix(transform));
	DO(drv.module_function(&variant, module, name));
	DO(drv.launch(variant, blocks, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	DO(drv.ctx_sync());
	if (transform != PTX_TRANSFORM_SLICED && ctl->done != 1) {
		fprintf(stderr, "FAIL: %s variant from %llu on: not done\n",
			ptx_transform_name(transform), (unsigned long long)from);
		exit(1);
	}
}

static void check(enum ptx_transform_kind transform, const uint32_t *g, uint64_t from)
{
	uint32_t got[2 + TASKS * WORDS];
	unsigned wrong;

	DO(drv.to_host(got, out, sizeof(got)));
	wrong = got[0] != TASKS;
	qsort(got + 2, TASKS, WORDS * sizeof(*got), by_index);
	for (unsigned i = 0; i < TASKS && !wrong; i++) {
		uint64_t task = from + i;
		const uint32_t want[WORDS] = { (uint32_t)(task % g[0]),
					       (uint32_t)(task / g[0] % g[1]),
					       (uint32_t)(task / g[0] / g[1]),
					       g[0],
					       g[1],
					       g[2] };

		wrong = memcmp(got + 2 + i * WORDS, want, sizeof(want)) != 0;
	}
	if (!wrong)
		return;
	fprintf(stderr, "FAIL: %s variant, grid %u %u %u, block-tasks from %llu on: %u ran\n",
		ptx_transform_name(transform), g[0], g[1], g[2], (unsigned long long)from, got[0]);
	for (unsigned i = 0; i < TASKS; i++)
		fprintf(stderr, "  %u %u %u of %u %u %u\n", got[2 + i * WORDS], got[3 + i * WORDS],
			got[4 + i * WORDS], got[5 + i * WORDS], got[6 + i * WORDS],
			got[7 + i * WORDS]);
	exit(1);
}

int main(int argc, char **argv)
{
	static const uint32_t zero[2 + TASKS * WORDS];
	struct gs_error err = { "" };
	struct ptx_transformed *t =
		ptx_transform_only(text, sizeof(text) - 1, PTX_TRANSFORMS_ALL, 1, &err);
	unsigned launches = 0;
	void *module, *host;

	if (argc != 2 || !t || t->kernel[0].transforms != PTX_TRANSFORMS_ALL) {
		fprintf(stderr,
			argc != 2 ? "Usage: ptx_far DRIVER\n" : "FAIL: not transformed: %s\n",
			err.text);
		return 1;
	}
	driver_open(&drv, argv[1]);
	DO(drv.host_alloc(&host, sizeof(*ctl), 2 /* mapped */));
	DO(drv.host_device(&ctl_device, host, 0));
	ctl = host;
	DO(drv.mem_alloc(&out, sizeof(zero)));
	DO(drv.module_load(&module, t->text));
	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		const uint32_t *g = grids[i];
		uint64_t row = g[0], plane = row * g[1], all = plane * g[2];
		const uint64_t places[] = { 0,
					    row - 4,
					    plane - 4,
					    all - TASKS,
					    4294967296 - 4,
					    all / 2,
					    all / 3 * 2,
					    4294967296 * 5 + 12345 };

		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			for (int f = PTX_TRANSFORM_PERSISTENT;
			     f < PTX_TRANSFORM_COUNT && places[p] <= all - TASKS; f++) {
				if (f == PTX_TRANSFORM_GUARDED)
					continue; /* it has the original's grid, below 2^32 */
				DO(drv.to_device(out, zero, sizeof(zero)));
				run(module, (enum ptx_transform_kind)f, g, places[p]);
				check((enum ptx_transform_kind)f, g, places[p]);
				launches++;
			}
	}
	printf("%u launches in the middle of large grids\n", launches);
	ptx_transformed_free(t);
	return 0;
}
