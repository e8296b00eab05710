/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of kernels that ran before: the table, its file, and a launch that does not tell its
 * length. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif
#include "gpushare/daemon/history/history_db.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/arbiter/watch.h"

static void keys_differ_by_user_program_kernel_and_form(void **state)
{
	uint64_t key = gs_learned_key(1, 0, "a", "bc");

	(void)state;
	assert_int_equal(key, gs_learned_key(1, 0, "a", "bc"));
	assert_int_not_equal(key, gs_learned_key(2, 0, "a", "bc"));
	assert_int_not_equal(key, gs_learned_key(1, 0, "ab", "c"));
	assert_int_not_equal(key, gs_learned_key(1, 0, "a", "bd"));
	assert_int_not_equal(key, 0);
}

/* With the content known the program's name does not matter; the blocks always do. */
static void keys_by_content_and_dims(void **state)
{
	uint64_t key = gs_learned_key(1, 99, "a", "k");
	uint32_t dims = gs_slot_dims(256, 1, 1, 0);

	(void)state;
	assert_int_equal(key, gs_learned_key(1, 99, "another", "k"));
	assert_int_not_equal(key, gs_learned_key(1, 98, "a", "k"));
	assert_int_not_equal(key, gs_learned_key(1, 0, "a", "k"));
	assert_int_not_equal(key, gs_learned_key(2, 99, "a", "k"));
	assert_int_not_equal(key, gs_learned_key(1, 99, "a", "l"));
	assert_int_not_equal(gs_learned_of_dims(key, dims), gs_learned_of_dims(key, 0));
	assert_int_equal(gs_learned_of_dims(0, dims), 0);
	/* No text makes another user's key. */
	assert_int_equal(key >> 32, 1);
	assert_int_equal(gs_learned_of_dims(key, dims) >> 32, 1);
	assert_int_equal(gs_learned_key(4711, 98, "a", "k") >> 32, 4711);
	assert_int_equal(gs_learned_of_dims(gs_learned_key(4711, 98, "a", "k"), dims) >> 32, 4711);
	assert_int_equal(gs_slot_dims(0, 0, 0, 0), 0);
	assert_int_equal(dims & ~0xffffu, 0);
	assert_int_not_equal(dims, gs_slot_dims(128, 2, 1, 0));
	assert_int_not_equal(dims, gs_slot_dims(1, 256, 1, 0));
	assert_int_not_equal(gs_slot_dims(16, 16, 1, 0), gs_slot_dims(16, 1, 16, 0));
	assert_int_not_equal(dims, gs_slot_dims(256, 1, 1, 1));
	assert_int_not_equal(gs_slot_dims(256, 1, 1, 2), gs_slot_dims(256, 1, 1, 1));
}

static void a_time_is_kept_and_follows_the_news(void **state)
{
	struct gs_learned *l = gs_learned_create();
	struct gs_learned_entry e[4];

	(void)state;
	assert_int_equal(gs_learned_find(l, 7), 0);
	gs_learned_note(l, 7, 1000);
	assert_int_equal(gs_learned_find(l, 7), 1000);
	gs_learned_note(l, 7, 2000);
	assert_int_equal(gs_learned_find(l, 7), 1250);
	gs_learned_note(l, 8, 5);
	gs_learned_note(l, 9, 0);
	gs_learned_note(l, 9, UINT64_MAX);
	assert_int_equal(gs_learned_find(l, 9), 0);
	assert_int_equal(gs_learned_news(l, e, 4), 2);
	assert_int_equal(gs_learned_news(l, e, 4), 0);
	/* What the file says is no news, and does not undo what is known. */
	gs_learned_restore(l, &(struct gs_learned_entry) { 7, 1 });
	gs_learned_restore(l, &(struct gs_learned_entry) { 10, 77 });
	assert_int_equal(gs_learned_find(l, 7), 1250);
	assert_int_equal(gs_learned_find(l, 10), 77);
	assert_int_equal(gs_learned_news(l, e, 4), 0);
	gs_learned_destroy(l);
}

static void it_is_bounded_and_what_is_used_stays(void **state)
{
	struct gs_learned *l = gs_learned_create();
	struct gs_learned_entry *all = calloc(2 * GS_LEARNED_MAX, sizeof(*all));
	size_t kept = 0, news;

	(void)state;
	for (uint64_t k = 1; k <= 3 * GS_LEARNED_MAX; k++) {
		gs_learned_note(l, k * UINT64_C(0x9E3779B97F4A7C15), k);
		gs_learned_note(l, 5, 1000);
	}
	for (uint64_t k = 1; k <= 3 * GS_LEARNED_MAX; k++)
		kept += gs_learned_find(l, k * UINT64_C(0x9E3779B97F4A7C15)) != 0;
	assert_true(kept <= GS_LEARNED_MAX && kept > GS_LEARNED_MAX / 2);
	assert_int_equal(gs_learned_find(l, 5), 1000);
	news = gs_learned_news(l, all, 2 * GS_LEARNED_MAX);
	assert_int_equal(news, kept + 1);
	free(all);
	gs_learned_destroy(l);
}

static uint64_t of(uint32_t uid, uint32_t kernel)
{
	return (uint64_t)uid << 32 | kernel;
}

/* A client that made up kernels for 12 s had all places, and others' first launches were not
 * predicted. */
static void nobody_forgets_anothers(void **state)
{
	struct gs_learned *l = gs_learned_create();

	(void)state;
	for (uint32_t k = 1; k <= 100; k++)
		gs_learned_note(l, of(1, k), 1000);
	/* Their keys are as those that would have fallen into the same places. */
	for (uint32_t k = 1; k <= 2 * GS_LEARNED_MAX; k++)
		gs_learned_note(l, of(2, k), 5);
	for (uint32_t k = 1; k <= 100; k++)
		assert_int_equal(gs_learned_find(l, of(1, k)), 1000);
	assert_int_equal(gs_learned_find(l, of(2, 1)), 0);
	assert_int_equal(gs_learned_find(l, of(2, 2 * GS_LEARNED_MAX)), 5);
	/* A third user's file entries come in, too. */
	gs_learned_restore(l, &(struct gs_learned_entry) { of(3, 1), 77 });
	assert_int_equal(gs_learned_find(l, of(3, 1)), 77);
	gs_learned_destroy(l);
}

/* A slot of a launch: the first of a kernel does not tell what it takes. */
static void a_first_launch_is_predicted(void **state)
{
	static struct gs_page page;
	static struct gs_poll poll;
	uint64_t tpt_ps[2] = { 0, 50 * 1000 };
	struct gs_watch w = { .tpt_ps = tpt_ps, .kernels = 2 };

	(void)state;
	gs_page_store(page.slot[0].kernel, 1);
	gs_page_store(page.slot[0].nt, 4000);
	gs_page_store(page.slot[0].seq, 1);
	gs_page_store(page.slot[0].state, GS_K_READY);
	gs_watch_poll(&w, &page, 1, &poll);
	assert_int_equal(poll.alone_ns, 4000 * 50);
	assert_int_equal(poll.nevents, 1);
	assert_int_equal(poll.event[0].tpt_ps, 0); /* nothing is learned from a prediction */
	gs_page_store(page.slot[0].alone_ns, 80000);
	gs_page_store(page.slot[0].seq, 2);
	gs_watch_poll(&w, &page, 2, &poll);
	assert_int_equal(poll.event[poll.nevents - 1].kind, GS_EV_LAUNCHED);
	assert_int_equal(poll.event[poll.nevents - 1].tpt_ps, 20 * 1000);
	/* A number beyond all and a kernel never seen: unknown. */
	gs_page_store(page.slot[0].alone_ns, 0);
	gs_page_store(page.slot[0].kernel, 77);
	gs_page_store(page.slot[0].seq, 3);
	gs_watch_period_end(&w);
	gs_watch_poll(&w, &page, 3, &poll);
	assert_int_equal(poll.event[poll.nevents - 1].alone_ns, 0);
}

static unsigned count_of(const struct gs_poll *poll, enum gs_event_kind kind)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < poll->nevents; i++)
		n += poll->event[i].kind == kind;
	return n;
}

/* As the shim does it when a launch is over: 4,000 block-tasks in 200 us. */
static void reclaimed(struct gs_slot *s, uint64_t ns)
{
	gs_page_store(s->state, GS_K_DONE);
	gs_page_store(s->alone_ns, ns);
	gs_page_store(s->flags, gs_page_load(s->flags) | GS_SLOT_TIMED);
	gs_page_store(s->state, GS_K_PREP);
}

/* Its only launch, seen on the GPU and then over: it has not told before, and is counted once. */
static void a_measured_launch_is_learned_from_once(void **state)
{
	static struct gs_page page;
	static struct gs_poll poll;
	static struct gs_watch w, next;
	struct gs_slot *s = &page.slot[0];

	(void)state;
	gs_page_store(s->nt, 4000);
	gs_page_store(s->flags, 7u << GS_SLOT_DIMS_SHIFT);
	gs_page_store(s->state, GS_K_READY);
	gs_watch_poll(&w, &page, 1, &poll);
	assert_int_equal(poll.launches, 1);
	assert_int_equal(poll.event[0].tpt_ps, 0);
	reclaimed(s, 200000);
	gs_watch_poll(&w, &page, 2, &poll);
	assert_int_equal(poll.launches, 0);
	assert_int_equal(count_of(&poll, GS_EV_LAUNCHED), 0);
	assert_int_equal(count_of(&poll, GS_EV_FINISHED), 1);
	assert_int_equal(count_of(&poll, GS_EV_TIMED), 1);
	assert_int_equal(poll.event[0].kind, GS_EV_TIMED);
	assert_int_equal(poll.event[0].tpt_ps, 50000);
	assert_int_equal(poll.event[0].dims, 7);
	assert_int_equal(poll.event[1].alone_ns,
			 200000); /* and its own time is what it is told by */
	gs_watch_poll(&w, &page, 3, &poll);
	assert_int_equal(poll.nevents, 0);
	gs_watch_last_poll(&w, &page, 4, &poll);
	assert_int_equal(poll.nevents, 0);
	assert_int_equal(poll.launches, 0);
	/* Nor is it news to a daemon that finds it there. */
	gs_watch_adopt(&next, &page);
	gs_watch_poll(&next, &page, 5, &poll);
	assert_int_equal(poll.nevents, 0);
	/* The flag in a launch that is not over is the client's nonsense. */
	gs_page_store(s->seq, 1);
	gs_page_store(s->state, GS_K_RUNNING);
	gs_watch_poll(&w, &page, 6, &poll);
	assert_int_equal(count_of(&poll, GS_EV_TIMED), 0);
	assert_int_equal(count_of(&poll, GS_EV_LAUNCHED), 1);
	gs_page_store(s->alone_ns, UINT64_MAX);
	reclaimed(s, UINT64_MAX);
	gs_watch_poll(&w, &page, 7, &poll);
	assert_int_equal(poll.event[0].kind, GS_EV_TIMED);
	assert_int_equal(poll.event[0].alone_ns, GS_WATCH_ALONE_MAX);
}

/* DONE was seen first, the measured time later; and what came and went unseen tells it from the
 * start. */
static void measured_after_or_before_anybody_looked(void **state)
{
	static struct gs_page page;
	static struct gs_poll poll;
	static struct gs_watch w, late;

	(void)state;
	gs_page_store(page.slot[0].nt, 1000);
	gs_page_store(page.slot[0].state, GS_K_DONE);
	gs_watch_poll(&w, &page, 1, &poll);
	assert_int_equal(count_of(&poll, GS_EV_FINISHED), 1);
	reclaimed(&page.slot[0], 3000);
	/* In the making: not to be mixed with the one before. */
	gs_page_store(page.slot[1].nt, 1);
	gs_page_store(page.slot[1].seq, 1);
	gs_watch_last_poll(&w, &page, 2, &poll);
	assert_int_equal(count_of(&poll, GS_EV_TIMED), 1);
	assert_int_equal(poll.event[0].tpt_ps, 3000);
	assert_int_equal(poll.launches, 1);

	gs_watch_last_poll(&late, &page, 3, &poll);
	assert_int_equal(poll.launches, 2);
	assert_int_equal(count_of(&poll, GS_EV_LAUNCHED), 1);
	assert_int_equal(count_of(&poll, GS_EV_TIMED), 0);
	assert_int_equal(poll.event[0].tpt_ps, 3000);
	gs_watch_poll(&late, &page, 4, &poll);
	assert_int_equal(poll.nevents, 0);
}

#define MS UINT64_C(1000000)

/* A look at a launch of 1,000 block-tasks in a state, of which so many are done. */
static const struct gs_slot_event *inspect(struct gs_watch *w, struct gs_page *page, uint32_t state,
					   uint64_t done, uint64_t ms)
{
	static struct gs_poll poll;
	struct gs_slot *s = &page->slot[0];

	gs_page_store(s->nt, 1000);
	gs_page_store(s->flags, 7u << GS_SLOT_DIMS_SHIFT | GS_SLOT_EVICTABLE);
	gs_page_store(s->done, done);
	gs_page_store(s->started, state == GS_K_RUNNING || state == GS_K_TOEVICT);
	gs_page_store(s->state, state);
	gs_watch_poll(w, page, ms * MS, &poll);
	for (uint32_t i = 0; i < poll.nevents; i++)
		if (poll.event[i].kind == GS_EV_FINISHED)
			return &poll.event[i];
	return NULL;
}

/* On the GPU from 1 to 13 ms, when it leaves, and from 40 ms until it is seen over, after a look
 * at 46. */
static const struct gs_slot_event *cut_short(struct gs_watch *w, struct gs_page *page,
					     uint64_t told_ns, uint64_t over_ms)
{
	const struct gs_slot_event *e;

	gs_page_store(page->slot[0].alone_ns, told_ns);
	inspect(w, page, GS_K_RUNNING, 0, 1);
	inspect(w, page, GS_K_RUNNING, 0, 11);
	gs_watch_evicting(w, page, 0, 11 * MS);
	inspect(w, page, GS_K_TOEVICT, 0, 12);
	assert_null(inspect(w, page, GS_K_READY, 400, 13));
	inspect(w, page, GS_K_RUNNING, 400, 40);
	inspect(w, page, GS_K_RUNNING, 400, 46);
	e = inspect(w, page, GS_K_DONE, 1000, over_ms);
	assert_non_null(e);
	assert_int_equal(e->whole_ns > 0, 1);
	inspect(w, page, GS_K_PREP, 0, over_ms + 1);
	gs_page_store(page->slot[0].seq, gs_page_load(page->slot[0].seq) + 1);
	return e;
}

/* Nobody else times a launch that was preempted. */
static void one_that_was_cut_short_is_learned_from(void **state)
{
	static struct gs_page page, found;
	static struct gs_watch w, next;
	const struct gs_slot_event *e;

	(void)state;
	e = cut_short(&w, &page, 0, 50);
	assert_int_equal(e->tpt_ps, (12 + 10) * MS);
	assert_int_equal(e->dims, 7);
	/* What is known agrees; it is far too long, or far too short. */
	assert_int_equal(cut_short(&w, &page, 15 * MS, 50)->tpt_ps, 0);
	assert_int_equal(cut_short(&w, &page, 45 * MS, 50)->tpt_ps, 22 * MS);
	assert_int_equal(cut_short(&w, &page, 10 * MS, 50)->tpt_ps, 22 * MS);
	/* Seen over long after the look before: it may have ended any time in between. */
	assert_int_equal(cut_short(&w, &page, 0, 60)->tpt_ps, 0);
	/* One that was not is the shim's to time. */
	gs_page_store(page.slot[0].alone_ns, 0);
	inspect(&w, &page, GS_K_RUNNING, 0, 100);
	inspect(&w, &page, GS_K_RUNNING, 0, 109);
	assert_int_equal(inspect(&w, &page, GS_K_DONE, 1000, 110)->tpt_ps, 0);
	/* Of one that an earlier daemon saw begin the time before is missing; not of the next one.
	 */
	gs_page_store(found.slot[0].state, GS_K_RUNNING);
	gs_page_store(found.slot[0].seq, 4);
	gs_watch_adopt(&next, &found);
	assert_int_equal(cut_short(&next, &found, 0, 50)->tpt_ps, 0);
	assert_int_equal(cut_short(&next, &found, 0, 50)->tpt_ps, 22 * MS);
}

#ifdef HAVE_SQLITE
#define PATH_ROOM 64

static void make_empty_file(char path[PATH_ROOM])
{
	int fd;

	snprintf(path, PATH_ROOM, "/tmp/gpushare-learned.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static struct gs_history_db *opened(const char *path)
{
	struct gs_error err;
	struct gs_history_db *db = gs_history_db_open(path, 100, &err);

	assert_non_null(db);
	return db;
}

static void it_survives_a_restart(void **state)
{
	struct gs_learned_entry *all;
	struct gs_error err;
	struct gs_history_db *db;
	char path[PATH_ROOM];
	size_t n;

	(void)state;
	make_empty_file(path);
	db = opened(path);
	for (uint64_t k = 1; k <= 3; k++)
		assert_int_equal(
			gs_history_db_learn(
				db, &(struct gs_learned_entry) { UINT64_MAX - k, 100 * k }, &err),
			0);
	assert_int_equal(
		gs_history_db_learn(db, &(struct gs_learned_entry) { UINT64_MAX - 2, 5 }, &err), 0);
	gs_history_db_close(db);
	db = opened(path);
	assert_int_equal(gs_history_db_learned(db, &all, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_int_equal(all[2].key, UINT64_MAX - 2); /* the latest comes last */
	assert_int_equal(all[2].tpt_ps, 5);
	free(all);
	gs_history_db_close(db);
	unlink(path);
}

/* What gpushared wrote before it asked whose a kernel is. */
static void make_old_file(const char *path)
{
	char text[128];
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(sql,
			     "BEGIN; CREATE TABLE learned(id INTEGER PRIMARY KEY AUTOINCREMENT,"
			     " key INTEGER UNIQUE, tpt_ps INTEGER); PRAGMA user_version=1;",
			     NULL, NULL, NULL),
		SQLITE_OK);
	for (uint32_t k = 0; k < GS_LEARNED_MAX; k++) {
		/* The highest user number makes a negative integer of a key. */
		uint64_t key = k < 3 ? of(UINT32_MAX, k + 1) : of(2, k);

		snprintf(text, sizeof(text), "INSERT INTO learned(key,tpt_ps) VALUES(%lld,%u);",
			 (long long)key, 100 + k);
		assert_int_equal(sqlite3_exec(sql, text, NULL, NULL, NULL), SQLITE_OK);
	}
	assert_int_equal(sqlite3_exec(sql, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
}

/* The file is as bounded as the table, and by the same rule. */
static void the_file_keeps_what_others_have(void **state)
{
	struct gs_learned *l = gs_learned_create();
	struct gs_learned_entry *all;
	struct gs_error err;
	struct gs_history_db *db;
	char path[PATH_ROOM];
	size_t n;

	(void)state;
	make_empty_file(path);
	make_old_file(path);
	db = opened(path);
	for (uint32_t k = 1; k <= 10; k++)
		assert_int_equal(
			gs_history_db_learn(db, &(struct gs_learned_entry) { of(1, k), 7 }, &err),
			0);
	assert_int_equal(gs_history_db_commit(db, &err), 0);
	assert_int_equal(gs_history_db_learned(db, &all, &n, &err), 0);
	assert_int_equal(n, GS_LEARNED_MAX);
	for (size_t i = 0; i < n; i++)
		gs_learned_restore(l, &all[i]);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(gs_learned_find(l, of(UINT32_MAX, k + 1)), 100 + k);
	assert_int_equal(gs_learned_find(l, of(2, 12)), 0); /* the user with most had to give ten */
	assert_int_equal(gs_learned_find(l, of(2, 13)), 113);
	assert_int_equal(gs_learned_find(l, of(1, 10)), 7);
	free(all);
	gs_history_db_close(db);
	gs_learned_destroy(l);
	unlink(path);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_differ_by_user_program_kernel_and_form),
		cmocka_unit_test(keys_by_content_and_dims),
		cmocka_unit_test(a_time_is_kept_and_follows_the_news),
		cmocka_unit_test(it_is_bounded_and_what_is_used_stays),
		cmocka_unit_test(nobody_forgets_anothers),
		cmocka_unit_test(a_first_launch_is_predicted),
		cmocka_unit_test(a_measured_launch_is_learned_from_once),
		cmocka_unit_test(measured_after_or_before_anybody_looked),
		cmocka_unit_test(one_that_was_cut_short_is_learned_from),
#ifdef HAVE_SQLITE
		cmocka_unit_test(it_survives_a_restart),
		cmocka_unit_test(the_file_keeps_what_others_have),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
