/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lanes that part: where they meet again, who may wait for whom (PTX ISA,
 * "Independent Thread Scheduling"), warp-level synchronisation inside of
 * divergent code, mbarriers.
 */
#define _GNU_SOURCE
#include "emu_run.h"

#define REGS ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<40>;\n"
#define BEGIN(name) \
	".visible .entry " name "(.param .u64 o)\n{\n" REGS \
	"ld.param.u64 %rd0, [o];\nmov.u32 %r0, %tid.x;\n" \
	"mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\nmov.u32 %r1, 0;\n"
#define END "st.global.u32 [%rd1], %r1;\nret;\n}\n"

#define EACH_LANE(n, want) \
	for (uint32_t i = 0; i < (n); i++) \
	assert_int_equal(got[i], (want))

/* All lanes are active behind a nested branch, a loop that is left in two ways, a call and a
 * switch. */
static void meet_again(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; and.b32 %r3, %r0, 2; setp.eq.u32 %p2, %r3, 0;\n"
			 "@%p1 bra a;\n@%p2 bra b;\nadd.u32 %r1, %r1, 1;\nbra inner;\nb: add.u32 %r1, %r1, 2;\ninner: activemask.b32 %r4; bra join;\n"
			 "a: activemask.b32 %r4;\njoin: activemask.b32 %r5; add.u32 %r1, %r4, 0; xor.b32 %r5, %r5, -1; add.u32 %r1, %r1, %r5;\n" END,
	    1, 32);
	EACH_LANE (32, i & 1 ? 0xaaaaaaaa : 0x55555555)
		;
	run(HEAD BEGIN(
		    "k") "mov.u32 %r2, 0;\nagain: setp.eq.u32 %p1, %r2, %r0; @%p1 bra left;\nadd.u32 %r2, %r2, 1;\n"
			 "setp.gt.u32 %p2, %r2, 20; @%p2 bra out; bra again;\nleft: add.u32 %r1, %r1, 100;\nout: activemask.b32 %r3; add.u32 %r1, %r1, %r3;\n" END,
	    1, 32);
	EACH_LANE (32, (i <= 20 ? 100u : 0u) + 0xffffffffu)
		;
	/* recursion to different depths */
	run(HEAD
	    ".func (.reg .b32 r) depth(.reg .b32 n)\n{\n.reg .pred %p<2>; .reg .b32 %r<4>;\nsetp.eq.u32 %p1, n, 0; mov.u32 r, 0; @%p1 ret;\n"
	    "sub.u32 %r1, n, 1; call (%r2), depth, (%r1); add.u32 r, %r2, 2; ret;\n}\n" BEGIN(
		    "k") "and.b32 %r2, %r0, 7; call (%r1), depth, (%r2); activemask.b32 %r3; and.b32 %r3, %r3, 0xff000000; add.u32 %r1, %r1, %r3;\n" END,
	    1, 32);
	EACH_LANE (32, (i & 7) * 2 + 0xff000000u)
		;
}

/* A lane waits for a neighbour that is behind it in the code, and for one that is before it. */
static void lanes_wait_for_lanes(void **state)
{
	(void)state;
	/* lane 0 spins at the lower pc, lane 31 has yet to come */
	run(HEAD BEGIN(
		    "k") "setp.ne.u32 %p1, %r0, 0; @%p1 bra others;\nspin: ld.volatile.global.u32 %r2, [%rd0+400]; setp.eq.u32 %p2, %r2, 0; @%p2 bra spin;\n"
			 "mov.u32 %r1, 7; bra done;\nothers: setp.ne.u32 %p1, %r0, 31; @%p1 bra done; st.volatile.global.u32 [%rd0+400], 1;\ndone:\n" END,
	    1, 32);
	assert_int_equal(got[0], 7);
	/* and at the higher pc */
	run(HEAD BEGIN(
		    "k") "setp.eq.u32 %p1, %r0, 0; @%p1 bra first;\nbra behind;\nfirst: mov.u32 %r3, 0;\nwork: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 5000; @%p2 bra work;\n"
			 "st.volatile.global.u32 [%rd0+400], %r3; bra done;\nbehind: ld.volatile.global.u32 %r1, [%rd0+400]; setp.eq.u32 %p2, %r1, 0; @%p2 bra behind;\ndone:\n" END,
	    1, 32);
	for (uint32_t i = 1; i < 32; i++)
		assert_int_equal(got[i], 5000);
	/* two lanes take turns, 50 times each, at one loop: the counter's parity says whose turn it
	 * is */
	run(HEAD BEGIN(
		    "k") "and.b32 %r4, %r0, 1; mov.u32 %r3, 0; setp.gt.u32 %p3, %r0, 1; @%p3 bra done;\n"
			 "again: ld.volatile.global.u32 %r2, [%rd0+400]; and.b32 %r5, %r2, 1; setp.ne.u32 %p1, %r5, %r4; @%p1 bra again;\n"
			 "add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd0+400], %r2; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 50; @%p2 bra again;\ndone:\n" END,
	    1, 32);
	assert_int_equal(got[100], 100);
	/* a ticket lock: each lane may only go after its predecessor has left */
	run(HEAD BEGIN(
		    "k") "atom.global.add.u32 %r2, [%rd0+400], 1;\nwait: ld.volatile.global.u32 %r3, [%rd0+404]; setp.ne.u32 %p1, %r3, %r2; @%p1 bra wait;\n"
			 "ld.volatile.global.u32 %r4, [%rd0+408]; mad.lo.u32 %r4, %r4, 3, 1; st.volatile.global.u32 [%rd0+408], %r4; membar.gl;\n"
			 "add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd0+404], %r3;\n" END,
	    2, 64);
	{
		uint32_t want = 0;

		for (int i = 0; i < 128; i++)
			want = want * 3 + 1;
		assert_int_equal(got[101], 128);
		assert_int_equal(got[102], want);
	}
}

/* Masks name who takes part; the others are elsewhere, and each half has its own. */
static void partial_masks(void **state)
{
	(void)state;
	/* two quarters exchange through shared memory, each behind its own barrier, the rest is in
	 * a loop */
	run(HEAD BEGIN(
		    "k") ".shared .b32 s[32];\nmov.u32 %r5, s; mad.lo.u32 %r5, %r0, 4, %r5; shr.u32 %r6, %r0, 3; setp.gt.u32 %p1, %r6, 1; @%p1 bra rest;\n"
			 "setp.eq.u32 %p2, %r6, 1; @%p2 bra second;\nst.shared.u32 [%r5], %r0; bar.warp.sync 0xff; xor.b32 %r7, %r0, 7; bra fetch;\n"
			 "second: mul.lo.u32 %r8, %r0, 2; st.shared.u32 [%r5], %r8; bar.warp.sync 0xff00; xor.b32 %r7, %r0, 7;\n"
			 "fetch: mov.u32 %r9, s; mad.lo.u32 %r9, %r7, 4, %r9; ld.shared.u32 %r1, [%r9]; bra done;\n"
			 "rest: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, %r0; @%p3 bra rest;\ndone:\n" END,
	    1, 32);
	EACH_LANE (32, i < 8 ? i ^ 7 : i < 16 ? (i ^ 7) * 2 : i)
		;
	/* lanes come to one vote after loops of different lengths */
	run(HEAD BEGIN(
		    "k") "mov.u32 %r2, 0;\nloop: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r0; @%p1 bra loop;\n"
			 "setp.lt.u32 %p2, %r0, 5; vote.sync.ballot.b32 %r1, %p2, -1;\n" END,
	    1, 32);
	EACH_LANE (32, 0x1f)
		;
	/* even lanes shuffle among themselves in a loop whose turns odd lanes do not make */
	run(HEAD BEGIN(
		    "k") "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r1, %r0; @%p1 bra done;\nmov.u32 %r3, 2;\n"
			 "fold: shfl.sync.bfly.b32 %r4, %r1, %r3, 31, 0x55555555; add.u32 %r1, %r1, %r4; shl.b32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 32; @%p2 bra fold;\ndone:\n" END,
	    1, 32);
	EACH_LANE (32, i & 1 ? i : 240)
		;
	/* a reduction and a match among those that a branch left over */
	run(HEAD BEGIN(
		    "k") "setp.lt.u32 %p1, %r0, 20; @%p1 bra done;\nredux.sync.add.u32 %r1, %r0, 0xfff00000; and.b32 %r2, %r0, 1; match.any.sync.b32 %r3, %r2, 0xfff00000;\n"
			 "popc.b32 %r3, %r3; mad.lo.u32 %r1, %r3, 1000, %r1; elect.sync %r4|%p2, 0xfff00000; @%p2 add.u32 %r1, %r1, 50000;\ndone:\n" END,
	    1, 32);
	EACH_LANE (32, i < 20 ? 0 : 306 + 6000 + (i == 20 ? 50000 : 0))
		;
	/* lanes that have left do not count, whatever the mask says */
	run(HEAD BEGIN(
		    "k") "setp.ge.u32 %p1, %r0, 9; @%p1 ret;\nbar.warp.sync -1; shfl.sync.idx.b32 %r1, %r0, 4, 31, -1; vote.sync.all.pred %p2, 1, -1; @%p2 add.u32 %r1, %r1, 10;\n" END,
	    1, 32);
	EACH_LANE (32, i < 9 ? 14 : 0)
		;
}

/* Threads of one warp come to a block barrier one by one, and from different places. */
static void block_barriers(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") ".shared .b32 s[64];\nmov.u32 %r5, s; mad.lo.u32 %r6, %r0, 4, %r5; st.shared.u32 [%r6], %r0;\nsetp.lt.u32 %p1, %r0, 17; @%p1 bra low;\n"
			 "barrier.sync 0; bra join;\nlow: mov.u32 %r2, 0;\nwork: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r0; @%p2 bra work;\nbarrier.sync 0;\n"
			 "join: xor.b32 %r7, %r0, 63; mad.lo.u32 %r7, %r7, 4, %r5; ld.shared.u32 %r1, [%r7];\n" END,
	    1, 64);
	EACH_LANE (64, i ^ 63)
		;
	/* a counted barrier of two warps of which lanes have left */
	run(HEAD BEGIN(
		    "k") "and.b32 %r2, %r0, 31; setp.gt.u32 %p1, %r2, 11; @%p1 ret; setp.ge.u32 %p2, %r0, 64; @%p2 bra done;\nsetp.lt.u32 %p3, %r2, 5; @%p3 bra some;\n"
			 "bar.sync 2, 64; bra done;\nsome: bar.sync 2, 64;\ndone: add.u32 %r1, %r0, 1;\n" END,
	    1, 96);
	EACH_LANE (96, i % 32 <= 11 ? i + 1 : 0)
		;
}

/* mbarriers: phases, tokens and parities, drops, bytes to come. */
static void mbarriers(void **state)
{
	(void)state;
	/* 64 threads, three phases by token; everyone sees what the others wrote in the phase
	 * before */
	run(HEAD BEGIN(
		    "k") ".shared .align 8 .b64 m; .shared .b32 s[64];\nmov.u32 %r5, m; mov.u32 %r6, s; setp.ne.u32 %p1, %r0, 0; @%p1 bra wait;\nmbarrier.init.shared::cta.b64 [%r5], 64;\n"
			 "wait: bar.sync 0; mad.lo.u32 %r7, %r0, 4, %r6; st.shared.u32 [%r7], %r0; mov.u32 %r2, 0;\n"
			 "phase: mbarrier.arrive.shared::cta.b64 %rd2, [%r5];\ntry: mbarrier.try_wait.shared::cta.b64 %p2, [%r5], %rd2; @!%p2 bra try;\n"
			 "add.u32 %r8, %r0, 1; and.b32 %r8, %r8, 63; mad.lo.u32 %r8, %r8, 4, %r6; ld.shared.u32 %r9, [%r8]; mbarrier.arrive.shared::cta.b64 %rd2, [%r5];\n"
			 "try2: mbarrier.test_wait.shared::cta.b64 %p2, [%r5], %rd2; @!%p2 bra try2; st.shared.u32 [%r7], %r9; add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra phase;\n"
			 "bar.sync 0; ld.shared.u32 %r1, [%r7];\n" END,
	    1, 64);
	EACH_LANE (64, (i + 3) & 63)
		;
	/* by parity, and with counts: one warp arrives for both, in whole or not at all */
	run(HEAD BEGIN(
		    "k") ".shared .align 8 .b64 m;\nmov.u32 %r5, m; setp.ne.u32 %p1, %r0, 0; @%p1 bra wait;\nmbarrier.init.shared.b64 [%r5], 40;\nwait: bar.sync 0;\n"
			 "setp.lt.u32 %p2, %r0, 32; @%p2 bra consume;\nsetp.ne.u32 %p3, %r0, 50; @%p3 bra done; st.global.u32 [%rd0+800], 9; mbarrier.arrive.shared.b64 _, [%r5], 30;\n"
			 "mbarrier.arrive.shared.b64 %rd3, [%r5], 10; mbarrier.pending_count.b64 %r1, %rd3; bra done;\n"
			 "consume: mbarrier.try_wait.parity.shared.b64 %p4, [%r5], 0; @!%p4 bra consume; ld.global.u32 %r1, [%rd0+800];\n"
			 "mbarrier.test_wait.parity.shared.b64 %p4, [%r5], 1; @%p4 add.u32 %r1, %r1, 100;\ndone:\n" END,
	    1, 64);
	EACH_LANE (64, i < 32 ? 9 : i == 50 ? 10 : 0)
		;
	/* who drops out is not waited for in the next phase; bytes announced have to come */
	run(HEAD BEGIN(
		    "k") ".shared .align 8 .b64 m;\nmov.u32 %r5, m; setp.ne.u32 %p1, %r0, 0; @%p1 bra done;\nmbarrier.init.shared.b64 [%r5], 2;\n"
			 "mbarrier.arrive_drop.shared.b64 _, [%r5]; mbarrier.arrive.shared.b64 %rd2, [%r5]; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd2; @%p2 add.u32 %r1, %r1, 1;\n"
			 "mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r5], 48; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd2; @!%p2 add.u32 %r1, %r1, 10;\n"
			 "mbarrier.complete_tx.shared.b64 [%r5], 32; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd2; @!%p2 add.u32 %r1, %r1, 100;\n"
			 "mbarrier.complete_tx.shared.b64 [%r5], 16; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd2; @%p2 add.u32 %r1, %r1, 1000;\n"
			 "cp.async.mbarrier.arrive.shared.b64 [%r5]; cp.async.mbarrier.arrive.noinc.shared.b64 [%r5]; mbarrier.test_wait.parity.shared.b64 %p2, [%r5], 0; @%p2 add.u32 %r1, %r1, 10000;\n"
			 "mbarrier.inval.shared.b64 [%r5];\ndone:\n" END,
	    1, 32);
	assert_int_equal(got[0], 11111);
}

/* Local memory that a function takes as it goes, another amount in each lane, and a call in
 * between. */
static void dynamic_stack(void **state)
{
	(void)state;
	run(HEAD
	    ".func (.reg .b32 r) sum(.reg .b64 n)\n{\n.reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<9>; .local .b32 fixed[4];\nst.local.u32 [fixed], 9999;\n"
	    "mul.lo.u64 %rd1, n, 4; alloca.u64 %rd2, %rd1, 16; mov.u64 %rd3, 0;\n"
	    "fill: shl.b64 %rd4, %rd3, 2; add.u64 %rd4, %rd2, %rd4; cvt.u32.u64 %r1, %rd3; st.local.u32 [%rd4], %r1; add.u64 %rd3, %rd3, 1; setp.lt.u64 %p1, %rd3, n; @%p1 bra fill;\n"
	    "mov.u32 %r2, 0; setp.le.u64 %p2, n, 1; @%p2 bra own; sub.u64 %rd5, n, 1; call (%r2), sum, (%rd5);\n"
	    "own: mov.u64 %rd3, 0; mov.u32 r, %r2;\nadd: shl.b64 %rd4, %rd3, 2; add.u64 %rd4, %rd2, %rd4; ld.local.u32 %r1, [%rd4]; add.u32 r, r, %r1; add.u64 %rd3, %rd3, 1;\n"
	    "setp.lt.u64 %p1, %rd3, n; @%p1 bra add; ret;\n}\n" BEGIN(
		    "k") "and.b32 %r2, %r0, 7; add.u32 %r2, %r2, 1; cvt.u64.u32 %rd2, %r2; stacksave.u64 %rd3; alloca.u64 %rd4, %rd2, 16; stackrestore.u64 %rd3; call (%r1), sum, (%rd2);\n" END,
	    1, 32);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t want = 0;

		for (uint32_t n = 1; n <= (i & 7) + 1; n++)
			want += n * (n - 1) / 2;
		assert_int_equal(got[i], want);
	}
}

/* Vectors and 128 bits at once. */
static void wide_atomics(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") ".reg .f32 %f<8>; red.global.add.v2.f32 [%rd0+256], {0f3f800000, 0f40000000};\n"
			 "atom.global.add.noftz.v2.f16x2 {%r2, %r3}, [%rd0+264], {0x3c003c00, 0x00003c00};\n"
			 "ret;\n}\n",
	    4, 32);
	assert_int_equal(got[64], 0x43000000); /* 128 */
	assert_int_equal(got[65], 0x43800000); /* 256 */
	assert_int_equal(got[66], 0x58005800);
	assert_int_equal(got[67], 0x00005800);
	/* a pair that always agrees: low counts, high is its complement */
	run(HEAD BEGIN(
		    "k") ".reg .b128 %q<4>;\nmov.u64 %rd2, 0; mov.b128 %q0, {%rd2, %rd2};\n"
			 "again: ld.global.b128 %q1, [%rd0+256]; mov.b128 {%rd3, %rd4}, %q1; add.u64 %rd5, %rd3, 1; add.u64 %rd6, %rd4, 3; mov.b128 %q2, {%rd5, %rd6};\n"
			 "atom.global.cas.b128 %q3, [%rd0+256], %q1, %q2; mov.b128 {%rd7, %rd8}, %q3; setp.ne.u64 %p1, %rd7, %rd3; setp.ne.or.u64 %p2, %rd8, %rd4, %p1; @%p2 bra again;\nret;\n}\n",
	    4, 64);
	assert_int_equal(got[64], 256);
	assert_int_equal(got[66], 768);
	run(HEAD BEGIN(
		    "k") ".reg .b128 %q<4>;\nmov.u64 %rd2, 5; mov.u64 %rd3, 6; mov.b128 %q0, {%rd2, %rd3}; st.global.b128 [%rd0+256], %q0; mov.b128 %q0, {%rd3, %rd2};\n"
			 "atom.global.exch.b128 %q1, [%rd0+256], %q0; mov.b128 {%rd4, %rd5}, %q1; mad.lo.u64 %rd4, %rd4, 10, %rd5; cvt.u32.u64 %r1, %rd4;\n" END,
	    1, 1);
	assert_int_equal(got[0], 56);
	assert_int_equal(got[64], 6);
	assert_int_equal(got[66], 5);
}

static int setup(void **state)
{
	emu_test_begin(state);
	OK(cuMemAlloc(&out, sizeof(got)));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meet_again),    cmocka_unit_test(lanes_wait_for_lanes),
		cmocka_unit_test(partial_masks), cmocka_unit_test(block_barriers),
		cmocka_unit_test(mbarriers),     cmocka_unit_test(dynamic_stack),
		cmocka_unit_test(wide_atomics),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, setup, emu_test_end);
}
