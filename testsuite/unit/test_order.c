/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passages (device/shim/context/order.h) of many threads at once, without a driver: who
 * must not meet does not meet, and nobody is overtaken by what it orders.
 * Built a second time with the thread sanitizer, which sees a meeting as a race.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "order_rig.h"

#define THREADS 6
#define PASSAGES 20000

/* Neither atomic nor locked: a holder of the stream (or of the default one) changes its word, all
 * others look at it. */
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

static void pass(CUstream stream, int blocks, unsigned dice)
{
	struct shim_section p;
	uint64_t before[3];
	int from, to;

	words_of(stream, &from, &to);
	enter(&p, stream, blocks);
	for (int i = from; i < to; i++)
		before[i] = word[i];
	linger(dice);
	for (int i = from; i < to; i++) {
		met += word[i] != before[i];
		if (blocks) {
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

/*
 * Who launches first, and who comes second and third, at any moment of the others'
 * passages: these go on with them until all others are there.  Some hold from the start, some only
 * when two launch that never have, or three.
 */
#define STARTS 5000
#define STARTERS 3
static pthread_barrier_t start;
static _Atomic unsigned started;

static void *start_many(void *which)
{
	for (unsigned i = 0; i < STARTS; i++) {
		if (pthread_barrier_wait(&start) == PTHREAD_BARRIER_SERIAL_THREAD) {
			begin_anew(NULL);
			started = 0;
		}
		pthread_barrier_wait(&start);
		for (volatile uintptr_t wait = (uintptr_t)which * (i % 64) * 16; wait; wait--)
			;
		for (unsigned n = 0; n < 12 || started < STARTERS; n++) {
			pass(ONE, n >= i / 2 % 4 * 3 && n % 2 == 0, i % 2 ? n + 4 : 1);
			started += n == 0;
			linger(n % 64 + 1 == 64 ? 0 : 1);
		}
	}
	return NULL;
}

static void test_whoever_starts_when(void **unused)
{
	pthread_t thread[STARTERS];
	uint64_t unchanged = word[0] - changes[0];

	(void)unused;
	met = 0;
	alarm(300);
	pthread_barrier_init(&start, NULL, STARTERS);
	for (uintptr_t i = 0; i < STARTERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, start_many, (void *)i), 0);
	for (int i = 0; i < STARTERS; i++)
		pthread_join(thread[i], NULL);
	alarm(0);
	assert_int_equal(met, 0);
	assert_int_equal(word[0] - changes[0], unchanged);
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
	/* What came alone and holds nothing is in a holder's way as well; the holder in nobody's
	 * who is not ordered with it. */
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
	struct visitor first, second, holder;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		held = 0;
		come(&first, pair[i][0], 0);
		assert_true(gets_in(&first));
		come(&second, pair[i][1], 0);
		assert_true(gets_in(&second));
		go(&second);
		come(&holder, OWN, 1);
		assert_true(gets_in(&holder));
		go(&holder);
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

static int forbid_membarrier(void)
{
	struct sock_filter is[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(is) / sizeof(is[0]), is };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return -1;
	return syscall(SYS_membarrier, 0, 0, 0) < 0 && errno == EPERM ? 0 : -1;
}

/* From the start, or when it is needed. */
static void test_where_the_barrier_is_forbidden(void **unused)
{
	(void)unused;
	for (int late = 0; late < 2; late++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			alarm(30);
			shim_order_forked();
			if (late)
				shim_order_begin();
			if (forbid_membarrier() < 0)
				_exit(1);
			if (!late)
				shim_order_begin();
			_exit(second_comes(ONE, 1, ONE, 0, 1) && second_comes(ONE, 1, OWN, 1, 0) ?
				      0 :
				      2);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* What other threads of the parent hold, alone or one of several, does not bind a child. */
static void test_a_forked_child_begins_anew(void **unused)
{
	struct visitor v[2];
	struct shim_section p;

	(void)unused;
	for (int crowd = 1; crowd <= 2; crowd++) {
		int status;
		pid_t child;

		for (int i = 0; i < crowd; i++)
			come(&v[i], i ? OWN : ONE, 1);
		child = fork();
		if (child == 0) {
			alarm(10);
			begin_anew(NULL);
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
		BOTH(test_in_the_order_in_which_they_came),
		BOTH(test_behind_a_held_kernel_the_default_stream_meets_nobody),
		BOTH(test_who_must_not_meet_does_not),
		cmocka_unit_test(test_whoever_starts_when),
		cmocka_unit_test(test_where_the_barrier_is_forbidden),
		BOTH(test_a_forked_child_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + order_owners();
}
