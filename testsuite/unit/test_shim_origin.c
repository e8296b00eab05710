/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the dynamic linker has mapped stays where it is; everything else may be gone any moment. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/shim/base/origin.h"
#include "device/shim/base/shim.h"

void *shim_slot[SHIM_FN_COUNT];

/* No driver is asked here. */
void *shim_real(enum shim_fn fn)
{
	(void)fn;
	return NULL;
}

static const char own_text[] = ".version 7.0";
static char own_data[64] = { 1 };

static void objects_and_memory(void **unused)
{
	char stack = 0, *heap = malloc(64);

	(void)unused;
	assert_true(shim_is_in_object(own_text));
	assert_true(shim_is_in_object(own_data + sizeof(own_data) - 1));
	assert_true(shim_is_in_object((void *)(uintptr_t)objects_and_memory));
	assert_true(shim_is_in_object(dlsym(RTLD_DEFAULT, "qsort")));
	assert_true(shim_is_in_object(dlsym(RTLD_DEFAULT, "environ")));
	assert_false(shim_is_in_object(heap));
	assert_false(shim_is_in_object(&stack));
	assert_false(shim_is_in_object(NULL));
	assert_false(shim_is_in_library(own_text));
	assert_false(shim_is_in_library((void *)(uintptr_t)objects_and_memory));
	assert_true(shim_is_in_library(dlsym(RTLD_DEFAULT, "qsort")));
	assert_false(shim_is_in_library(heap));
	assert_false(shim_is_in_library(&stack));
	free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(objects_and_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
