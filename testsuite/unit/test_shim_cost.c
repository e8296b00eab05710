/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a variant costs over the kernel as written, and when that is too much. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/variant/variant.h"
#include "fake_driver.h"
#include "modules_rig.h"

/* It is worth it while it costs little, and more where somebody waits. */
static void what_costs_too_much(void **unused)
{
	struct shim_variant v = { .f = FAKE_VARIANT };
	struct shim_code code = { .name = (char *)(uintptr_t) "k" };

	(void)unused;
	code.variants = &v;
	assert_true(shim_variant_pays(&v, 0));
	for (int i = 0; i < 4; i++) {
		assert_true(shim_variant_pays(&v, 0));
		/* The variant's first launch is cold, and another context interrupts the last one
		 * as written. */
		shim_variant_timed(&code, NULL, 0, 77, i ? 1020 + i : 9000);
		shim_variant_timed(&code, NULL, 1, 77, i < 3 ? 1000 : 1300);
	}
	assert_int_equal(v.cost.written_ps, 1000);
	assert_int_equal(v.cost.variant_ps, 1021);
	assert_true(shim_variant_pays(&v, 0));
	/* Later ones found another GPU. */
	shim_variant_timed(&code, NULL, 0, 77, 500);
	assert_int_equal(v.cost.variant_ps, 1021);
	v.cost.variant_ps = 1040;
	assert_false(shim_variant_pays(&v, 0));
	assert_true(shim_variant_pays(&v, 1));
	v.cost.variant_ps = 1510;
	assert_false(shim_variant_pays(&v, 1));
}

/* One that is launched with several block dimensions in turn is compared with the first ones, and
 * with others once it is launched with those for good. */
static void compared_with_the_same_dimensions(void **unused)
{
	struct shim_variant v = { .f = FAKE_VARIANT };
	struct shim_code code = { .name = (char *)(uintptr_t) "k" };
	int i;

	(void)unused;
	code.variants = &v;
	/* As launches do it: each is asked of, and timed as it went out. */
	for (i = 0; i < 100 && !shim_variant_is_compared(&v); i++) {
		int as_written = shim_variant_compares(&v, 77);

		shim_variant_timed(&code, NULL, as_written, 77, as_written ? 1000 : 1100);
		as_written = shim_variant_compares(&v, 78);
		shim_variant_timed(&code, NULL, as_written, 78, 5000);
	}
	assert_int_equal(i, 8);
	assert_int_equal(v.cost.dims, 77);
	assert_int_equal(v.cost.written_ps, 1000);
	assert_int_equal(v.cost.variant_ps, 1100);
	v.cost = (struct shim_cost) { .dims = 77, .written_ps = 1000, .writtens = 1 };
	for (i = 0; i < 4; i++) {
		assert_int_equal(v.cost.dims, 77);
		shim_variant_timed(&code, NULL, 1, 78, 5000);
	}
	assert_int_equal(v.cost.dims, 78);
	assert_int_equal(v.cost.written_ps, 5000);
	assert_int_equal(v.cost.writtens, 1);
}

/* Until both are known timed launches take turns, for a while. */
static void compared_in_turns(void **unused)
{
	struct shim_variant v = { .f = FAKE_VARIANT };
	struct shim_code code = { .name = (char *)(uintptr_t) "k" };
	int as_written = 0;

	(void)unused;
	code.variants = &v;
	assert_false(shim_variant_compares(&v, 77));
	shim_variant_timed(&code, NULL, 0, 77, 1000);
	assert_true(shim_variant_compares(&v, 77));
	shim_variant_timed(&code, NULL, 1, 77, 2000);
	for (int i = 0; i < 100; i++)
		as_written += shim_variant_compares(&v, 77);
	assert_int_equal(as_written, SHIM_COMPARED / 2 - 1);
	v.cost = (struct shim_cost) { .dims = 78 };
	for (int i = 0; i < 4; i++) {
		shim_variant_timed(&code, NULL, 0, 78, 1000);
		shim_variant_timed(&code, NULL, 1, 78, 1000);
	}
	for (int i = 0; i < 4; i++)
		assert_false(shim_variant_compares(&v, 78));
}

/* A program launches the kernel in pairs of which the first takes longer, whichever way it goes
 * out. */
static void compared_in_pairs(void **unused)
{
	(void)unused;
	for (int odd = 0; odd < 2; odd++) {
		struct shim_variant v = { .f = FAKE_VARIANT };
		struct shim_code code = { .name = (char *)(uintptr_t) "k" };

		code.variants = &v;
		for (int i = odd; !shim_variant_is_compared(&v); i++) {
			int as_written = shim_variant_compares(&v, 77);
			uint64_t ps = (i % 2 ? 1000 : 1070) + (as_written ? 0 : 10);

			assert_true(i < SHIM_COMPARED);
			/* its first launch brings its code to the GPU */
			shim_variant_timed(&code, NULL, as_written, 77, i == odd ? 9000 : ps);
		}
		assert_int_equal(v.cost.written_ps, 1000);
		assert_int_equal(v.cost.variant_ps, 1010);
	}
}

int shim_cost(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_costs_too_much),
		cmocka_unit_test(compared_in_turns),
		cmocka_unit_test(compared_in_pairs),
		cmocka_unit_test(compared_with_the_same_dimensions),
	};

	return cmocka_run_group_tests_name("cost", tests, NULL, NULL);
}
