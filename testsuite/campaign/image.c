/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image DRIVER FOLDER [N]: launches kernel N of testsuite/ptx/equiv/cases.def, of those with small
 * grids, with DRIVER's libcuda.so.1, and says its name, its block-tasks, and a sum of the memory
 * that it leaves and of what it prints.  Without N: how many there are.  FOLDER is testsuite/ptx.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ptx/equiv/case.h"

#include "common/error.h"
#include "device/ptx/parse.h"

#define LAUNCHES 2 /* by the second one a kernel's variant is there in any case */

#define G(x, y, z) \
	{ \
		x, y, z \
	}
static const struct test_case cases[] = {
#define CASE(file, kernel, grid, block, shared, args) \
	{ file, kernel, grid, block, shared, args, CASE_PLAIN },
#define LARGE(file, kernel, grid, block, shared, args)
#define LACKS(file, kernel, grid, block, shared, args)
#define AT_BEST(file, kernel, transform, reason)
#include "../ptx/equiv/cases.def"
#undef CASE
#undef LARGE
#undef LACKS
#undef AT_BEST
};

static char *text_of(const char *folder, const char *name)
{
	char path[4096], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.ptx", folder, name);
	f = fopen(path, "r");
	if (!f || getdelim(&text, &size, '\0', f) < 0) {
		fprintf(stderr, "FAIL: %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}

/* FNV-1a: Fowler, Noll, Vo. */
static uint64_t sum_of(uint64_t sum, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static uint64_t run(struct launch *l, void *stream)
{
	const struct test_case *c = l->c;
	size_t size = image_size(l);
	uint8_t *initial = malloc(size + 1), *left = malloc(size + 1);
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	if (!initial || !left)
		fail(c, "no memory");
	image_take(l, initial, NULL);
	for (int i = 0; i < LAUNCHES; i++) {
		char *lines = NULL;

		image_restore(l, initial);
		DO(l->drv->ctx_sync());
		if (l->prints)
			capture_begin();
		DO(l->drv->launch(l->original, c->grid[0], c->grid[1], c->grid[2], c->block[0],
				  c->block[1], c->block[2], c->shared, stream, l->pointer, NULL));
		DO(l->drv->stream_sync(stream));
		if (l->prints)
			lines = capture_end();
		image_take(l, left, NULL);
		sum = sum_of(sum, left, size);
		if (lines)
			sum = sum_of(sum, (uint8_t *)lines, strlen(lines));
		free(lines);
	}
	free(initial);
	free(left);
	return sum;
}

int main(int argc, char **argv)
{
	size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0,
	       count = sizeof(cases) / sizeof(cases[0]);
	const struct test_case *c = &cases[n];
	struct gs_error err = { "" };
	struct ptx_module *ast;
	struct driver drv;
	struct launch l;
	void *stream;
	char *text;

	if (argc < 3 || n >= count)
		return 2;
	if (argc == 3) {
		printf("%zu\n", count);
		return 0;
	}
	text = text_of(argv[2], c->file);
	ast = ptx_parse(text, strlen(text), &err);
	if (!ast)
		fail(c, "%s", err.text);
	driver_open(&drv, argv[1]);
	DO(drv.stream_create(&stream, 1 /* non-blocking */));
	launch_prepare(&l, c, &drv, text, ast);
	printf("%s %llu %016llx\n", c->kernel, (unsigned long long)case_tasks(c),
	       (unsigned long long)run(&l, stream));
	launch_release(&l);
	ptx_module_free(ast);
	free(text);
	return 0;
}
