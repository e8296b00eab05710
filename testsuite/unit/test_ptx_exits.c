/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which transforms a kernel may have whose threads leave before others, and what the set of
 * transforms that is asked for makes of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx_rig.h"

/* May the kernel be looped, but not as forms are by default, because warps of it leave before a
 * barrier? */
static void only_sync_aware(const char *body)
{
	struct ptx_kernel k =
		ptx_kernel_of(PTX_HEAD, body, PTX_TRANSFORMS_ALL | PTX_TRANSFORMS_SYNC_AWARE);

	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && k.sync_aware && k.whole_warps);
	k = ptx_only_kernel(PTX_HEAD, body);
	assert_true(k.transform == PTX_TRANSFORM_GUARDED &&
		    k.reason == PTX_REASON_BARRIER_AFTER_EXIT && !k.sync_aware);
	assert_true(k.transforms == PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED));
}

#define TID "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; "

static void barriers_and_exits(void **state)
{
	(void)state;
	/* whole warps leave: the others' barriers are answered */
	only_sync_aware(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, 64; @%p1 ret; bar.sync 0;"));
	/* lanes leave */
	expect_reason(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; bar.sync 0;"),
		      PTX_REASON_BARRIER_AFTER_EXIT, 2);
	/* a condition that is the same in all threads of the block */
	assert_false(
		ptx_only_kernel(PTX_HEAD,
				PTX_KERNEL(TID "setp.ge.u32 %p1, %r2, 5; @%p1 ret; bar.sync 0;"))
			.sync_aware);
	/* the exit comes behind the barrier */
	assert_false(
		ptx_only_kernel(PTX_HEAD,
				PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; bar.sync 0; @%p1 ret;"))
			.sync_aware);
	/* the arms meet again before it */
	assert_false(
		ptx_only_kernel(
			PTX_HEAD,
			PTX_KERNEL(TID
				   "setp.ge.u32 %p1, %r1, %r2; @%p1 bra L; add.u32 %r3, %r3, 1; "
				   "L: bar.sync 0;"))
			.sync_aware);
	/* a loop as long as each thread likes */
	expect_reason(
		PTX_KERNEL(
			TID
			"L: bar.sync 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;"),
		PTX_REASON_BARRIER_AFTER_EXIT, 2);
	/* a value chosen by a condition that differs, used behind the join */
	expect_reason(
		PTX_KERNEL(TID "mov.u32 %r3, 0; setp.ge.u32 %p1, %r1, %r2; @%p1 bra L; "
			       "mov.u32 %r3, 1; L: setp.ne.u32 %p2, %r3, 0; @%p2 ret; bar.sync 0;"),
		PTX_REASON_BARRIER_AFTER_EXIT, 2);
	/* a predicated barrier */
	expect_reason(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 bar.sync 0;"),
		      PTX_REASON_BARRIER_AFTER_EXIT, 2);
	only_sync_aware(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, 32; @%p1 bar.sync 0;"));
	/* warps known by a vote, and by the shape of the block */
	expect_reason(
		PTX_KERNEL(
			TID
			"setp.ge.u32 %p1, %r1, %r2; vote.sync.any.pred %p2, %p1, -1; @%p2 ret; bar.sync 0;"),
		PTX_REASON_BARRIER_AFTER_EXIT, 2);
	expect_reason(".entry k() .reqntid 64, 2, 1 { " PTX_REGS
		      "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 ret; "
		      "bar.sync 0; ret; }",
		      PTX_REASON_BARRIER_AFTER_EXIT, 1);
	/* inside a function */
	expect_reason(".func f() { bar.sync 0; ret; }\n" PTX_KERNEL(
			      TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; call f;"),
		      PTX_REASON_BARRIER_AFTER_EXIT, 3);
	expect_reason(
		".func f() { .reg .pred p; .reg .u32 r; mov.u32 r, %tid.x; setp.ge.u32 p, r, 3; @p ret; bar.sync 0; ret; }\n" PTX_KERNEL(
			"call f;"),
		PTX_REASON_BARRIER_AFTER_EXIT, 0);
	expect_reason(".func f() { bar.sync 0; ret; }\n" PTX_KERNEL("call f;"), PTX_REASON_NONE, 0);
}

/* Which variants come out of which set of forms, and why not the better ones. */
static void sets_of_forms(void **state)
{
	static const char lanes_leave[] =
		PTX_HEAD PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; bar.sync 0;");
	static const char rows[] =
		PTX_HEAD PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, 64; @%p1 ret; bar.sync 0;");
	static const char waits[] = PTX_HEAD PTX_KERNEL("mbarrier.init.shared.b64 [%rd1], 1;");
	static const struct {
		const char *text;
		uint32_t transforms;
		int every;
		enum ptx_transform_kind transform;
		uint32_t variants;
		enum ptx_reason reason;
	} want[] = {
		{ lanes_leave, PTX_TRANSFORMS_ALL, 1, PTX_TRANSFORM_GUARDED,
		  PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED) |
			  PTX_TRANSFORM_BIT(PTX_TRANSFORM_SLICED),
		  PTX_REASON_BARRIER_AFTER_EXIT },
		{ lanes_leave, PTX_TRANSFORMS_ALL, 0, PTX_TRANSFORM_GUARDED,
		  PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED), PTX_REASON_BARRIER_AFTER_EXIT },
		{ lanes_leave, PTX_TRANSFORM_BIT(PTX_TRANSFORM_SLICED), 0, PTX_TRANSFORM_SLICED,
		  PTX_TRANSFORM_BIT(PTX_TRANSFORM_SLICED), PTX_REASON_NONE },
		{ lanes_leave, PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT), 1, PTX_TRANSFORM_AS_IS,
		  0, PTX_REASON_BARRIER_AFTER_EXIT },
		{ rows, PTX_TRANSFORMS_ALL | PTX_TRANSFORMS_SYNC_AWARE, 0, PTX_TRANSFORM_PERSISTENT,
		  PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) |
			  PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED),
		  PTX_REASON_NONE },
		{ rows, PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORMS_SYNC_AWARE, 0,
		  PTX_TRANSFORM_PERSISTENT, PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT),
		  PTX_REASON_NONE },
		{ rows, PTX_TRANSFORMS_ALL, 0, PTX_TRANSFORM_GUARDED,
		  PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED), PTX_REASON_BARRIER_AFTER_EXIT },
		{ rows, PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT), 0, PTX_TRANSFORM_AS_IS, 0,
		  PTX_REASON_BARRIER_AFTER_EXIT },
		{ lanes_leave, 0, 1, PTX_TRANSFORM_AS_IS, 0, PTX_REASON_NONE },
		{ waits, PTX_TRANSFORMS_ALL, 1, PTX_TRANSFORM_GUARDED,
		  PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED) |
			  PTX_TRANSFORM_BIT(PTX_TRANSFORM_SLICED),
		  PTX_REASON_ASYNC_STATE },
		{ PTX_HEAD PTX_KERNEL(""), PTX_TRANSFORMS_ALL, 1, PTX_TRANSFORM_PERSISTENT,
		  PTX_TRANSFORMS_ALL, PTX_REASON_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct gs_error err = { "" };
		struct ptx_transformed *t =
			ptx_transform_only(want[i].text, strlen(want[i].text), want[i].transforms,
					   want[i].every, &err);

		assert_non_null(t);
		assert_int_equal(t->nkernel, 1);
		assert_int_equal(t->kernel[0].transform, want[i].transform);
		assert_int_equal(t->kernel[0].transforms, want[i].variants);
		assert_int_equal(t->kernel[0].reason, want[i].reason);
		for (int f = PTX_TRANSFORM_PERSISTENT; f < PTX_TRANSFORM_COUNT; f++)
			assert_int_equal(ptx_has_variant(t, f),
					 (want[i].variants & PTX_TRANSFORM_BIT(f)) != 0);
		ptx_transformed_free(t);
	}
}

#define SHUFFLE "shfl.sync.down.b32 %r4, %r3, 16, 31, -1;"

static void warps_and_exits(void **state)
{
	struct ptx_kernel k;

	(void)state;
	expect_reason(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; " SHUFFLE),
		      PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect_reason(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; bar.warp.sync -1;"),
		      PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect_reason(PTX_KERNEL(TID SHUFFLE "setp.ge.u32 %p1, %r1, %r2; @%p1 ret;"),
		      PTX_REASON_NONE, 0);
	/* a branch between whole warps */
	k = ptx_only_kernel(PTX_HEAD,
			    PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, 32; @%p1 ret; " SHUFFLE));
	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && k.whole_warps);
	k = ptx_only_kernel(
		PTX_HEAD,
		PTX_KERNEL(TID
			   "shr.u32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, %r2; @%p1 ret; " SHUFFLE));
	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && k.whole_warps);
	expect_reason(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, 33; @%p1 ret; " SHUFFLE),
		      PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	/* a vote of the whole warp, and one of those that a mask names */
	expect_reason(
		PTX_KERNEL(
			TID
			"setp.ge.u32 %p1, %r1, %r2; vote.sync.any.pred %p2, %p1, 0xffffffff; @%p2 ret; " SHUFFLE),
		PTX_REASON_NONE, 0);
	expect_reason(
		PTX_KERNEL(
			TID
			"setp.ge.u32 %p1, %r1, %r2; vote.sync.any.pred %p2, %p1, %r2; @%p2 ret; " SHUFFLE),
		PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect_reason(
		PTX_KERNEL(TID "activemask.b32 %r5; setp.ne.u32 %p1, %r5, -1; @%p1 ret; " SHUFFLE),
		PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect_reason(PTX_KERNEL(TID "match.all.sync.b32 %r5|%p1, %r1, -1; @%p1 ret; " SHUFFLE),
		      PTX_REASON_NONE, 0);
	expect_reason(
		PTX_KERNEL(
			TID
			"match.any.sync.b32 %r5, %r1, -1; setp.eq.u32 %p1, %r5, 1; @%p1 ret; " SHUFFLE),
		PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	/* rows known to be whole warps */
	k = ptx_only_kernel(PTX_HEAD, ".entry k() .reqntid 64, 2, 1 { " PTX_REGS
				      "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; "
				      "@%p1 ret; " SHUFFLE " ret; }");
	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && !k.whole_warps);
	/* masks that leave out who left */
	expect_reason(PTX_KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; activemask.b32 %r5; "
				     "shfl.sync.down.b32 %r4, %r3, 16, 31, %r5;"),
		      PTX_REASON_NONE, 0);
	expect_reason(
		PTX_KERNEL(
			TID
			"setp.lt.u32 %p2, %r1, %r2; setp.ge.u32 %p1, %r1, %r2; vote.sync.ballot.b32 %r5, %p2, -1; "
			"@%p1 ret; shfl.sync.down.b32 %r4, %r3, 16, 31, %r5;"),
		PTX_REASON_NONE, 0);
	expect_reason(PTX_KERNEL(TID "activemask.b32 %r5; setp.ge.u32 %p1, %r1, %r2; @%p1 ret; "
				     "shfl.sync.down.b32 %r4, %r3, 16, 31, %r5;"),
		      PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
}

int test_ptx_exits(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barriers_and_exits),
		cmocka_unit_test(warps_and_exits),
		cmocka_unit_test(sets_of_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
