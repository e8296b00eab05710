/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passages (device/shim/order.h) of many threads at once, without a driver: who
 * must not meet does not meet, and nobody is overtaken by what it orders.
 * Built a second time with the thread sanitizer, which sees a meeting as a race.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "device/shim/order.h"

#define THREADS 6
#define PASSAGES 20000
#define WATCH_US 20000
#define LIMIT_NS (10 * GS_NS_PER_S)

/* Two that synchronise with the legacy default stream, and one that does not. */
#define ONE ((CUstream)0x7000)
#define TWO ((CUstream)0x7100)
#define OWN ((CUstream)0x7200)

static CUresult flags_of(CUstream stream, unsigned int *flags)
{
	*flags = stream == OWN ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
	return CUDA_SUCCESS;
}

/* The one question that passages have for the driver. */
void *shim_real(enum shim_fn fn)
{
	assert_int_equal(fn, SHIM_FN_cuStreamGetFlags);
	return (void *)(uintptr_t)flags_of;
}

/* Is a kernel held in a stream that the default one waits for? */
static _Atomic int held;

int shim_hold_is_legacy(void)
{
	return held;
}

static const struct shim_context *const context = (const void *)0x1000;

/* Neither atomic nor locked: a holder of the stream (or of the default one) changes its word, all others look at it. */
static uint64_t word[3];
static _Atomic uint64_t changes[3];
static _Atomic unsigned met;

/* Which words a stream has to do with. */
static void words_of(CUstream stream, int *from, int *to)
{
	*from = stream == TWO ? 1 : stream == OWN ? 2 : 0;
	*to = stream == NULL ? 2 : *from + 1;
}

static void linger(unsigned dice)
{
	if (dice % 8 == 0)
		sched_yield();
}

static void pass(CUstream stream, int holds, unsigned dice)
{
	struct shim_passage p;
	uint64_t before[3];
	int from, to;

	words_of(stream, &from, &to);
	shim_order_enter(&p, context, stream, holds, holds && shim_stream_is_legacy(stream));
	for (int i = from; i < to; i++)
		before[i] = word[i];
	linger(dice);
	for (int i = from; i < to; i++) {
		met += word[i] != before[i];
		if (holds) {
			word[i] = before[i] + 1;
			changes[i]++;
		}
	}
	shim_order_leave(&p);
}

static void *pass_many(void *seed)
{
	static CUstream const stream[] = { ONE, TWO, OWN, NULL };
	uint64_t x = (uintptr_t)seed * UINT64_C(0x9E3779B97F4A7C15) + 1;

	for (int i = 0; i < PASSAGES; i++) {
		unsigned dice;

		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		dice = (unsigned)(x >> 33);
		pass(stream[dice % 4], dice / 4 % 4 == 0, dice / 16);
		linger(dice / 128);
	}
	return NULL;
}

static void test_who_must_not_meet_does_not(void **unused)
{
	pthread_t thread[THREADS];

	(void)unused;
	alarm(300); /* who never gets through would never end */
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, pass_many, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	alarm(0);
	assert_int_equal(met, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(word[i] > 0);
		assert_int_equal(word[i], changes[i]);
	}
}

/* A thread that enters, says so, and leaves when told. */
struct visitor {
	CUstream stream;
	int holds;
	_Atomic int in, leave;
	pthread_t thread;
};

static void *visit(void *arg)
{
	struct visitor *v = arg;
	struct shim_passage p;

	shim_order_enter(&p, context, v->stream, v->holds, v->holds && shim_stream_is_legacy(v->stream));
	v->in = 1;
	while (!v->leave)
		usleep(100);
	shim_order_leave(&p);
	return NULL;
}

static void come(struct visitor *v, CUstream stream, int holds)
{
	*v = (struct visitor){ .stream = stream, .holds = holds };
	assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
	usleep(WATCH_US); /* it is in, or waits */
}

static void go(struct visitor *v)
{
	v->leave = 1;
	pthread_join(v->thread, NULL);
}

static int gets_in(struct visitor *v)
{
	uint64_t until = gs_clock_ns() + LIMIT_NS;

	while (!v->in && gs_clock_ns() < until)
		usleep(100);
	return v->in;
}

/* The first one is alone when the others come: it is in front of them all the same. */
static void test_in_the_order_in_which_they_came(void **unused)
{
	struct visitor first, launch, hold, late, other;

	(void)unused;
	come(&first, ONE, 1);
	assert_true(gets_in(&first));
	come(&launch, ONE, 0);
	come(&hold, ONE, 1);
	come(&late, ONE, 0);
	come(&other, OWN, 1);
	assert_true(gets_in(&other));
	assert_false(launch.in || hold.in || late.in);
	go(&other);
	go(&first);
	assert_true(gets_in(&launch));
	usleep(WATCH_US);
	assert_false(hold.in || late.in);
	go(&launch);
	assert_true(gets_in(&hold));
	usleep(WATCH_US);
	assert_false(late.in);
	go(&hold);
	assert_true(gets_in(&late));
	/* What came alone and holds nothing is in a holder's way as well; the holder in nobody's who is not ordered with it. */
	come(&hold, ONE, 1);
	come(&launch, TWO, 0);
	assert_true(gets_in(&launch));
	assert_false(hold.in);
	go(&launch);
	go(&late);
	assert_true(gets_in(&hold));
	go(&hold);
}

/* Two that hold nothing: through the default stream, one could come behind what a third holds. */
static void test_behind_a_held_kernel_the_default_stream_meets_nobody(void **unused)
{
	static CUstream const pair[][2] = { { ONE, NULL }, { NULL, TWO }, { NULL, NULL } };
	struct visitor first, second;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		held = 0;
		come(&first, pair[i][0], 0);
		assert_true(gets_in(&first));
		come(&second, pair[i][1], 0);
		assert_true(gets_in(&second));
		go(&second);
		held = 1;
		come(&second, pair[i][1], 0);
		assert_false(second.in);
		go(&first);
		assert_true(gets_in(&second));
		go(&second);
	}
	/* Nobody else. */
	come(&first, ONE, 0);
	assert_true(gets_in(&first));
	come(&second, TWO, 0);
	assert_true(gets_in(&second));
	go(&second);
	come(&second, OWN, 0);
	assert_true(gets_in(&second));
	go(&second);
	go(&first);
	held = 0;
}

/* What other threads of the parent hold, alone or one of several, does not bind a child. */
static void test_a_forked_child_begins_anew(void **unused)
{
	struct visitor v[2];
	struct shim_passage p;

	(void)unused;
	for (int crowd = 1; crowd <= 2; crowd++) {
		int status;
		pid_t child;

		for (int i = 0; i < crowd; i++)
			come(&v[i], i ? OWN : ONE, 1);
		child = fork();
		if (child == 0) {
			alarm(10);
			shim_order_forked();
			for (int i = 0; i < 2; i++) {
				shim_order_enter(&p, context, ONE, 1, 1);
				shim_order_leave(&p);
			}
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		for (int i = 0; i < crowd; i++)
			go(&v[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_order_in_which_they_came),
		cmocka_unit_test(test_behind_a_held_kernel_the_default_stream_meets_nobody),
		cmocka_unit_test(test_who_must_not_meet_does_not),
		cmocka_unit_test(test_a_forked_child_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
