/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watchers of guarded kernels: which launches have one, when it goes out, and in which order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/origin.h"
#include "fake_driver.h"
#include "guarded_rig.h"

/* A watcher goes out before it, and the agent tells only where that has not helped. */
static void test_a_watcher(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	slot = guarded_launched("batch watch launch-guarded launch-end wait");
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*guarded_word() == GS_GUARD_LEAVE);
	await_call("write-control-2147483648", (char[4096]) { "" }, 4096);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	/* Without one, too. */
	forget_calls();
	fake_driver_fail("watch", CUDA_ERROR_OUT_OF_MEMORY);
	slot = guarded_launched("batch watch launch-guarded launch-end wait");
	assert_false(shim_launch_at((uint32_t)(slot - page->slot))->as.proxy);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	shim_session()->signal = GS_SIGNAL_AUTO;
}

/* A launch that is to be timed has a slot, but no time comes of it here. */
static void expect_watcher(struct shim_time *time, unsigned int grid, int is)
{
	shim_time_again(time, 1);
	assert_int_equal(launch(guarded, grid), CUDA_SUCCESS);
	expect_calls(is ? "batch watch launch-guarded launch-end wait" :
			  "batch launch-guarded launch-end wait");
	guarded_ends(active(), grid, GS_K_DONE);
	EVENTUALLY(all_prepared());
}

/* Where a watcher's place makes a wave of long blocks more, the agent gives the order. */
static void test_a_watcher_that_costs_a_wave(void **unused)
{
	struct shim_context *c = shim_context_current(shim_session());
	const unsigned int dims[3] = { 32, 1, 1 }, places = 16 * FAKE_BLOCKS_PER_SM;
	struct shim_time *time = shim_kernel_time(guarded_record, dims, LONG_GRID);
	const uint64_t tpt_ps = time->tpt_ps, block_ps = 100ull * 1000 * 1000;
	const int sms = c->sms;

	(void)unused;
	c->sms = 16;
	fake_driver_takes(0);
	time->tpt_ps = block_ps / places;
	expect_watcher(time, 25 * places, 0);
	expect_watcher(time, 25 * places - 25,
		       1); /* all that fit into 25 waves beside the watcher */
	expect_watcher(time, 25 * places - 24, 0);
	expect_watcher(time, 25 * places + 1, 1);
	time->tpt_ps--; /* shorter blocks */
	expect_watcher(time, 25 * places, 1);
	time->tpt_ps = 0; /* nothing is known of them */
	expect_watcher(time, 25 * places, 1);
	shim_session()->signal = GS_SIGNAL_PROXY;
	time->tpt_ps = block_ps / places;
	expect_watcher(time, 25 * places, 1);
	shim_session()->signal = GS_SIGNAL_AUTO;
	time->tpt_ps = tpt_ps;
	c->sms = sms;
}

static unsigned int at_watch, at_launch;

static void note_events(const char *call, CUstream stream)
{
	(void)stream;
	if (strcmp(call, "watch") == 0)
		at_watch = fake_driver_recorded();
	else if (strcmp(call, "launch-guarded") == 0)
		at_launch = fake_driver_recorded();
}

/* The time of the kernel begins behind the launch of its watcher. */
static void test_a_watcher_is_not_timed(void **unused)
{
	const unsigned int dims[3] = { 32, 1, 1 };
	struct shim_time *time = shim_kernel_time(guarded_record, dims, LONG_GRID);
	unsigned int before = fake_driver_recorded();
	struct gs_slot *slot;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	shim_time_again(time, 1);
	fake_driver_inside(note_events);
	slot = guarded_launched("batch watch launch-guarded launch-end wait");
	fake_driver_inside(NULL);
	assert_int_equal(at_watch, before);
	assert_int_equal(at_launch, before + 1);
	assert_int_equal(fake_driver_recorded(), before + 2);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	shim_session()->signal = GS_SIGNAL_AUTO;
}

/*
 * Called back, each launch that waited behind one that has left gets a watcher again: the first one
 * left when it saw the order. They go out in the order of the launches, behind that of the
 * relaunch, since all watchers wait in one stream.
 */
static void test_those_called_back_are_watched(void **unused)
{
	struct guarded_out first, behind[2];
	unsigned int from;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	/* Slots are taken in turn: the one behind all others shall have the lowest. */
	while (guarded_launched_in(STREAM).slot != &page->slot[5]) {
		finish_all();
		EVENTUALLY(all_prepared());
	}
	finish_all();
	EVENTUALLY(all_prepared());
	first = guarded_launched_in(STREAM);
	behind[0] = guarded_launched_in(STREAM);
	behind[1] = guarded_launched_in(STREAM);
	assert_ptr_equal(behind[1].slot, &page->slot[0]);
	gs_page_store(page->grant, 0);
	guarded_tell_unstarted(&behind[0]);
	guarded_tell_unstarted(&behind[1]);
	assert_true(gs_slot_move(first.slot, GS_K_RUNNING, GS_K_TOEVICT));
	*first.word = GS_GUARD_LEAVE | 400;
	guarded_ends(first.slot, 400, GS_K_READY);
	usleep(20000);
	forget_calls();
	from = fake_watches;
	assert_true(gs_slot_move(first.slot, GS_K_READY, GS_K_TORUN));
	for (int i = 0; i < 2; i++)
		assert_true(gs_slot_move(behind[i].slot, GS_K_TOEVICT, GS_K_RUNNING));
	ring();
	await_calls("write-control-0 write-control-0 write-control-0 record-control "
		    "await-relaunch batch watch relaunch-guarded relaunch-end watch watch");
	assert_int_equal(fake_watched[from % FAKE_WATCHED], (uintptr_t)first.word);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(fake_watched[(from + 1 + i) % FAKE_WATCHED],
				 (uintptr_t)behind[i].word);
	*first.word = *behind[0].word = *behind[1].word = 0;
	finish_all();
	shim_session()->signal = GS_SIGNAL_AUTO;
}

/* What stands in the stream behind its wait has not been written yet. */
static void not_begun(const char *call, CUstream stream)
{
	(void)stream;
	if (strcmp(call, "launch-guarded") == 0)
		gs_page_store(active()->started, 0);
}

static void *launch_it(void *rc)
{
	*(CUresult *)rc = launch(guarded, LONG_GRID);
	return NULL;
}

/*
 * One that waits in its stream for the time slice gets its watcher when it has that. A watcher that
 * waited too would hold up those of all other launches, and for ever if its own one is over first.
 */
static void test_one_that_waits_is_watched_later(void **unused)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	gs_page_store(page->grant, 0);
	gs_page_store(page->preenqueue, 1);
	fake_driver_inside(not_begun);
	assert_int_equal(pthread_create(&thread, NULL, launch_it, &rc), 0);
	EVENTUALLY(gs_page_load(active()->flags) & GS_SLOT_PREENQUEUED);
	slot = active();
	usleep(20000);
	fake_driver_inside(NULL);
	expect_calls("wait batch launch-guarded launch-end wait");
	atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
	ring();
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rc, CUDA_SUCCESS);
	expect_calls("watch");
	gs_page_store(page->preenqueue, 0);
	gs_page_store(page->grant, 1);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	shim_session()->signal = GS_SIGNAL_AUTO;
}

int shim_watchers(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_a_watcher),
		SHIM(test_a_watcher_is_not_timed),
		SHIM(test_a_watcher_that_costs_a_wave),
		SHIM(test_those_called_back_are_watched),
		SHIM(test_one_that_waits_is_watched_later),
	};

	return cmocka_run_group_tests(tests, guarded_setup, NULL);
}
