/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reservations and what clients hold of them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/memory/ledger.h"

#define MIB (UINT64_C(1) << 20)

static int setup(void **state)
{
	*state = gs_ledger_create(1000 * MIB);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	gs_ledger_destroy(*state);
	return 0;
}

static void reservations_fit_the_gpu(void **state)
{
	struct gs_ledger *l = *state;
	struct gs_error err;

	assert_int_equal(gs_ledger_capacity(l), 1000 * MIB);
	assert_int_equal(gs_ledger_reserve(l, 1, 600 * MIB, &err), 0);
	assert_int_equal(gs_ledger_reserve(l, 2, 401 * MIB, &err), -1);
	assert_non_null(strstr(err.text, "400 of 1000 MiB"));
	assert_int_equal(gs_ledger_reserve(l, 2, 400 * MIB + 1, &err), -1);
	assert_non_null(strstr(err.text, "401 MiB do not fit"));
	assert_int_equal(gs_ledger_reserve(l, 1, MIB, &err), -1);
	assert_non_null(strstr(err.text, "already"));
	assert_int_equal(gs_ledger_reserve(l, 3, 0, &err), -1);
	assert_int_equal(gs_ledger_reserve(l, 3, UINT64_MAX, &err), -1);
	assert_int_equal(gs_ledger_reserve(l, 2, 400 * MIB, &err), 0);
	assert_int_equal(gs_ledger_reserved(l), 1000 * MIB);
	gs_ledger_release(l, 1);
	assert_int_equal(gs_ledger_reserved(l), 400 * MIB);
	assert_int_equal(gs_ledger_reservation(l, 1), 0);
	gs_ledger_release(l, 1);
	assert_int_equal(gs_ledger_reserved(l), 400 * MIB);
}

static void a_step_stays_within_its_reservation(void **state)
{
	struct gs_ledger *l = *state;

	gs_ledger_reserve(l, 1, 10 * MIB, NULL);
	assert_int_equal(gs_ledger_alloc(l, 9, 1, 1), -1);
	assert_int_equal(gs_ledger_alloc(l, 1, 1, 6 * MIB), 1);
	assert_int_equal(gs_ledger_alloc(l, 1, 2, 4 * MIB + 1), 0);
	assert_int_equal(gs_ledger_alloc(l, 1, 2, UINT64_MAX), 0);
	assert_int_equal(gs_ledger_alloc(l, 1, 2, 4 * MIB), 1);
	assert_int_equal(gs_ledger_alloc(l, 1, 2, 1), 0);
	assert_int_equal(gs_ledger_used(l, 1), 10 * MIB);
	gs_ledger_free(l, 1, 2, MIB);
	assert_int_equal(gs_ledger_used(l, 1), 9 * MIB);
	assert_int_equal(gs_ledger_peak(l, 1), 10 * MIB);
	/* More than it holds: nothing of the neighbour's is given back. */
	gs_ledger_free(l, 1, 2, UINT64_MAX);
	assert_int_equal(gs_ledger_used(l, 1), 6 * MIB);
	gs_ledger_free(l, 1, 77, MIB);
	gs_ledger_free(l, 77, 1, MIB);
	assert_int_equal(gs_ledger_used(l, 1), 6 * MIB);
	gs_ledger_client_gone(l, 1, 1);
	assert_int_equal(gs_ledger_used(l, 1), 0);
	gs_ledger_client_gone(l, 1, 1);
	gs_ledger_client_gone(l, 77, 1);
	assert_int_equal(gs_ledger_used(l, 1), 0);
}

static void an_adopted_client_may_be_above_it(void **state)
{
	struct gs_ledger *l = *state;

	gs_ledger_reserve(l, 1, 10 * MIB, NULL);
	assert_int_equal(gs_ledger_adopt(l, 2, 1, MIB), -1);
	assert_int_equal(gs_ledger_adopt(l, 1, 1, 12 * MIB), 0);
	assert_int_equal(gs_ledger_used(l, 1), 12 * MIB);
	assert_int_equal(gs_ledger_alloc(l, 1, 1, 1), 0);
	gs_ledger_free(l, 1, 1, 3 * MIB);
	assert_int_equal(gs_ledger_alloc(l, 1, 1, MIB), 1);
	assert_int_equal(gs_ledger_alloc(l, 1, 1, 1), 0);
	/* What all say of themselves is bounded by the GPU. */
	assert_int_equal(gs_ledger_adopt(l, 1, 2, UINT64_MAX), 0);
	assert_int_equal(gs_ledger_adopt(l, 1, 3, UINT64_MAX), 0);
	assert_int_equal(gs_ledger_used(l, 1), 1000 * MIB);
	assert_int_equal(gs_ledger_peak(l, 1), 1000 * MIB);
	gs_ledger_client_gone(l, 1, 3);
	gs_ledger_client_gone(l, 1, 2);
	assert_int_equal(gs_ledger_used(l, 1), 10 * MIB);
}

/* Random operations against a model that is an array. */
static void random_operations_balance(void **state)
{
	struct gs_ledger *l = *state;
	uint64_t held[4][4] = { { 0 } }, reserved[4] = { 0 };

	srandom(7);
	for (int i = 0; i < 200000; i++) {
		unsigned s = (unsigned)random() % 4, c = (unsigned)random() % 4;
		uint64_t bytes = (uint64_t)(random() % 64) * MIB, used = 0, all = 0;

		for (int k = 0; k < 4; k++) {
			used += held[s][k];
			all += reserved[k];
		}
		switch (random() % 5) {
		case 0: {
			int fits = !reserved[s] && bytes && bytes * 8 <= 1000 * MIB - all;

			assert_int_equal(gs_ledger_reserve(l, s, bytes * 8, NULL), fits ? 0 : -1);
			if (fits)
				reserved[s] = bytes * 8;
			break;
		}
		case 1: {
			int fits = used + bytes <= reserved[s];

			assert_int_equal(gs_ledger_alloc(l, s, c, bytes), reserved[s] ? fits : -1);
			if (reserved[s] && fits)
				held[s][c] += bytes;
			break;
		}
		case 2:
			gs_ledger_free(l, s, c, bytes);
			held[s][c] -= bytes < held[s][c] ? bytes : held[s][c];
			break;
		case 3:
			gs_ledger_client_gone(l, s, c);
			held[s][c] = 0;
			break;
		default:
			if (random() % 20)
				break;
			gs_ledger_release(l, s);
			reserved[s] = 0;
			memset(held[s], 0, sizeof(held[s]));
		}
		used = 0;
		for (int k = 0; k < 4; k++)
			used += held[s][k];
		assert_int_equal(gs_ledger_used(l, s), used);
		assert_int_equal(gs_ledger_reservation(l, s), reserved[s]);
		assert_true(gs_ledger_reserved(l) <= gs_ledger_capacity(l));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reservations_fit_the_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(a_step_stays_within_its_reservation, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_adopted_client_may_be_above_it, setup, teardown),
		cmocka_unit_test_setup_teardown(random_operations_balance, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
