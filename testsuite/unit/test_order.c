/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passages (device/shim/order.h) of many threads at once, without a driver: who
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
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/* As launch_calls.c: an owner's launches that hold nothing have a way of their own where nobody has done anything else odd. */
static void enter(struct shim_passage *p, CUstream stream, int holds)
{
	struct shim_owned *own = shim_owned_here();

	if (holds || !own || shim_is_odd(~(uint32_t)SHIM_ODD_HOLDS)) {
		shim_order_enter(p, context, stream, holds, holds && shim_stream_is_legacy(stream));
		return;
	}
	sched_yield(); /* another thread may come between the two */
	if (!shim_order_enter_alone(p, context, stream, own))
		shim_order_enter_late(p);
}

static void pass(CUstream stream, int holds, unsigned dice)
{
	struct shim_passage p;
	uint64_t before[3];
	int from, to;

	words_of(stream, &from, &to);
	enter(&p, stream, holds);
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

/* Nobody has launched yet: the first one that does has the way of its own that one thread has. */
static int begin_anew(void **unused)
{
	(void)unused;
	shim_odd = 0;
	shim_order_forked();
	shim_order_begin();
	return 0;
}

/* No thread has that. */
static int begin_shared(void **unused)
{
	(void)unused;
	shim_order_forked();
	return 0;
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

/* A thread that enters, says so, and leaves when told. */
struct visitor {
	CUstream stream;
	int holds;
	_Atomic int tid, in, leave;
	pthread_t thread;
};

static void *visit(void *arg)
{
	struct visitor *v = arg;
	struct shim_passage p;

	v->tid = (int)syscall(SYS_gettid);
	enter(&p, v->stream, v->holds);
	v->in = 1;
	while (!v->leave)
		usleep(100);
	shim_order_leave(&p);
	return NULL;
}

static int sleeps(int tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = tid ? fopen(path, "r") : NULL;
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/* It is in, or waits. */
static void come(struct visitor *v, CUstream stream, int holds)
{
	uint64_t until = gs_clock_ns() + LIMIT_NS;

	*v = (struct visitor){ .stream = stream, .holds = holds };
	assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
	do
		usleep(WATCH_US);
	while (!v->in && !sleeps(v->tid) && gs_clock_ns() < until);
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

/*
 * The first thread has launched before and is inside the driver when another one
 * launches for the first time, which is to wait for it or not to: does it?
 */
static int second_comes(CUstream stream, int holds, CUstream stream2, int holds2, int waits)
{
	struct shim_passage p;
	struct visitor second;
	int right;

	for (int i = 0; i < 2; i++) {
		if (i)
			shim_order_leave(&p);
		enter(&p, stream, holds);
	}
	come(&second, stream2, holds2);
	right = waits ? !second.in : gets_in(&second);
	shim_order_leave(&p);
	right = gets_in(&second) && right;
	go(&second);
	/* And it goes on, as one of two. */
	enter(&p, stream, holds);
	shim_order_leave(&p);
	return right;
}

static void test_the_second_thread(void **state)
{
	static const struct {
		CUstream stream, stream2;
		int holds, holds2, waits;
	} row[] = {
		{ ONE, ONE, 1, 0, 1 }, { ONE, ONE, 0, 1, 1 }, { ONE, ONE, 1, 1, 1 }, { NULL, TWO, 1, 0, 1 },
		{ TWO, NULL, 0, 1, 1 }, { ONE, ONE, 0, 0, 0 }, { ONE, OWN, 1, 1, 0 }, { ONE, TWO, 1, 1, 0 },
		{ OWN, NULL, 1, 1, 0 }, { NULL, ONE, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin_anew(state);
		assert_true(second_comes(row[i].stream, row[i].holds, row[i].stream2, row[i].holds2, row[i].waits));
	}
}

/* As from a callback that a profiler has in the driver: both are in the way. */
static void one_within_another(CUstream seconds, int outer_is_in_the_way)
{
	struct shim_passage outer, inner;
	struct visitor second;

	for (int i = 0; i < 2; i++) {
		if (i)
			shim_order_leave(&outer);
		enter(&outer, ONE, 0);
	}
	enter(&inner, TWO, 0);
	come(&second, seconds, 1);
	assert_false(second.in);
	shim_order_leave(&inner);
	usleep(WATCH_US);
	if (outer_is_in_the_way)
		assert_false(second.in);
	else
		assert_true(gets_in(&second));
	shim_order_leave(&outer);
	assert_true(gets_in(&second));
	go(&second);
}

static void test_one_passage_within_another(void **unused)
{
	(void)unused;
	one_within_another(NULL, 1);
}

static void test_the_inner_passage_alone_is_in_the_way(void **unused)
{
	(void)unused;
	one_within_another(TWO, 0);
}

/* Two that hold nothing are owners both, in nobody's way; whoever holds then, one of them or a third, finds both. */
static void test_two_owners(void **state)
{
	struct shim_passage p;
	struct visitor second, holder;

	for (int third = 0; third < 2; third++) {
		begin_anew(state);
		enter(&p, ONE, 0);
		come(&second, ONE, 0);
		assert_true(gets_in(&second));
		assert_ptr_equal(shim_owned[1].passage->own, &shim_owned[1]);
		if (third) {
			come(&holder, ONE, 1);
			shim_order_leave(&p);
			usleep(WATCH_US);
			assert_false(holder.in);
			go(&second);
			assert_true(gets_in(&holder));
			go(&holder);
		} else {
			shim_order_leave(&p);
			come(&holder, OWN, 1);
			assert_true(gets_in(&holder));
			go(&holder);
			come(&holder, ONE, 1);
			assert_false(holder.in);
			go(&second);
			assert_true(gets_in(&holder));
			go(&holder);
		}
		assert_null(shim_owned_here());
	}
}

/* The first owner holds, and the second one is inside: it waits for that one, though it is where an owner's passage is. */
static void *hold_as_first(void *arg)
{
	struct visitor *v = arg;
	struct shim_passage p;

	enter(&p, ONE, 0);
	shim_order_leave(&p);
	v->tid = (int)syscall(SYS_gettid);
	while (!v->leave)
		usleep(100);
	enter(&p, ONE, 1);
	v->in = 1;
	shim_order_leave(&p);
	return NULL;
}

static void test_an_owner_that_holds_waits_for_the_other(void **state)
{
	struct visitor holder = { 0 };
	struct shim_passage p;

	begin_anew(state);
	assert_int_equal(pthread_create(&holder.thread, NULL, hold_as_first, &holder), 0);
	while (!holder.tid)
		usleep(100);
	enter(&p, ONE, 0);
	assert_ptr_equal(shim_owned_here(), &shim_owned[1]);
	holder.leave = 1;
	usleep(WATCH_US);
	assert_false(holder.in);
	shim_order_leave(&p);
	assert_true(gets_in(&holder));
	pthread_join(holder.thread, NULL);
	assert_null(shim_owned_here());
}

/* It was alone when it looked, and is not when it comes: it finds that out, and waits. */
static void test_another_comes_after_the_look(void **state)
{
	struct shim_passage p;
	struct visitor second;

	begin_anew(state);
	enter(&p, ONE, 0);
	shim_order_leave(&p);
	assert_ptr_equal(shim_owned_here(), &shim_owned[0]);
	come(&second, ONE, 1);
	assert_true(gets_in(&second));
	assert_false(shim_order_enter_alone(&p, context, ONE, &shim_owned[0]));
	go(&second);
	shim_order_enter_late(&p);
	come(&second, ONE, 1);
	assert_false(second.in);
	shim_order_leave(&p);
	assert_true(gets_in(&second));
	go(&second);
}

/* Threads may come and go, one after the other, some with the number of one that has ended. */
static void test_one_thread_after_the_other(void **unused)
{
	struct visitor v;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		come(&v, ONE, 1);
		assert_true(gets_in(&v));
		go(&v);
	}
	come(&v, OWN, 1);
	assert_true(gets_in(&v));
	assert_true(second_comes(TWO, 1, NULL, 1, 1));
	go(&v);
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

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
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
			_exit(second_comes(ONE, 1, ONE, 0, 1) && second_comes(ONE, 1, OWN, 1, 0) ? 0 : 2);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
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

#define BOTH(test) \
	{ #test ", at first one thread", test, begin_anew, NULL, NULL }, \
		{ #test ", not so", test, begin_shared, NULL, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_in_the_order_in_which_they_came),
		BOTH(test_behind_a_held_kernel_the_default_stream_meets_nobody),
		BOTH(test_who_must_not_meet_does_not),
		cmocka_unit_test(test_whoever_starts_when),
		cmocka_unit_test(test_the_second_thread),
		cmocka_unit_test(test_two_owners),
		cmocka_unit_test(test_an_owner_that_holds_waits_for_the_other),
		cmocka_unit_test(test_another_comes_after_the_look),
		BOTH(test_one_passage_within_another),
		BOTH(test_the_inner_passage_alone_is_in_the_way),
		BOTH(test_one_thread_after_the_other),
		cmocka_unit_test(test_where_the_barrier_is_forbidden),
		BOTH(test_a_forked_child_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
