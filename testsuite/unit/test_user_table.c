/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table for all users in which none pushes out what others have. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/user_table.h"

#define NONE GS_USER_TABLE_NONE

static uint32_t add(struct gs_user_table *t, uint64_t user, uint64_t key)
{
	int is_new;

	return gs_user_table_add(t, user, key, &is_new);
}

static int has(const struct gs_user_table *t, uint64_t user, uint64_t key)
{
	return gs_user_table_find(t, user, key) != NONE;
}

static void keys_have_places_of_their_own(void **state)
{
	struct gs_user_table *t = gs_user_table_create(3);
	int is_new;

	(void)state;
	assert_int_equal(gs_user_table_find(t, 1, 7), NONE);
	assert_int_equal(gs_user_table_add(t, 1, 7, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(gs_user_table_add(t, 2, 7, &is_new), 1); /* the same key of another's */
	assert_true(is_new);
	assert_int_equal(gs_user_table_add(t, 1, 7, &is_new), 0);
	assert_false(is_new);
	assert_int_equal(gs_user_table_count(t), 2);
	gs_user_table_destroy(t);
	gs_user_table_destroy(NULL);
}

static void who_has_most_loses_what_was_unused_for_longest(void **state)
{
	struct gs_user_table *t = gs_user_table_create(4);
	uint32_t place;

	(void)state;
	add(t, 1, 1);
	place = add(t, 2, 1);
	add(t, 2, 2);
	add(t, 2, 3);
	gs_user_table_use(t, place);
	place = gs_user_table_find(t, 2, 2);
	assert_int_equal(add(t, 1, 2), place);
	assert_true(has(t, 1, 1) && has(t, 1, 2) && has(t, 2, 1) && has(t, 2, 3));
	assert_false(has(t, 2, 2));
	/* Equals: with the new one user 1 has most. */
	add(t, 1, 3);
	assert_true(has(t, 1, 3) && has(t, 1, 2) && has(t, 2, 1) && has(t, 2, 3));
	assert_false(has(t, 1, 1));
	/* A third user's first key: the oldest key of all who have most. */
	add(t, 3, 1);
	assert_false(has(t, 2, 3));
	assert_true(has(t, 1, 2) && has(t, 1, 3) && has(t, 2, 1) && has(t, 3, 1));
	gs_user_table_destroy(t);
}

#define MODEL 24

struct model {
	uint64_t user, key, used;
};

static unsigned keys_of(const struct model *m, uint64_t user)
{
	unsigned n = 0;

	for (size_t i = 0; i < MODEL; i++)
		n += m[i].used && m[i].user == user;
	return n;
}

/* As the header says it, by looking at all keys. */
static void model_add(struct model *m, uint64_t user, uint64_t key, uint64_t now)
{
	struct model *to = NULL;
	unsigned most = 0;

	for (size_t i = 0; i < MODEL; i++)
		if (m[i].used && m[i].user == user && m[i].key == key)
			to = &m[i];
	for (size_t i = 0; i < MODEL && !to; i++)
		if (!m[i].used)
			to = &m[i];
	for (size_t i = 0; i < MODEL && !(to && most == 0); i++) {
		unsigned n = keys_of(m, m[i].user) + (m[i].user == user);

		if (n > most || (n == most && m[i].used < to->used)) {
			most = n;
			to = &m[i];
		}
	}
	*to = (struct model) { user, key, now };
}

static void at_random_as_the_simple_one(void **state)
{
	struct gs_user_table *t = gs_user_table_create(MODEL);
	struct model m[MODEL] = { { 0 } };

	(void)state;
	srand(1);
	for (uint64_t now = 1; now <= 20000; now++) {
		uint64_t user = (uint64_t)rand() % (1 + now / 400);
		uint64_t key = (uint64_t)rand() % 20;

		add(t, user, key);
		model_add(m, user, key, now);
		for (size_t i = 0; i < MODEL; i++)
			assert_true(!m[i].used || has(t, m[i].user, m[i].key));
		assert_true(gs_user_table_count(t) <= MODEL);
	}
	gs_user_table_destroy(t);
}

/* The event loop adds keys, so a new one in a full table takes far below a millisecond. */
static void it_is_quick(void **state)
{
	enum { MOST = 16384 };
	struct gs_user_table *t = gs_user_table_create(MOST);
	uint64_t begun;

	(void)state;
	for (uint64_t user = 0; user < MOST; user++)
		add(t, user, 1);
	begun = gs_clock_ns();
	for (uint64_t key = 2; key < 1002; key++)
		add(t, key % 3, key);
	begun = gs_clock_ns() - begun;
	print_message("%.1f us for a new key beside %d users\n", (double)begun / 1e6, MOST);
	assert_true(begun < 1000 * GS_NS_PER_MS);
	gs_user_table_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_places_of_their_own),
		cmocka_unit_test(who_has_most_loses_what_was_unused_for_longest),
		cmocka_unit_test(at_random_as_the_simple_one),
		cmocka_unit_test(it_is_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
