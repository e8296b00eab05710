/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules that are large, deep and branch much. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "ptx_rig.h"

/* A 25 MB module of 250 kernels must take less than 5 s of a processor; the measure is printed. */
static void large_module(void **state)
{
	static const char step[] =
		"\tld.global.f32 \t%f1, [%rd1+4];\n\tfma.rn.f32 \t%f2, %f1, %f1, %f2;\n"
		"\tadd.s64 \t%rd1, %rd1, 128;\n\tst.global.f32 \t[%rd1], %f2;\n";
	size_t kernels = 250, size = 25000000, per = size / kernels, n = 0;
	char *text = malloc(size + kernels * 400 + 400);
	struct timespec begin, end;
	struct ptx_transformed *t;
	double seconds;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, "%s", PTX_HEAD);
	for (size_t k = 0; k < kernels; k++) {
		size_t stop = n + per;

		n += (size_t)sprintf(
			text + n,
			".visible .entry kernel_%zu(.param .u64 p)\n{\n\t.reg .f32 %%f<9>; .reg .pred %%p<2>;"
			"\n\t.reg .b64 %%rd<9>; .reg .b32 %%r<3>;\n\tmov.u32 %%r1, %%ctaid.x;\n\tmov.u32 %%r2, %%tid.x;\n",
			k);
		for (unsigned i = 0; n < stop; i++) {
			n += (size_t)sprintf(text + n, "%s", step);
			if (i % 8 == 0)
				n += (size_t)sprintf(
					text + n,
					"\tsetp.lt.u32 %%p1, %%r2, %u;\n\t@%%p1 bra $L_%u;\n\tbar.sync 0;\n$L_%u:\n",
					i, i, i);
		}
		n += (size_t)sprintf(text + n, "\tret;\n}\n");
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	t = ptx_transformed_of(text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	seconds =
		(double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
	print_message("%zu bytes, %u kernels: %.3f s, %.0f MB/s\n", n, t->nkernel, seconds,
		      (double)n / 1e6 / seconds);
	assert_int_equal(t->nkernel, kernels);
	assert_true(seconds < 5);
	ptx_transformed_free(t);
	free(text);
}

/* A function that reads the index below very many others: no recursion, and all of them are cloned.
 */
static void deep_calls(void **state)
{
	enum { DEEP = 200000 };
	size_t size = DEEP * 40ul + 300, n = 0;
	char *text = malloc(size);
	struct ptx_transformed *t;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text,
			     PTX_HEAD ".func f0() { .reg .b32 r; mov.u32 r, %%ctaid.x; ret; }\n");
	for (unsigned i = 1; i <= DEEP; i++)
		n += (size_t)sprintf(text + n, ".func f%u() { call f%u; ret; }\n", i, i - 1);
	sprintf(text + n, ".entry k() { call f%u; ret; }\n", (unsigned)DEEP);
	t = ptx_transformed_of(text);
	assert_int_equal(t->kernel[0].transform, PTX_TRANSFORM_PERSISTENT);
	assert_non_null(strstr(t->text, ".func f1__gpushare_i("));
	ptx_transformed_free(t);
	free(text);
}

/* One kernel with very many branches must not take time beyond its length. */
static void many_branches(void **state)
{
	size_t count = 40000, n = 0;
	char *text = malloc(count * 80 + 1000);
	struct timespec begin, end;
	struct ptx_transformed *t;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, "%s",
			     PTX_HEAD ".entry k() { " PTX_REGS "mov.u32 %r1, %tid.x;\n");
	for (size_t i = 0; i < count; i++)
		n += (size_t)sprintf(
			text + n,
			"setp.eq.u32 %%p1, %%r1, %zu; @%%p1 bra L%zu;\nL%zu: bar.sync 0;\n", i,
			(i * 7919) % count, i);
	sprintf(text + n, "ret; }\n");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	t = ptx_transformed_of(text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(t->nkernel, 1);
	assert_true(end.tv_sec - begin.tv_sec < 5);
	ptx_transformed_free(t);
	free(text);
}

int test_ptx_large(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_calls),
		cmocka_unit_test(large_module),
		cmocka_unit_test(many_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
