/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands for the driver below passages, and their visitors; see order_rig.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "order_rig.h"

#define LIMIT_NS (10 * GS_NS_PER_S)

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

const struct shim_context *const context = (const void *)0x1000;

void enter(struct shim_section *p, CUstream stream, int blocks)
{
	struct shim_owned *own = shim_owned_here();

	if (blocks || !own || shim_is_uncommon(~UINT32_C(0))) {
		shim_order_enter(p, context, stream, blocks,
				 blocks && shim_stream_is_legacy(stream));
		return;
	}
	sched_yield(); /* another thread may come between the two */
	if (!shim_order_enter_alone(p, context, stream, own))
		shim_order_enter_late(p);
}

int begin_anew(void **unused)
{
	(void)unused;
	shim_uncommon = 0;
	shim_order_forked();
	shim_order_begin();
	return 0;
}

int begin_shared(void **unused)
{
	(void)unused;
	shim_order_forked();
	return 0;
}

static void *visit(void *arg)
{
	struct visitor *v = arg;
	struct shim_section p;

	v->tid = (int)syscall(SYS_gettid);
	enter(&p, v->stream, v->blocks);
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

void come(struct visitor *v, CUstream stream, int blocks)
{
	uint64_t until = gs_clock_ns() + LIMIT_NS;

	*v = (struct visitor) { .stream = stream, .blocks = blocks };
	assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
	do
		usleep(WATCH_US);
	while (!v->in && !sleeps(v->tid) && gs_clock_ns() < until);
}

void go(struct visitor *v)
{
	v->leave = 1;
	pthread_join(v->thread, NULL);
}

int gets_in(struct visitor *v)
{
	uint64_t until = gs_clock_ns() + LIMIT_NS;

	while (!v->in && gs_clock_ns() < until)
		usleep(100);
	return v->in;
}

int second_comes(CUstream stream, int blocks, CUstream stream2, int holds2, int waits)
{
	struct shim_section p;
	struct visitor second;
	int right;

	for (int i = 0; i < 2; i++) {
		if (i)
			shim_order_leave(&p);
		enter(&p, stream, blocks);
	}
	come(&second, stream2, holds2);
	right = waits ? !second.in : gets_in(&second);
	shim_order_leave(&p);
	right = gets_in(&second) && right;
	go(&second);
	/* And it goes on, as one of two threads. */
	enter(&p, stream, blocks);
	shim_order_leave(&p);
	return right;
}
