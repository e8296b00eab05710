/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nobody's steps take all places for steps. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/steps/places.h"

static int begin(void **state)
{
	struct gs_daemon *d = calloc(1, sizeof(*d));

	TAILQ_INIT(&d->steps);
	TAILQ_INIT(&d->finished.list);
	*state = d;
	return 0;
}

static void free_all(struct gs_steps *list)
{
	struct gs_step *s;

	while ((s = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, s, link);
		free(s);
	}
}

static int end(void **state)
{
	struct gs_daemon *d = *state;

	free_all(&d->steps);
	free_all(&d->finished.list);
	free(d);
	return 0;
}

static struct gs_step *new_step(uid_t uid, uint32_t job)
{
	struct gs_step *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->info.uid = uid;
	s->info.job_id = job;
	return s;
}

/* So many steps of the user end, with the numbers of the jobs from `job` on. */
static void finish(struct gs_daemon *d, uid_t uid, uint32_t job, unsigned n)
{
	while (n--)
		free(gs_places_finished(d, new_step(uid, job++)));
}

static unsigned finished_of(const struct gs_daemon *d, uid_t uid)
{
	const struct gs_step *s;
	unsigned n = 0;

	TAILQ_FOREACH (s, &d->finished.list, link)
		n += s->info.uid == uid;
	return n;
}

static int is_kept(const struct gs_daemon *d, uint32_t job)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->finished.list, link)
		if (s->info.job_id == job)
			return 1;
	return 0;
}

/* 1,100 empty steps in less than a second, and the figures of another user's job were gone. */
static void empty_steps_push_out_their_users_own(void **state)
{
	struct gs_daemon *d = *state;

	finish(d, 1, 1, 3);
	finish(d, 2, 1001, 2 * GS_FINISHED_MAX);
	assert_int_equal(finished_of(d, 1), 3);
	assert_int_equal(finished_of(d, 2), GS_FINISHED_MAX - 3);
	assert_int_equal(d->finished.n, GS_FINISHED_MAX);
	/* Of that user the latest ones. */
	assert_false(is_kept(d, 1000 + GS_FINISHED_MAX + 3));
	assert_true(is_kept(d, 1000 + GS_FINISHED_MAX + 4));
	assert_true(is_kept(d, 1000 + 2 * GS_FINISHED_MAX));
	/* Another one has room again, up to equal parts. */
	finish(d, 1, 4, 2 * GS_FINISHED_MAX);
	assert_int_equal(finished_of(d, 1), GS_FINISHED_MAX / 2);
	assert_int_equal(finished_of(d, 2), GS_FINISHED_MAX / 2);
}

static void one_users_latest_stay(void **state)
{
	struct gs_daemon *d = *state;

	finish(d, 1, 1, GS_FINISHED_MAX);
	assert_true(is_kept(d, 1));
	finish(d, 1, GS_FINISHED_MAX + 1, 1);
	assert_false(is_kept(d, 1));
	assert_true(is_kept(d, 2));
	assert_true(is_kept(d, GS_FINISHED_MAX + 1));
}

/* The latest one is never the one that goes, and the event loop does not take long for it. */
static void as_many_users_as_places(void **state)
{
	struct gs_daemon *d = *state;
	uint64_t begun;

	for (uint32_t i = 1; i <= GS_FINISHED_MAX; i++)
		finish(d, i, i, 1);
	begun = gs_clock_ns();
	for (uint32_t i = 1; i <= 100; i++)
		finish(d, GS_FINISHED_MAX + i, GS_FINISHED_MAX + i, 1);
	begun = gs_clock_ns() - begun;
	print_message("%.0f us for each step that ends\n", (double)begun / 1e5);
	assert_true(begun < 1000 * GS_NS_PER_MS);
	assert_false(is_kept(d, 100));
	assert_true(is_kept(d, 101));
	assert_true(is_kept(d, GS_FINISHED_MAX + 100));
}

/* The user begins steps until one is refused, or all are begun; how many. */
static unsigned begin_steps(struct gs_daemon *d, uid_t uid, unsigned n, struct gs_error *err)
{
	unsigned begun = 0;

	while (begun < n && gs_places_admit(d, uid, err) == 0) {
		struct gs_step *s = new_step(uid, 1);

		TAILQ_INSERT_TAIL(&d->steps, s, link);
		begun++;
	}
	return begun;
}

/* One job's 1,024 steps, by srun --overlap, and others' jobs did not start. */
static void one_user_leaves_places(void **state)
{
	struct gs_daemon *d = *state;
	struct gs_error err;

	assert_int_equal(begin_steps(d, 1, GS_STEPS_MAX, &err), GS_STEPS_MAX - GS_STEPS_LAST);
	assert_string_equal(err.text, "uid 1 has 768 steps here, and the last 256 of 1024 places "
				      "are for users who have fewer");
	/* Each further one gets half of what is left, and a tenth one still gets a place. */
	for (unsigned uid = 2, gets = GS_STEPS_LAST / 2; uid <= 10; uid++) {
		assert_int_equal(begin_steps(d, uid, GS_STEPS_MAX, &err), gets);
		gets = gets > 1 ? gets / 2 : 1;
	}
	assert_int_equal(begin_steps(d, 11, 1, &err), 0);
	assert_string_equal(err.text, "there are 1024 steps already");
	assert_int_equal(begin_steps(d, 0, 1, &err), 0);
}

static void root_may_have_all_that_is_free(void **state)
{
	struct gs_daemon *d = *state;
	struct gs_error err;

	assert_int_equal(begin_steps(d, 1, GS_STEPS_MAX, &err), GS_STEPS_MAX - GS_STEPS_LAST);
	assert_int_equal(begin_steps(d, 0, GS_STEPS_MAX, &err), GS_STEPS_LAST);
}

/* A daemon that comes back reads its steps in their order, those that have ended missing. */
static void what_was_allowed_is_allowed_again(void **state)
{
	struct gs_daemon *d = *state;
	struct gs_steps before;
	struct gs_step *s;
	struct gs_error err;

	TAILQ_INIT(&before);
	srand(1);
	for (int i = 0; i < 20000; i++) {
		uid_t uid = 1 + (uid_t)(rand() % 40) * (uid_t)(rand() % 40) / 100;

		if (rand() % 8 == 0 && (s = TAILQ_FIRST(&d->steps))) {
			for (int n = rand() % 900; n && TAILQ_NEXT(s, link); n--)
				s = TAILQ_NEXT(s, link);
			TAILQ_REMOVE(&d->steps, s, link);
			free(s);
		}
		begin_steps(d, uid, 1, &err);
	}
	TAILQ_CONCAT(&before, &d->steps, link);
	while ((s = TAILQ_FIRST(&before))) {
		TAILQ_REMOVE(&before, s, link);
		assert_int_equal(gs_places_admit(d, s->info.uid, &err), 0);
		TAILQ_INSERT_TAIL(&d->steps, s, link);
	}
}

#define PLACES(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACES(empty_steps_push_out_their_users_own),
		PLACES(one_users_latest_stay),
		PLACES(as_many_users_as_places),
		PLACES(one_user_leaves_places),
		PLACES(root_may_have_all_that_is_free),
		PLACES(what_was_allowed_is_allowed_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
