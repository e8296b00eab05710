/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One launch of the table cases.def: its arguments on the device, and the memory that it leaves. */
#ifndef GPUSHARE_EQUIV_CASE_H
#define GPUSHARE_EQUIV_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "device/ptx/ast.h"
#include "driver.h"

#define ARGS_MAX 16

struct test_case {
	const char *file, *kernel;
	unsigned grid[3], block[3], shared;
	const char *args;
	enum { CASE_PLAIN, CASE_LARGE, CASE_LACKS, CASE_RANDOM } kind; /* cases.def, random.h */
};

struct settings {
	int32_t steps[5];
	double scale;
	char mode;
};

struct buffer {
	uint64_t at;               /* device address, or */
	void *array;               /* the memory of a surface; neither: the argument is a value */
	uint64_t texture, surface; /* over it; or 0 */
	size_t bytes;
};

struct launch {
	const struct test_case *c;
	const struct driver *drv;
	const struct ptx_module *ast;
	void *module, *original;
	unsigned nargs, nbuffers;
	struct buffer buffer[ARGS_MAX];
	uint64_t value[ARGS_MAX];
	struct settings settings;
	uint8_t blob[4096];
	void *pointer[ARGS_MAX + 2]; /* room for what a variant has besides */
	int prints;                  /* the kernel writes to standard output */
};

uint64_t case_tasks(const struct test_case *c);

/* Load the text, find the kernel, make and fill its buffers and the module's variables. */
void launch_prepare(struct launch *l, const struct test_case *c, const struct driver *drv,
		    const char *text, const struct ptx_module *ast);
void launch_release(struct launch *l);

/* Bytes of an image. */
size_t image_size(const struct launch *l);
/*
 * All buffers and the module's exported variables, one after the other, into
 * image_size bytes at `to`.  On a stream, the copies are only enqueued.
 */
void image_take(const struct launch *l, uint8_t *to, void *stream);

/* The reverse of image_take(l, from, NULL). */
void image_restore(const struct launch *l, const uint8_t *from);

/* Standard output goes to a file; the end gives its lines, sorted; malloc'd. */
void capture_begin(void);
char *capture_end(void);

/* Print and leave with status 1: how a difference is reported. */
__attribute__((format(printf, 2, 3), noreturn)) void fail(const struct test_case *c,
							  const char *format, ...);

#endif
