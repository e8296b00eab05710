/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kernels get a variant, which are refused and why, and what the report says. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "device/ptx/transform.h"

#define HEAD "\n.version 8.6\n.target sm_90a\n.address_size 64\n"
#define REGS ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; "

static struct ptx_transformed *transformed_of(const char *text)
{
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform(text, strlen(text), &err);

	if (!t)
		print_error("%s\n", err.text);
	assert_non_null(t);
	return t;
}

/* The best form that a reason leaves. */
static enum ptx_transform_kind best_form(enum ptx_reason reason)
{
	static const uint8_t best[] = {
#define PTX_REASON(name, words, transform) PTX_TRANSFORM_##transform,
#include "common/reasons.def"
#undef PTX_REASON
	};

	return (enum ptx_transform_kind)best[reason];
}

static int has_variant(const struct ptx_transformed *t, int transform)
{
	char head[40];

	sprintf(head, "%s(", ptx_transform_suffix((enum ptx_transform_kind)transform));
	return strstr(t->text, head) != NULL;
}

/*
 * The last kernel of head and body gets this reason, on this line of the body
 * (1 is its first), and the best form that it leaves.
 */
static void expect_of(const char *head, const char *body, enum ptx_reason reason, uint32_t line)
{
	char *text = NULL;
	struct ptx_transformed *t;
	const struct ptx_kernel *k;

	assert_true(asprintf(&text, "%s%s", head, body) > 0);
	for (const char *c = head; line && *c; c++)
		line += *c == '\n';
	t = transformed_of(text);
	assert_true(t->nkernel > 0);
	k = &t->kernel[t->nkernel - 1];
	if (k->reason != reason || (line && k->reason_line != line))
		print_error("%s (line %u) for: %s\n", ptx_reason_name(k->reason), k->reason_line,
			    body);
	assert_int_equal(k->reason, reason);
	assert_int_equal(k->transform, best_form(reason));
	assert_int_equal(k->transforms,
			 k->transform == PTX_TRANSFORM_AS_IS ? 0 : PTX_TRANSFORM_BIT(k->transform));
	for (int f = PTX_TRANSFORM_PERSISTENT; f < PTX_TRANSFORM_COUNT; f++)
		assert_int_equal(has_variant(t, f), f == (int)k->transform);
	if (line)
		assert_int_equal(k->reason_line, line);
	ptx_transformed_free(t);
	free(text);
}

static void expect(const char *body, enum ptx_reason reason, uint32_t line)
{
	expect_of(HEAD, body, reason, line);
}

#define KERNEL(text) ".entry k(.param .u64 p, .param .u32 n) { " REGS "\n" text "\nret; }"

static void instructions_that_refuse(void **state)
{
	(void)state;
	expect(KERNEL("add.u32 %r1, %r2, %r3;"), PTX_REASON_NONE, 0);
	expect(KERNEL("mbarrier.init.shared.b64 [%rd1], 1;"), PTX_REASON_ASYNC_STATE, 2);
	expect(KERNEL("wgmma.fence.sync.aligned;"), PTX_REASON_ASYNC_STATE, 2);
	expect(KERNEL("tcgen05.wait::ld.sync.aligned;"), PTX_REASON_ASYNC_STATE, 2);
	expect(KERNEL("cp.async.bulk.commit_group;"), PTX_REASON_ASYNC_STATE, 2);
	expect(KERNEL("cp.async.mbarrier.arrive.shared.b64 [%rd1];"), PTX_REASON_ASYNC_STATE, 2);
	expect(KERNEL("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];"),
	       PTX_REASON_CLUSTER, 2);
	expect(KERNEL("cp.async.ca.shared.global [%r1], [%rd1], 16;"), PTX_REASON_NONE, 0);
	expect(KERNEL("setmaxnreg.inc.sync.aligned.u32 240;"), PTX_REASON_SETMAXNREG, 2);
	expect(KERNEL("griddepcontrol.wait;"), PTX_REASON_PDL, 2);
	expect(KERNEL("barrier.cluster.arrive;"), PTX_REASON_CLUSTER, 2);
	expect(KERNEL("mapa.u64 %rd1, %rd2, %r1;"), PTX_REASON_CLUSTER, 2);
	expect(KERNEL("ld.shared::cluster.u32 %r1, [%r2];"), PTX_REASON_CLUSTER, 2);
	expect(".entry k() .reqnctapercluster 2, 1, 1 { ret; }", PTX_REASON_CLUSTER, 1);
	expect(KERNEL("alloca.u64 %rd1, 16;"), PTX_REASON_STACK, 2);
	expect(KERNEL(".global .u32 counter;"), PTX_REASON_STATIC_VARIABLE, 2);
	expect(KERNEL("frobnicate.u32 %r1;"), PTX_REASON_UNKNOWN_INSTRUCTION, 2);
	expect(KERNEL(".shiny 3;"), PTX_REASON_UNKNOWN_INSTRUCTION, 2);
	expect(KERNEL("bar.arrive 1, 64;"), PTX_REASON_ARRIVAL, 2);
	expect(KERNEL("bar.sync %r1, 64;"), PTX_REASON_BARRIER_NUMBER, 2);
}

static void special_registers(void **state)
{
	static const char *const fine[] = {
		"%tid.x",          "%ntid.y", "%ctaid.z",     "%nctaid.x",
		"%laneid",         "%smid",   "%lanemask_lt", "%clock",
		"%globaltimer_lo", "%pm3",    "%warpid",      "%dynamic_smem_size",
	};
	static const struct {
		const char *name;
		enum ptx_reason reason;
	} refused[] = {
		{ "%gridid", PTX_REASON_SPECIAL_REGISTER },
		{ "%envreg2", PTX_REASON_COOPERATIVE },
		{ "%clusterid.x", PTX_REASON_CLUSTER },
		{ "%cluster_ctarank", PTX_REASON_CLUSTER },
		{ "%nclusterid.x", PTX_REASON_CLUSTER },
		{ "%total_smem_size", PTX_REASON_SPECIAL_REGISTER },
		{ "%ctaid", PTX_REASON_SPECIAL_REGISTER },
		{ "%ctaid.w", PTX_REASON_SPECIAL_REGISTER },
		{ "%whatever", PTX_REASON_SPECIAL_REGISTER },
	};
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		sprintf(text, ".entry k() { .reg .b32 %%r<9>;\nmov.u32 %%r1, %s; ret; }", fine[i]);
		expect(text, PTX_REASON_NONE, 0);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		sprintf(text, ".entry k() { .reg .b32 %%r<9>;\nmov.u32 %%r1, %s; ret; }",
			refused[i].name);
		expect(text, refused[i].reason, 2);
	}
	expect(".entry k() { .reg .u16 h;\nmov.u16 h, %ctaid.x; ret; }",
	       PTX_REASON_SPECIAL_REGISTER, 2);
	expect(".entry k() { .reg .s16 h;\nmov.s16 h, %nctaid.y; ret; }",
	       PTX_REASON_SPECIAL_REGISTER, 2);
	expect(".entry k() { .reg .u64 d;\ncvt.u64.u16 d, %ctaid.x; ret; }",
	       PTX_REASON_SPECIAL_REGISTER, 2);
	expect(".entry k() { .reg .u16 h;\ncvt.u16.u32 h, %ctaid.x; ret; }", PTX_REASON_NONE, 0);
}

static void functions(void **state)
{
	(void)state;
	expect(".func f() { ret; }\n.entry k() { call f; ret; }", PTX_REASON_NONE, 0);
	expect(".func f() {\nexit; }\n.entry k() { call f; ret; }", PTX_REASON_EXIT_IN_FUNCTION, 2);
	expect(".func f() { .reg .b32 r; mov.u32 r, %ctaid.x; ret; }\n.entry k() { call f; ret; }",
	       PTX_REASON_NONE, 0);
	expect(".func g() { .reg .b32 r; mov.u32 r, %nctaid.x; ret; }\n.func f() { call g; ret; }\n"
	       ".entry k() { call f; ret; }",
	       PTX_REASON_NONE, 0);
	/* what cannot be cloned */
	expect(".func f(.param .align 8 .b8 a[]) { .reg .b32 r; mov.u32 r, %ctaid.x; ret; }\n.entry k() { call f; ret; }",
	       PTX_REASON_BLOCK_ID_IN_FUNCTION, 1);
	expect(".func f() { .reg .b32 r;\n.global .u32 v; mov.u32 r, %ctaid.x; ret; }\n.entry k() { call f; ret; }",
	       PTX_REASON_STATIC_VARIABLE, 2);
	expect(".func f() { .global .u32 v; ret; }\n.entry k() { call f; ret; }", PTX_REASON_NONE,
	       0);
	expect(".func f() { .reg .b32 r;\nmov.u32 r, %gridid; ret; }\n.entry k() { call f; ret; }",
	       PTX_REASON_SPECIAL_REGISTER, 2);
	/* the caller before the callee, and a cycle */
	expect(".func f();\n.func g();\n.func f() { call g; ret; }\n.func g() { call f;\nexit; }\n"
	       ".entry k() { call f; ret; }",
	       PTX_REASON_EXIT_IN_FUNCTION, 5);
	expect(".extern .func vprintf(.param .b64 a);\n.entry k() { .param .b64 a; call vprintf, (a); ret; }",
	       PTX_REASON_NONE, 0);
	expect(".extern .func elsewhere();\n.entry k() { call elsewhere; ret; }",
	       PTX_REASON_FOREIGN_FUNCTION, 2);
	expect(".extern .func cudaLaunchDevice();\n.entry k() { call cudaLaunchDevice; ret; }",
	       PTX_REASON_DYNAMIC_PARALLELISM, 2);
	expect(".extern .func cudaCGSynchronize();\n.entry k() {\ncall cudaCGSynchronize; ret; }",
	       PTX_REASON_COOPERATIVE, 3);
}

/* ptxas refuses it; the body that nobody looked at, with a size that has no component, is left
 * alone. */
static void two_bodies_of_one_name(void **state)
{
	static const char text[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".func f()\n{\n\t.reg .b32 %r<3>;\n\tmov.u32 %r1, %nctaid,x;\n\tret;\n}\n"
		".func f()\n{\n\t.reg .b32 %r<3>;\n\tmov.u32 %r1, %ctaid.x;\n\tret;\n}\n"
		".visible .entry k()\n{\n\tcall f;\n\tret;\n}\n";
	struct ptx_transformed *t = transformed_of(text);
	const char *clone;

	(void)state;
	clone = strstr(t->text, "f__gpushare_i(");
	assert_non_null(clone);
	assert_null(strstr(clone + 1, ".func f__gpushare_i("));
	ptx_transformed_free(t);
}

static void indirect_calls(void **state)
{
	static const char call[] =
		".entry k() { .reg .b64 r; ld.global.u64 r, [t]; pr: .callprototype _ ();\n"
		"call r, (), pr; ret; }";
	char text[600];

	(void)state;
	sprintf(text, ".func f() { ret; }\n.global .u64 t = f;\n%s", call);
	expect(text, PTX_REASON_NONE, 0);
	sprintf(text,
		".func f() { .reg .b32 r; mov.u32 r, %%ctaid.x; ret; }\n.global .u64 t = f;\n%s",
		call);
	expect(text, PTX_REASON_BLOCK_ID_IN_FUNCTION, 1);
	sprintf(text, ".func f() {\nexit; }\n.global .u64 t = f;\n%s", call);
	expect(text, PTX_REASON_EXIT_IN_FUNCTION, 2);
	/* its address is not taken: nobody can call it */
	sprintf(text, ".func f() { exit; }\n.global .u64 t;\n%s", call);
	expect(text, PTX_REASON_NONE, 0);
}

/* The kernel's strings are gone: what else there is. */
static struct ptx_kernel kernel_of(const char *head, const char *body, uint32_t transforms)
{
	struct gs_error err = { "" };
	char *text = NULL;
	struct ptx_transformed *t;
	struct ptx_kernel k;

	assert_true(asprintf(&text, "%s%s", head, body) > 0);
	t = ptx_transform_only(text, strlen(text), transforms, 0, &err);
	assert_non_null(t);
	assert_int_equal(t->nkernel, 1);
	k = t->kernel[0];
	ptx_transformed_free(t);
	free(text);
	return k;
}

static struct ptx_kernel only_kernel(const char *head, const char *body)
{
	return kernel_of(head, body, PTX_TRANSFORMS_ALL);
}

/* May the kernel be looped, but not as forms are by default, because warps of it leave before a
 * barrier? */
static void only_sync_aware(const char *body)
{
	struct ptx_kernel k = kernel_of(HEAD, body, PTX_TRANSFORMS_ALL | PTX_TRANSFORMS_SYNC_AWARE);

	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && k.sync_aware && k.whole_warps);
	k = only_kernel(HEAD, body);
	assert_true(k.transform == PTX_TRANSFORM_GUARDED &&
		    k.reason == PTX_REASON_BARRIER_AFTER_EXIT && !k.sync_aware);
	assert_true(k.transforms == PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED));
}

#define TID "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; "

static void barriers_and_exits(void **state)
{
	(void)state;
	/* whole warps leave: the others' barriers are answered */
	only_sync_aware(KERNEL(TID "setp.ge.u32 %p1, %r1, 64; @%p1 ret; bar.sync 0;"));
	/* lanes leave */
	expect(KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; bar.sync 0;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 2);
	/* a condition that is the same in all threads of the block */
	assert_false(only_kernel(HEAD, KERNEL(TID "setp.ge.u32 %p1, %r2, 5; @%p1 ret; bar.sync 0;"))
			     .sync_aware);
	/* the exit comes behind the barrier */
	assert_false(
		only_kernel(HEAD, KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; bar.sync 0; @%p1 ret;"))
			.sync_aware);
	/* the arms meet again before it */
	assert_false(
		only_kernel(HEAD,
			    KERNEL(TID
				   "setp.ge.u32 %p1, %r1, %r2; @%p1 bra L; add.u32 %r3, %r3, 1; "
				   "L: bar.sync 0;"))
			.sync_aware);
	/* a loop as long as each thread likes */
	expect(KERNEL(TID
		      "L: bar.sync 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 2);
	/* a value chosen by a condition that differs, used behind the join */
	expect(KERNEL(TID "mov.u32 %r3, 0; setp.ge.u32 %p1, %r1, %r2; @%p1 bra L; "
			  "mov.u32 %r3, 1; L: setp.ne.u32 %p2, %r3, 0; @%p2 ret; bar.sync 0;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 2);
	/* a predicated barrier */
	expect(KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 bar.sync 0;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 2);
	only_sync_aware(KERNEL(TID "setp.ge.u32 %p1, %r1, 32; @%p1 bar.sync 0;"));
	/* warps known by a vote, and by the shape of the block */
	expect(KERNEL(TID
		      "setp.ge.u32 %p1, %r1, %r2; vote.sync.any.pred %p2, %p1, -1; @%p2 ret; bar.sync 0;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 2);
	expect(".entry k() .reqntid 64, 2, 1 { " REGS
	       "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 ret; "
	       "bar.sync 0; ret; }",
	       PTX_REASON_BARRIER_AFTER_EXIT, 1);
	/* inside a function */
	expect(".func f() { bar.sync 0; ret; }\n" KERNEL(
		       TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; call f;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 3);
	expect(".func f() { .reg .pred p; .reg .u32 r; mov.u32 r, %tid.x; setp.ge.u32 p, r, 3; @p ret; bar.sync 0; ret; }\n" KERNEL(
		       "call f;"),
	       PTX_REASON_BARRIER_AFTER_EXIT, 0);
	expect(".func f() { bar.sync 0; ret; }\n" KERNEL("call f;"), PTX_REASON_NONE, 0);
}

/* Which variants come out of which set of forms, and why not the better ones. */
static void sets_of_forms(void **state)
{
	static const char lanes_leave[] =
		HEAD KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; bar.sync 0;");
	static const char rows[] =
		HEAD KERNEL(TID "setp.ge.u32 %p1, %r1, 64; @%p1 ret; bar.sync 0;");
	static const char waits[] = HEAD KERNEL("mbarrier.init.shared.b64 [%rd1], 1;");
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
		{ HEAD KERNEL(""), PTX_TRANSFORMS_ALL, 1, PTX_TRANSFORM_PERSISTENT,
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
			assert_int_equal(has_variant(t, f),
					 (want[i].variants & PTX_TRANSFORM_BIT(f)) != 0);
		ptx_transformed_free(t);
	}
}

#define SHUFFLE "shfl.sync.down.b32 %r4, %r3, 16, 31, -1;"

static void warps_and_exits(void **state)
{
	struct ptx_kernel k;

	(void)state;
	expect(KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; " SHUFFLE),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect(KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; bar.warp.sync -1;"),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect(KERNEL(TID SHUFFLE "setp.ge.u32 %p1, %r1, %r2; @%p1 ret;"), PTX_REASON_NONE, 0);
	/* a branch between whole warps */
	k = only_kernel(HEAD, KERNEL(TID "setp.ge.u32 %p1, %r1, 32; @%p1 ret; " SHUFFLE));
	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && k.whole_warps);
	k = only_kernel(
		HEAD,
		KERNEL(TID "shr.u32 %r5, %r1, 5; setp.eq.u32 %p1, %r5, %r2; @%p1 ret; " SHUFFLE));
	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && k.whole_warps);
	expect(KERNEL(TID "setp.ge.u32 %p1, %r1, 33; @%p1 ret; " SHUFFLE),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	/* a vote of the whole warp, and one of those that a mask names */
	expect(KERNEL(TID
		      "setp.ge.u32 %p1, %r1, %r2; vote.sync.any.pred %p2, %p1, 0xffffffff; @%p2 ret; " SHUFFLE),
	       PTX_REASON_NONE, 0);
	expect(KERNEL(TID
		      "setp.ge.u32 %p1, %r1, %r2; vote.sync.any.pred %p2, %p1, %r2; @%p2 ret; " SHUFFLE),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect(KERNEL(TID "activemask.b32 %r5; setp.ne.u32 %p1, %r5, -1; @%p1 ret; " SHUFFLE),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	expect(KERNEL(TID "match.all.sync.b32 %r5|%p1, %r1, -1; @%p1 ret; " SHUFFLE),
	       PTX_REASON_NONE, 0);
	expect(KERNEL(TID
		      "match.any.sync.b32 %r5, %r1, -1; setp.eq.u32 %p1, %r5, 1; @%p1 ret; " SHUFFLE),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
	/* rows known to be whole warps */
	k = only_kernel(HEAD, ".entry k() .reqntid 64, 2, 1 { " REGS
			      "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; "
			      "@%p1 ret; " SHUFFLE " ret; }");
	assert_true(k.transform == PTX_TRANSFORM_PERSISTENT && !k.whole_warps);
	/* masks that leave out who left */
	expect(KERNEL(TID "setp.ge.u32 %p1, %r1, %r2; @%p1 ret; activemask.b32 %r5; "
			  "shfl.sync.down.b32 %r4, %r3, 16, 31, %r5;"),
	       PTX_REASON_NONE, 0);
	expect(KERNEL(TID
		      "setp.lt.u32 %p2, %r1, %r2; setp.ge.u32 %p1, %r1, %r2; vote.sync.ballot.b32 %r5, %p2, -1; "
		      "@%p1 ret; shfl.sync.down.b32 %r4, %r3, 16, 31, %r5;"),
	       PTX_REASON_NONE, 0);
	expect(KERNEL(TID "activemask.b32 %r5; setp.ge.u32 %p1, %r1, %r2; @%p1 ret; "
			  "shfl.sync.down.b32 %r4, %r3, 16, 31, %r5;"),
	       PTX_REASON_WARP_SYNC_AFTER_EXIT, 2);
}

static void parameters(void **state)
{
	struct ptx_transformed *t = transformed_of(
		HEAD
		".entry k(.param .u8 a, .param .align 16 .b8 b[20], .param .u16 c,\n"
		".param .f64 d) { .shared .align 8 .b8 s[40]; bar.sync 0; ret; }\n.entry none { ret; }");
	static const uint32_t offset[] = { 0, 16, 36, 40 }, size[] = { 1, 20, 2, 8 };
	char text[300];

	(void)state;
	assert_int_equal(t->nkernel, 2);
	assert_string_equal(t->kernel[0].name, "k");
	assert_int_equal(t->kernel[0].nparam, 4);
	assert_memory_equal(t->kernel[0].param_offset, offset, sizeof(offset));
	assert_memory_equal(t->kernel[0].param_size, size, sizeof(size));
	assert_int_equal(t->kernel[0].ctl_offset, 48);
	assert_true(t->kernel[0].static_shared >= 40 && t->kernel[0].static_shared <= 48);
	assert_true(t->kernel[0].uses_barrier);
	assert_true(t->kernel[1].nparam == 0 && t->kernel[1].ctl_offset == 0 &&
		    !t->kernel[1].uses_barrier);
	ptx_transformed_free(t);
	expect(".entry k(.param .align 4 .b8 p[32752]) { ret; }", PTX_REASON_NONE, 0);
	expect(".entry k(.param .align 4 .b8 p[32760]) { ret; }", PTX_REASON_PARAMETERS, 1);
	sprintf(text, ".entry k(.param .align 4 .b8 p[%d]) { ret; }", 4088);
	expect_of("\n.version 8.0\n.target sm_90\n.address_size 64\n", text, PTX_REASON_NONE, 0);
	sprintf(text, ".entry k(.param .align 4 .b8 p[%d]) { ret; }", 4092);
	expect_of("\n.version 8.0\n.target sm_90\n.address_size 64\n", text, PTX_REASON_PARAMETERS,
		  1);
	expect(".shared .b8 s[49152];\n.entry k() { .reg .u32 r; mov.u32 r, s; ret; }",
	       PTX_REASON_SHARED_MEMORY, 2);
	expect(".shared .b8 s[49152];\n.entry k() { ret; }", PTX_REASON_NONE, 0);
}

static void modules_that_refuse(void **state)
{
	(void)state;
	expect_of(".version 7.0\n.target sm_75\n", ".entry k() { ret; }", PTX_REASON_ADDRESS_SIZE,
		  0);
	expect_of(".version 5.0\n.target sm_60\n.address_size 64\n", ".entry k() { ret; }",
		  PTX_REASON_ISA_VERSION, 0);
}

static void nothing_to_do(void **state)
{
	struct ptx_transformed *t = transformed_of("");

	(void)state;
	assert_int_equal(t->nkernel, 0);
	assert_int_equal(t->len, 0);
	assert_string_equal(t->text, "");
	ptx_transformed_free(t);
	ptx_transformed_free(NULL);
	t = transformed_of(HEAD "// nothing\n");
	assert_string_equal(t->text, HEAD "// nothing\n");
	ptx_transformed_free(t);
}

static void words_for_everything(void **state)
{
	(void)state;
	for (int r = 0; r < PTX_REASON_COUNT; r++)
		assert_true(strlen(ptx_reason_words((enum ptx_reason)r)) > 3 &&
			    strlen(ptx_reason_name((enum ptx_reason)r)) > 2);
	assert_string_equal(ptx_transform_name(PTX_TRANSFORM_PERSISTENT), "persistent");
	assert_string_equal(ptx_transform_name(PTX_TRANSFORM_GUARDED), "guarded");
	assert_string_equal(ptx_transform_name(PTX_TRANSFORM_SLICED), "sliced");
	assert_string_equal(ptx_transform_name(PTX_TRANSFORM_AS_IS), "as is");
}

/* A 25 MB module of 250 kernels must take less than 5 s of a processor; the measure is printed. */
static void large_module(void **state)
{
	static const char step[] =
		"\tld.global.f32 \t%f1, [%rd1+4];\n\tfma.rn.f32 \t%f2, %f1, %f1, %f2;\n"
		"\tadd.s64 \t%rd1, %rd1, 128;\n\tst.global.f32 \t[%rd1], %f2;\n";
	size_t kernels = 250, size = 25000000, per = size / kernels, n = 0;
	char *text = malloc(size + kernels * 400 + 400);
	struct timespec begin, end;
	struct ptx_transformed *t;
	double seconds;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, "%s", HEAD);
	for (size_t k = 0; k < kernels; k++) {
		size_t stop = n + per;

		n += (size_t)sprintf(
			text + n,
			".visible .entry kernel_%zu(.param .u64 p)\n{\n\t.reg .f32 %%f<9>; .reg .pred %%p<2>;"
			"\n\t.reg .b64 %%rd<9>; .reg .b32 %%r<3>;\n\tmov.u32 %%r1, %%ctaid.x;\n\tmov.u32 %%r2, %%tid.x;\n",
			k);
		for (unsigned i = 0; n < stop; i++) {
			n += (size_t)sprintf(text + n, "%s", step);
			if (i % 8 == 0)
				n += (size_t)sprintf(
					text + n,
					"\tsetp.lt.u32 %%p1, %%r2, %u;\n\t@%%p1 bra $L_%u;\n\tbar.sync 0;\n$L_%u:\n",
					i, i, i);
		}
		n += (size_t)sprintf(text + n, "\tret;\n}\n");
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	t = transformed_of(text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	seconds =
		(double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
	print_message("%zu bytes, %u kernels: %.3f s, %.0f MB/s\n", n, t->nkernel, seconds,
		      (double)n / 1e6 / seconds);
	assert_int_equal(t->nkernel, kernels);
	assert_true(seconds < 5);
	ptx_transformed_free(t);
	free(text);
}

/* A function that reads the index below very many others: no recursion, and all of them are cloned.
 */
static void deep_calls(void **state)
{
	enum { DEEP = 200000 };
	size_t size = DEEP * 40ul + 300, n = 0;
	char *text = malloc(size);
	struct ptx_transformed *t;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, HEAD ".func f0() { .reg .b32 r; mov.u32 r, %%ctaid.x; ret; }\n");
	for (unsigned i = 1; i <= DEEP; i++)
		n += (size_t)sprintf(text + n, ".func f%u() { call f%u; ret; }\n", i, i - 1);
	sprintf(text + n, ".entry k() { call f%u; ret; }\n", (unsigned)DEEP);
	t = transformed_of(text);
	assert_int_equal(t->kernel[0].transform, PTX_TRANSFORM_PERSISTENT);
	assert_non_null(strstr(t->text, ".func f1__gpushare_i("));
	ptx_transformed_free(t);
	free(text);
}

/* One kernel with very many branches must not take time beyond its length. */
static void many_branches(void **state)
{
	size_t count = 40000, n = 0;
	char *text = malloc(count * 80 + 1000);
	struct timespec begin, end;
	struct ptx_transformed *t;

	(void)state;
	assert_non_null(text);
	n += (size_t)sprintf(text, "%s", HEAD ".entry k() { " REGS "mov.u32 %r1, %tid.x;\n");
	for (size_t i = 0; i < count; i++)
		n += (size_t)sprintf(
			text + n,
			"setp.eq.u32 %%p1, %%r1, %zu; @%%p1 bra L%zu;\nL%zu: bar.sync 0;\n", i,
			(i * 7919) % count, i);
	sprintf(text + n, "ret; }\n");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	t = transformed_of(text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(t->nkernel, 1);
	assert_true(end.tv_sec - begin.tv_sec < 5);
	ptx_transformed_free(t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_that_refuse),
		cmocka_unit_test(special_registers),
		cmocka_unit_test(functions),
		cmocka_unit_test(two_bodies_of_one_name),
		cmocka_unit_test(indirect_calls),
		cmocka_unit_test(barriers_and_exits),
		cmocka_unit_test(warps_and_exits),
		cmocka_unit_test(parameters),
		cmocka_unit_test(modules_that_refuse),
		cmocka_unit_test(sets_of_forms),
		cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(words_for_everything),
		cmocka_unit_test(deep_calls),
		cmocka_unit_test(large_module),
		cmocka_unit_test(many_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
