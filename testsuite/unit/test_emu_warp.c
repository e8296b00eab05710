/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads together: divergence, reconvergence, locks, barriers, shuffles, calls, blocks that wait
 * for blocks. */
#define _GNU_SOURCE
#include "emu_run.h"

#define REGS ".reg .pred %p<10>; .reg .b32 %r<40>; .reg .b64 %rd<40>;\n"
#define BEGIN(name) \
	".visible .entry " name "(.param .u64 o)\n{\n" REGS \
	"ld.param.u64 %rd0, [o];\nmov.u32 %r0, %tid.x;\n" \
	"mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\n"
#define END "st.global.u32 [%rd1], %r1;\nret;\n}\n"

/* Both arms run, and every lane is active again behind them. */
static void reconvergence(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "and.b32 %r2, %r0, 1;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra even;\nadd.s32 %r1, %r0, 1000;\nbra.uni join;\n"
			 "even:\nmul.lo.s32 %r1, %r0, 3;\n"
			 "join:\nactivemask.b32 %r3;\nxor.b32 %r1, %r1, %r3;\n" END,
	    1, 64);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(got[i], (i & 1 ? i + 1000 : i * 3) ^ 0xffffffffu);
}

/* Each lane leaves the loop after another number of turns. */
static void loops(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
			 "again:\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r2, %r2, 1;\nsetp.le.u32 %p1, %r2, %r0;\n@%p1 bra again;\n"
			 "shfl.sync.idx.b32 %r3, %r1, 31, 31, -1;\nadd.u32 %r1, %r1, %r3;\n" END,
	    1, 32);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[i], i * (i + 1) / 2 + 31 * 32 / 2);
}

/* A lock taken by lanes of one warp in turn: needs progress for the holder while the others spin at
 * a lower pc. */
static void spin_lock(void **state)
{
	(void)state;
	run(HEAD
	    ".visible .entry k(.param .u64 o)\n{\n" REGS "ld.param.u64 %rd0, [o];\n"
	    "again:\natom.global.cas.b32 %r1, [%rd0], 0, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra again;\n"
	    "ld.volatile.global.u32 %r2, [%rd0+4];\nadd.u32 %r2, %r2, 1;\nst.volatile.global.u32 [%rd0+4], %r2;\nmembar.gl;\n"
	    "atom.global.exch.b32 %r3, [%rd0], 0;\nret;\n}\n",
	    6, 96);
	assert_int_equal(got[1], 6 * 96);
}

/* A barrier in a loop; values cross warps. */
static void barriers(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") ".shared .align 4 .b32 s[256];\nmov.u32 %r5, s;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\nst.shared.u32 [%r6], %r0;\n"
			 "mov.u32 %r2, 0;\nmov.u32 %r1, 0;\n"
			 "again:\nbar.sync 0;\nadd.u32 %r7, %r0, %r2;\nand.b32 %r7, %r7, 255;\nshl.b32 %r7, %r7, 2;\nadd.u32 %r7, %r5, %r7;\n"
			 "ld.shared.u32 %r8, [%r7];\nadd.u32 %r1, %r1, %r8;\nbar.sync 0;\nadd.u32 %r8, %r8, 1;\nst.shared.u32 [%r7], %r8;\n"
			 "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 10;\n@%p1 bra again;\n" END,
	    1, 256);
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t want = 0;

		for (uint32_t k = 0; k < 10; k++)
			want += ((i + k) & 255) + k;
		assert_int_equal(got[i], want);
	}
}

/* Threads that have left no longer count; named and counted barriers; reductions. */
static void barrier_forms(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "setp.ge.u32 %p1, %r0, 70;\n@%p1 ret;\n"
			 "setp.lt.u32 %p2, %r0, 33;\nbarrier.sync 0;\nbar.red.popc.u32 %r1, 0, %p2;\n"
			 "bar.red.or.pred %p3, 0, %p2;\nbar.red.and.pred %p4, 0, !%p2;\n@%p3 add.u32 %r1, %r1, 1000;\n@%p4 add.u32 %r1, %r1, 5000;\n" END,
	    1, 128);
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(got[i], i < 70 ? 1033 : 0);
	/* warp 0 produces, warp 1 consumes */
	run(HEAD BEGIN(
		    "k") ".shared .b32 s;\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra consume;\nst.shared.u32 [s], 77;\nbar.arrive 3, 64;\nmov.u32 %r1, 1;\nbra.uni done;\n"
			 "consume:\nbar.sync 3, 64;\nld.shared.u32 %r1, [s];\ndone:\n" END,
	    1, 64);
	assert_int_equal(got[0], 1);
	assert_int_equal(got[40], 77);
}

static void warp_operations(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "setp.lt.u32 %p1, %r0, 5;\nvote.sync.ballot.b32 %r1, %p1, -1;\n"
			 "shfl.sync.up.b32 %r2|%p2, %r0, 1, 0, -1;\nselp.u32 %r3, %r2, 99, %p2;\nadd.u32 %r1, %r1, %r3;\n"
			 "shfl.sync.bfly.b32 %r4, %r0, 16, 31, -1;\nadd.u32 %r1, %r1, %r4;\n"
			 "and.b32 %r5, %r0, 3;\nmatch.any.sync.b32 %r6, %r5, -1;\nadd.u32 %r1, %r1, %r6;\n"
			 "vote.sync.all.pred %p3, %p1, -1;\n@%p3 add.u32 %r1, %r1, 1;\nvote.sync.any.pred %p3, %p1, -1;\n@%p3 add.u32 %r1, %r1, 2;\n"
			 "redux.sync.add.s32 %r7, %r0, -1;\nadd.u32 %r1, %r1, %r7;\n" END,
	    1, 32);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[i], 0x1f + (i ? i - 1 : 99) + (i ^ 16) +
						 (0x11111111u << (i & 3)) + 2 + 496);
}

/* Lanes reach the sync by different paths and at different times; the mask says who takes part. */
static void warp_sync_divergent(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") ".shared .align 4 .b32 s[32];\nmov.u32 %r5, s;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\n"
			 "setp.lt.u32 %p1, %r0, 16;\n@%p1 bra low;\nst.shared.u32 [%r6], 7;\nbar.warp.sync -1;\nbra.uni join;\n"
			 "low:\nbar.warp.sync -1;\nld.shared.u32 %r1, [%r6+64];\njoin:\n" END,
	    1, 32);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(got[i], 7);
	run(HEAD BEGIN(
		    "k") "setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra high;\nshfl.sync.idx.b32 %r1, %r0, 3, 31, 0xffff;\nbra.uni join;\n"
			 "high:\nshfl.sync.idx.b32 %r1, %r0, 20, 31, 0xffff0000;\njoin:\n" END,
	    1, 32);
	assert_int_equal(got[9], 3);
	assert_int_equal(got[30], 20);
}

static void calls(void **state)
{
	(void)state;
	run(HEAD
	    ".func (.param .b32 r) fact(.param .b32 n)\n{\n" REGS
	    "ld.param.u32 %r1, [n];\nmov.u32 %r2, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra out;\n"
	    "sub.u32 %r3, %r1, 1;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r3;\ncall.uni (b), fact, (a);\nld.param.b32 %r4, [b];\n}\n"
	    "mul.lo.u32 %r2, %r4, %r1;\nout:\nst.param.b32 [r], %r2;\nret;\n}\n" BEGIN(
		    "k") "rem.u32 %r2, %r0, 9;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r2;\ncall (b), fact, (a);\nld.param.b32 %r1, [b];\n}\n" END,
	    1, 64);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t want = 1;

		for (uint32_t k = 2; k <= i % 9; k++)
			want *= k;
		assert_int_equal(got[i], want);
	}
}

static void branch_tables(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "rem.u32 %r2, %r0, 3;\ntab: .branchtargets a, b, c;\nbrx.idx %r2, tab;\n"
			 "a:\nmov.u32 %r1, 10;\nbra.uni join;\nb:\nmov.u32 %r1, 20;\nbra.uni join;\nc:\nmov.u32 %r1, 30;\njoin:\n" END,
	    1, 32);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[i], (i % 3 + 1) * 10);
}

/* Block n waits for block n-1 (a look-back scan's shape): blocks are taken in order and interleave.
 */
static void blocks_wait_for_blocks(void **state)
{
	(void)state;
	run(HEAD
	    ".visible .entry k(.param .u64 o)\n{\n" REGS
	    "ld.param.u64 %rd0, [o];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r9, %tid.x;\n"
	    "setp.ne.u32 %p1, %r9, 0;\n@%p1 ret;\n"
	    "wait:\nld.acquire.gpu.global.u32 %r2, [%rd0];\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra wait;\n"
	    "mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd0, %rd1;\nadd.u32 %r3, %r1, 5;\nst.global.u32 [%rd1+4], %r3;\n"
	    "add.u32 %r2, %r2, 1;\nst.release.gpu.global.u32 [%rd0], %r2;\nret;\n}\n",
	    200, 64);
	assert_int_equal(got[0], 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(got[i + 1], i + 5);
}

static void atomics_across_blocks(void **state)
{
	(void)state;
	run(HEAD
	    ".visible .entry k(.param .u64 o)\n{\n" REGS
	    ".reg .f32 %f<4>;\nld.param.u64 %rd0, [o];\nmov.u32 %r0, %tid.x;\n"
	    "red.global.add.u32 [%rd0], 1;\natom.global.add.f32 %f1, [%rd0+4], 0f3f800000;\nred.global.max.u32 [%rd0+8], %r0;\n"
	    "atom.global.xor.b32 %r2, [%rd0+12], 1;\nred.global.add.u64 [%rd0+16], 3;\nret;\n}\n",
	    64, 256);
	assert_int_equal(got[0], 64 * 256);
	assert_int_equal(got[1], 0x46800000); /* 16384.0f */
	assert_int_equal(got[2], 255);
	assert_int_equal(got[3], 0);
	assert_int_equal(got[4], 3 * 64 * 256);
}

static void special_registers(void **state)
{
	(void)state;
	run(HEAD BEGIN(
		    "k") "mov.u32 %r1, %laneid;\nmov.u32 %r2, %warpid;\nmad.lo.u32 %r1, %r2, 100, %r1;\nmov.u32 %r3, %lanemask_lt;\nadd.u32 %r1, %r1, %r3;\n"
			 "mov.u32 %r4, %ntid.x;\nmad.lo.u32 %r1, %r4, 1000, %r1;\n" END,
	    1, 40);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(got[i], i / 32 * 100 + i % 32 + ((1u << i % 32) - 1) + 40000);
}

static double processor_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Long sleeps take the time that they say, and no processor. */
static void sleeps(void **state)
{
	double processor = processor_seconds(), began = emu_test_seconds();

	(void)state;
	run(HEAD BEGIN(
		    "k") "mov.u32 %r1, 0;\nagain:\nnanosleep.u32 1000000;\nadd.u32 %r1, %r1, 1;\n"
			 "setp.lt.u32 %p0, %r1, 50;\n@%p0 bra again;\n" END,
	    1, 32);
	assert_int_equal(got[31], 50);
	assert_true(emu_test_seconds() - began >= 0.05);
	assert_true(processor_seconds() - processor < (emu_test_seconds() - began) / 2);
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
		cmocka_unit_test(reconvergence),
		cmocka_unit_test(loops),
		cmocka_unit_test(spin_lock),
		cmocka_unit_test(barriers),
		cmocka_unit_test(barrier_forms),
		cmocka_unit_test(warp_operations),
		cmocka_unit_test(warp_sync_divergent),
		cmocka_unit_test(calls),
		cmocka_unit_test(branch_tables),
		cmocka_unit_test(blocks_wait_for_blocks),
		cmocka_unit_test(atomics_across_blocks),
		cmocka_unit_test(special_registers),
		cmocka_unit_test(sleeps),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, setup, emu_test_end);
}
