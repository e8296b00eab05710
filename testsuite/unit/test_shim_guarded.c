/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guarded kernels: launched with the program's grid, told to leave, launched again from what has
 * run. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/ptx/guard.h"
#include "device/shim/base/origin.h"
#include "fake_driver.h"
#include "shim_rig.h"

/* Lanes leave before a barrier. */
static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry leaves(.param .u64 p, .param .u32 n)\n{\n"
	"\t.reg .pred %q;\n\t.reg .b32 %r<4>;\n"
	"\tmov.u32 %r1, %tid.x;\n\tld.param.u32 %r2, [n];\n\tsetp.ge.u32 %q, %r1, %r2;\n"
	"\t@%q ret;\n\tbar.sync 0;\n\tret;\n}\n";

#define RESIDENT (FAKE_SMS * FAKE_BLOCKS_PER_SM)

static CUfunction guarded;
static struct shim_kernel *record;
static struct shim_variant *variant;

/* The parameters of the last launch. */
struct sent {
	uint64_t p;
	uint32_t n, pad;
	struct gs_guard guard;
};

static const struct sent *sent(void)
{
	return fake_driver_params();
}

static uint64_t *word(void)
{
	return (uint64_t *)(uintptr_t)sent()->guard.word;
}

static int setup(void **state)
{
	CUmodule module;

	if (guarded)
		return 0;
	assert_int_equal(shim_rig_setup(state), 0);
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&guarded, module, "leaves"), CUDA_SUCCESS);
	record = shim_kernel_find(guarded);
	gs_page_store(page->grant, 1);
	assert_int_equal(launch(guarded, 1), CUDA_SUCCESS); /* for which its variant is made */
	finish_all();
	EVENTUALLY(all_prepared());
	variant = shim_variant_in(record->code, shim_context_current(shim_session()));
	assert_non_null(variant);
	assert_ptr_equal(variant->f, FAKE_GUARDED);
	assert_int_equal(variant->transform, PTX_TRANSFORM_GUARDED);
	not_compared(guarded);
	return 0;
}

/* As the last kernel behind a launch does it. */
static void end(struct gs_slot *slot, uint64_t done, uint32_t state)
{
	if (state == GS_K_DONE)
		*word() = 0;
	gs_page_store(slot->started, 1);
	gs_page_store(slot->done, done);
	gs_page_store(slot->state, state);
}

static struct gs_slot *launched(const char *calls)
{
	assert_int_equal(launch(guarded, LONG_GRID), CUDA_SUCCESS);
	expect_calls(calls);
	return active();
}

/* What it needs beside its variant is made once, with the barrier closed. */
static void test_it_has_the_programs_grid(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	slot = launched("alloc batch launch-guarded launch-end wait");
	assert_int_equal(fake_driver_grid(), LONG_GRID);
	assert_int_equal(sent()->p, 0x1122334455667788);
	assert_int_equal(sent()->n, 0x99aabbcc);
	assert_int_equal(sent()->guard.base, 0);
	assert_int_equal(sent()->guard.group, 0);
	assert_int_equal(*word(), 0);
	assert_int_equal(gs_page_load(slot->started), 1);
	assert_true(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE);
	end(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	end(launched("batch launch-guarded launch-end wait"), LONG_GRID, GS_K_DONE);
}

/* It is told to leave, and does so when 400 of its blocks have run. */
static void leaves_at_400(struct gs_slot *slot)
{
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*word() == GS_GUARD_LEAVE);
	*word() = GS_GUARD_LEAVE | 400;
	end(slot, 400, GS_K_READY);
	usleep(20000);
	forget_calls();
}

/* Told to leave, it goes on where it left, and gets somewhere whatever is ordered then. */
static void test_it_goes_on(void **unused)
{
	struct gs_slot *slot = launched("batch launch-guarded launch-end wait");
	struct shim_launch *l = shim_launch_at((uint32_t)(slot - page->slot));

	(void)unused;
	leaves_at_400(slot);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("write-control-0 record-control await-relaunch batch relaunch-guarded "
		    "relaunch-end");
	assert_int_equal(fake_driver_grid(), LONG_GRID);
	assert_int_equal(sent()->guard.base, 400);
	assert_int_equal(*word(), 400 + RESIDENT);
	/* Told again before it heeded anything, within 1 us: the next time it gets twice as far. */
	EVENTUALLY(l->progress.began == 400);
	l->progress.left_ns = l->progress.out_ns + 1000;
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	end(slot, 400 + RESIDENT, GS_K_READY);
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(*word() == 400 + RESIDENT + 2 * RESIDENT);
	assert_int_equal(gs_page_load(slot->started), 1);
	assert_int_equal(gs_page_load(slot->evictions), 2);
	end(slot, LONG_GRID, GS_K_DONE);
}

/* It is given four times the time that all other blocks take to leave. */
static void test_a_slice_is_worth_the_way(void **unused)
{
	const uint64_t tasks = 100000, way_us = shim_emulated() ? 100000 : 60;
	struct shim_launch *l;
	struct gs_slot *slot;

	(void)unused;
	assert_int_equal(launch(guarded, (unsigned int)tasks), CUDA_SUCCESS);
	slot = active();
	l = shim_launch_at((uint32_t)(slot - page->slot));
	l->time->tpt_ps = 4 * way_us * 1000000 / 2400; /* 2,400 blocks are worth it */
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*word() == GS_GUARD_LEAVE);
	end(slot, 5000, GS_K_READY);
	ring();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	forget_calls();
	ring();
	EVENTUALLY(*word() != GS_GUARD_LEAVE);
	assert_int_equal(*word(), 5000 + 2400);
	l->time->tpt_ps = 0;
	end(slot, tasks, GS_K_DONE);
}

/* Told to leave as it ended: the slot's next launch does not leave for that. */
static void test_a_late_order_is_nobodys(void **unused)
{
	struct gs_slot *slot = launched("batch launch-guarded launch-end wait");

	(void)unused;
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*word() == GS_GUARD_LEAVE);
	gs_page_store(slot->done, LONG_GRID);
	gs_page_store(slot->state, GS_K_DONE);
	EVENTUALLY(all_prepared());
	forget_calls();
	for (uint32_t i = 0; i < 8; i++) { /* each slot that is used comes along */
		slot = launched("batch launch-guarded launch-end wait");
		assert_int_equal(*word(), 0);
		end(slot, LONG_GRID, GS_K_DONE);
		EVENTUALLY(all_prepared());
	}
}

/* A launch of several that are out. */
struct out {
	struct gs_slot *slot;
	uint64_t *word;
};

static struct out launched_in(CUstream stream)
{
	struct out o = { NULL, NULL };

	assert_int_equal(launch_in(guarded, LONG_GRID, stream), CUDA_SUCCESS);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		struct gs_slot *slot = &page->slot[i];

		if (gs_page_load(slot->state) != GS_K_PREP &&
		    (!o.slot || gs_page_load(slot->seq) > gs_page_load(o.slot->seq)))
			o.slot = slot;
	}
	o.word = word();
	return o;
}

/* Told to leave before the GPU has come to it. */
static void tell_unstarted(const struct out *o)
{
	gs_page_store(o->slot->started, 0);
	assert_true(gs_slot_move(o->slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*o->word == GS_GUARD_LEAVE);
}

/*
 * Called back, it may begin before the agent knows.  If the agent then lifted the order, blocks
 * that ask later would run and count the earlier ones, which have left, as done.
 */
static void test_an_order_stands(void **unused)
{
	struct out o = launched_in(STREAM);
	char text[4096];

	(void)unused;
	gs_page_store(page->grant, 0);
	tell_unstarted(&o);
	forget_calls();
	gs_page_store(page->grant, 1);
	assert_true(gs_slot_move(o.slot, GS_K_TOEVICT, GS_K_RUNNING));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	usleep(20000);
	fake_driver_calls(text, sizeof(text));
	assert_null(strstr(text, "write-control-0"));
	assert_int_equal(*o.word, GS_GUARD_LEAVE);
	/* It has begun only to leave, and is relaunched without the order. */
	forget_calls();
	end(o.slot, 0, GS_K_READY);
	await_calls("write-control-0 record-control await-relaunch batch relaunch-guarded "
		    "relaunch-end");
	assert_int_equal(*o.word, RESIDENT);
	end(o.slot, LONG_GRID, GS_K_DONE);
}

/* What waits in the stream of one that has left cannot have begun: its order is lifted before that
 * one's relaunch, so that it need not start only to leave. */
static void test_orders_behind_are_lifted(void **unused)
{
	struct out first, behind, other, reused;

	(void)unused;
	first = launched_in(STREAM);
	behind = launched_in(STREAM);
	other = launched_in((CUstream)0x7100);
	assert_int_equal(cuStreamDestroy_v2(STREAM), CUDA_SUCCESS);
	reused = launched_in(STREAM); /* another stream, which has got its handle */
	gs_page_store(page->grant, 0);
	tell_unstarted(&behind);
	tell_unstarted(&other);
	tell_unstarted(&reused);
	assert_true(gs_slot_move(first.slot, GS_K_RUNNING, GS_K_TOEVICT));
	*first.word = GS_GUARD_LEAVE | 400;
	end(first.slot, 400, GS_K_READY);
	usleep(20000);
	forget_calls();
	assert_true(gs_slot_move(first.slot, GS_K_READY, GS_K_TORUN));
	assert_true(gs_slot_move(behind.slot, GS_K_TOEVICT, GS_K_RUNNING));
	assert_true(gs_slot_move(other.slot, GS_K_TOEVICT, GS_K_RUNNING));
	assert_true(gs_slot_move(reused.slot, GS_K_TOEVICT, GS_K_RUNNING));
	ring();
	await_calls("write-control-0 write-control-0 record-control await-relaunch batch "
		    "relaunch-guarded relaunch-end");
	assert_int_equal(*first.word, 400 + RESIDENT);
	assert_int_equal(*behind.word, 0);
	assert_int_equal(*other.word, GS_GUARD_LEAVE);
	assert_int_equal(*reused.word, GS_GUARD_LEAVE);
	*first.word = *behind.word = *other.word = *reused.word = 0;
	finish_all();
}

/* A watcher goes out before it, and the agent tells only where that has not helped. */
static void test_a_watcher(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	slot = launched("batch watch launch-guarded launch-end wait");
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*word() == GS_GUARD_LEAVE);
	await_call("write-control-2147483648", (char[4096]) { "" }, 4096);
	end(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	/* Without one, too. */
	forget_calls();
	fake_driver_fail("watch", CUDA_ERROR_OUT_OF_MEMORY);
	slot = launched("batch watch launch-guarded launch-end wait");
	assert_false(shim_launch_at((uint32_t)(slot - page->slot))->as.proxy);
	end(slot, LONG_GRID, GS_K_DONE);
	shim_session()->signal = GS_SIGNAL_AUTO;
}

/* A launch that is to be timed has a slot, but no time comes of it here. */
static void expect_watcher(struct shim_time *time, unsigned int grid, int is)
{
	shim_time_again(time, 1);
	assert_int_equal(launch(guarded, grid), CUDA_SUCCESS);
	expect_calls(is ? "batch watch launch-guarded launch-end wait" :
			  "batch launch-guarded launch-end wait");
	end(active(), grid, GS_K_DONE);
	EVENTUALLY(all_prepared());
}

/* Where a watcher's place makes a wave of long blocks more, the agent gives the order. */
static void test_a_watcher_that_costs_a_wave(void **unused)
{
	struct shim_context *c = shim_context_current(shim_session());
	const unsigned int dims[3] = { 32, 1, 1 }, places = 16 * FAKE_BLOCKS_PER_SM;
	struct shim_time *time = shim_kernel_time(record, dims, LONG_GRID);
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
	struct shim_time *time = shim_kernel_time(record, dims, LONG_GRID);
	unsigned int before = fake_driver_recorded();
	struct gs_slot *slot;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	shim_time_again(time, 1);
	fake_driver_inside(note_events);
	slot = launched("batch watch launch-guarded launch-end wait");
	fake_driver_inside(NULL);
	assert_int_equal(at_watch, before);
	assert_int_equal(at_launch, before + 1);
	assert_int_equal(fake_driver_recorded(), before + 2);
	end(slot, LONG_GRID, GS_K_DONE);
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
	struct out first, behind[2];
	unsigned int from;

	(void)unused;
	shim_session()->signal = GS_SIGNAL_PROXY;
	/* Slots are taken in turn: the one behind all others shall have the lowest. */
	while (launched_in(STREAM).slot != &page->slot[5]) {
		finish_all();
		EVENTUALLY(all_prepared());
	}
	finish_all();
	EVENTUALLY(all_prepared());
	first = launched_in(STREAM);
	behind[0] = launched_in(STREAM);
	behind[1] = launched_in(STREAM);
	assert_ptr_equal(behind[1].slot, &page->slot[0]);
	gs_page_store(page->grant, 0);
	tell_unstarted(&behind[0]);
	tell_unstarted(&behind[1]);
	assert_true(gs_slot_move(first.slot, GS_K_RUNNING, GS_K_TOEVICT));
	*first.word = GS_GUARD_LEAVE | 400;
	end(first.slot, 400, GS_K_READY);
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
	end(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	shim_session()->signal = GS_SIGNAL_AUTO;
}

static CUresult launch_with(CUlaunchAttributeID id, unsigned int value)
{
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n };
	CUlaunchAttribute attr = { .id = id, .value.clusterDim = { value, 1, 1 } };
	CUlaunchConfig config = { LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, &attr, 1 };

	return cuLaunchKernelEx(&config, guarded, args, NULL);
}

static void expect_as_written(CUlaunchAttributeID id, unsigned int value, enum ptx_reason why)
{
	assert_int_equal(launch_with(id, value), CUDA_SUCCESS);
	assert_ptr_equal(fake_launched, guarded);
	assert_int_equal(shim_kernel_why(record), why);
	EVENTUALLY(all_prepared());
	forget_calls();
}

/* Its grid and its blocks are the program's, so what is said of them holds. */
static void test_attributes(void **unused)
{
	(void)unused;
	expect_as_written(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1, PTX_REASON_COOPERATIVE);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1, PTX_REASON_PDL);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 1, PTX_REASON_PDL);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 2, PTX_REASON_CLUSTER);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 1,
			  PTX_REASON_LAUNCH_ATTRIBUTE);
	assert_int_equal(launch_with(CU_LAUNCH_ATTRIBUTE_PRIORITY, 0), CUDA_SUCCESS);
	expect_calls("batch attribute launch-guarded launch-end wait");
	end(active(), LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	assert_int_equal(launch_with(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0), CUDA_SUCCESS);
	expect_calls("batch launch-guarded launch-end wait");
	end(active(), LONG_GRID, GS_K_DONE);
}

/* The daemon's bound for the time that a kernel takes to leave. */
static void test_one_that_leaves_late_goes_as_written(void **unused)
{
	const unsigned int dims[3] = { 32, 1, 1 };
	struct shim_time *time = shim_kernel_time(record, dims, LONG_GRID);
	uint64_t tpt_ps = time->tpt_ps, leave_us;
	struct gs_slot *slot;

	(void)unused;
	time->tpt_ps = GS_NS_PER_S; /* a ms for each block */
	slot = launched("batch launch-guarded launch-end wait");
	leave_us = gs_page_load(slot->leave_ns) / GS_NS_PER_US;
	assert_in_range(leave_us, 1000, 1000000);
	end(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	for (unsigned int more = 0; more < 2; more++) {
		gs_page_store(page->priorities.leave_most_us, leave_us - 1 + 2 * more);
		time->tpt_ps = GS_NS_PER_S; /* that launch may have been timed */
		assert_int_equal(launch(guarded, LONG_GRID), CUDA_SUCCESS);
		assert_ptr_equal(fake_launched, more ? FAKE_GUARDED : guarded);
		if (more)
			end(active(), LONG_GRID, GS_K_DONE);
		else
			assert_int_equal(shim_kernel_why(record), PTX_REASON_LEAVES_LATE);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	forget_calls();
	gs_page_store(page->priorities.leave_most_us, 0);
	time->tpt_ps = tpt_ps;
}

/* A cluster runs or leaves as a whole, and is asked with others. */
static void test_clusters_and_groups(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	variant->by_cluster = 1;
	variant->group = 3;
	assert_int_equal(launch_with(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 2), CUDA_SUCCESS);
	expect_calls("batch attribute launch-guarded launch-end wait");
	assert_int_equal(sent()->guard.group, 3);
	slot = active();
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*word() == GS_GUARD_LEAVE);
	end(slot, 320, GS_K_READY); /* 160 clusters, 20 groups */
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(*word() != GS_GUARD_LEAVE);
	assert_int_equal(*word(), 21); /* 4 clusters more */
	EVENTUALLY(sent()->guard.base == 160);
	end(slot, LONG_GRID, GS_K_DONE);
	variant->by_cluster = variant->group = 0;
}

/* The driver takes the kernel and refuses what belongs behind it: the program has its error, and
 * the slot stays taken until the kernel has ended. The next one is right. */
static void test_a_refused_end(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	fake_driver_fail("launch-end", CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(launch(guarded, LONG_GRID), CUDA_ERROR_OUT_OF_MEMORY);
	expect_calls("batch launch-guarded launch-end write-5");
	EVENTUALLY(all_prepared());
	assert_int_equal(atomic_load(&shim_held[0]), 0);
	*word() = 7; /* as the kernel left it */
	for (uint32_t i = 0; i < 8; i++) {
		slot = launched("batch launch-guarded launch-end wait");
		assert_int_equal(*word(), 0);
		end(slot, LONG_GRID, GS_K_DONE);
		EVENTUALLY(all_prepared());
	}
}

/* All of it is in the stream but the wait behind it: it runs to its end, and nobody evicts it,
 * since what the program enqueues next would run too early. */
static void test_a_refused_wait(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	fake_driver_fail("wait", CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(launch(guarded, LONG_GRID), CUDA_ERROR_OUT_OF_MEMORY);
	expect_calls("batch launch-guarded launch-end wait");
	slot = active();
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	assert_false(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE);
	end(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	assert_int_equal(atomic_load(&shim_held[0]), 0);
	end(launched("batch launch-guarded launch-end wait"), LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
}

/* The driver takes the relaunch, but not what belongs behind it: the kernel is in the stream, and
 * launched once more it would run its blocks twice. */
static void test_a_refused_end_of_a_relaunch(void **unused)
{
	struct gs_slot *slot = launched("batch launch-guarded launch-end wait");

	(void)unused;
	leaves_at_400(slot);
	fake_driver_fail("relaunch-end", CUDA_ERROR_OUT_OF_MEMORY);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(gs_page_load(slot->state) == GS_K_READY);
	*word() += 100; /* as its blocks do */
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("relaunch-end");
	assert_int_equal(*word(), 400 + RESIDENT + 100);
	assert_int_equal(gs_page_load(slot->started), 1);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	/* And the next one is a whole one again. */
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*word() & GS_GUARD_LEAVE);
	end(slot, 600, GS_K_READY);
	usleep(20000);
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("write-control-0 record-control await-relaunch batch relaunch-guarded "
		    "relaunch-end");
	assert_int_equal(sent()->guard.base, 600);
	end(slot, LONG_GRID, GS_K_DONE);
}

int shim_guarded_launches(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_it_has_the_programs_grid),
		SHIM(test_it_goes_on),
		SHIM(test_a_slice_is_worth_the_way),
		SHIM(test_a_late_order_is_nobodys),
		SHIM(test_an_order_stands),
		SHIM(test_orders_behind_are_lifted),
		SHIM(test_a_watcher),
		SHIM(test_a_watcher_is_not_timed),
		SHIM(test_a_watcher_that_costs_a_wave),
		SHIM(test_those_called_back_are_watched),
		SHIM(test_one_that_waits_is_watched_later),
		SHIM(test_one_that_leaves_late_goes_as_written),
		SHIM(test_attributes),
		SHIM(test_clusters_and_groups),
		SHIM(test_a_refused_end),
		SHIM(test_a_refused_wait),
		SHIM(test_a_refused_end_of_a_relaunch),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
