/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose module an image is, and which are too large (shim/origin.h). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/origin.h"
#include "device/shim/shim.h"

void *shim_real(enum shim_fn fn)
{
	fail_msg("the driver is not asked, %d", (int)fn);
	return NULL;
}

static const char own_text[] = "in the program";
static char own_data[100000]; /* beyond what is in the file */

static void places(void **state)
{
	void *heap = malloc(10), *library = dlsym(RTLD_DEFAULT, "qsort");
	int stack;

	(void)state;
	assert_non_null(library);
	assert_int_equal(shim_place_of(own_text), SHIM_PLACE_PROGRAM);
	assert_int_equal(shim_place_of(own_data + sizeof(own_data) - 1), SHIM_PLACE_PROGRAM);
	assert_int_equal(shim_place_of((void *)(uintptr_t)places), SHIM_PLACE_PROGRAM);
	assert_int_equal(shim_place_of(library), SHIM_PLACE_LIBRARY);
	assert_int_equal(shim_place_of(dlsym(RTLD_DEFAULT, "environ")), SHIM_PLACE_LIBRARY);
	assert_int_equal(shim_place_of(heap), SHIM_PLACE_MEMORY);
	assert_int_equal(shim_place_of(&stack), SHIM_PLACE_MEMORY);
	assert_int_equal(shim_place_of(NULL), SHIM_PLACE_MEMORY);
	free(heap);
}

/* Where the image lies decides; if that says nothing, who brings it. */
static void reasons(void **state)
{
	static const struct {
		enum shim_place image, caller;
		enum ptx_reason why;
	} c[] = {
		{ SHIM_PLACE_PROGRAM, SHIM_PLACE_PROGRAM, PTX_REASON_NONE },
		{ SHIM_PLACE_PROGRAM, SHIM_PLACE_LIBRARY,
		  PTX_REASON_NONE }, /* libcudart.so passes it on */
		{ SHIM_PLACE_PROGRAM, SHIM_PLACE_MEMORY, PTX_REASON_NONE },
		{ SHIM_PLACE_LIBRARY, SHIM_PLACE_PROGRAM, PTX_REASON_LIBRARY },
		{ SHIM_PLACE_LIBRARY, SHIM_PLACE_LIBRARY, PTX_REASON_LIBRARY },
		{ SHIM_PLACE_LIBRARY, SHIM_PLACE_MEMORY, PTX_REASON_LIBRARY },
		{ SHIM_PLACE_MEMORY, SHIM_PLACE_PROGRAM, PTX_REASON_NONE },
		{ SHIM_PLACE_MEMORY, SHIM_PLACE_LIBRARY, PTX_REASON_LIBRARY },
		{ SHIM_PLACE_MEMORY, SHIM_PLACE_MEMORY, PTX_REASON_LIBRARY },
	};
	void *library = dlsym(RTLD_DEFAULT, "qsort"), *heap = malloc(10);

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		assert_int_equal(shim_origin_reason(c[i].image, c[i].caller), c[i].why);
	assert_int_equal(shim_origin(own_text, library), PTX_REASON_NONE);
	assert_int_equal(shim_origin(library, own_text), PTX_REASON_LIBRARY);
	assert_int_equal(shim_origin(heap, own_text), PTX_REASON_NONE);
	assert_int_equal(shim_origin(heap, library), PTX_REASON_LIBRARY);
	assert_int_equal(shim_origin(NULL, own_text), PTX_REASON_NONE); /* a file */
	assert_int_equal(shim_origin(NULL, library), PTX_REASON_LIBRARY);
	free(heap);
}

/* Entries, and not what only has that in it. */
static void sizes(void **state)
{
	static char text[SHIM_MODULE_PTX_MAX + 2];
	char *at = text;

	(void)state;
	assert_int_equal(shim_is_large("", 0), 0);
	assert_int_equal(shim_is_large(".entry", 6), 0);
	for (int i = 0; i < SHIM_MODULE_KERNELS_MAX; i++)
		at += sprintf(at, ".visible .entry k%d() { call .entryway; }\n", i);
	assert_int_equal(shim_is_large(text, strlen(text)), 0);
	at += sprintf(at, ".entry\tlast() {}\n");
	assert_int_equal(shim_is_large(text, strlen(text)), 1);
	assert_int_equal(shim_is_large(text, strlen(text) - 12), 0);
	memset(text, ' ', sizeof(text));
	assert_int_equal(shim_is_large(text, SHIM_MODULE_PTX_MAX), 0);
	assert_int_equal(shim_is_large(text, SHIM_MODULE_PTX_MAX + 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(reasons),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
