/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker around a rewritten body (EffiSha, section 5, Figure 5; the
 * adaptive chunk stands for its section 6.3; ctl.h has the protocol).
 *
 * Across the body one register lives: %__gpushare_left, the block-tasks left
 * of the claim in bits 0 to 29, whether the claim ends in another row than it
 * began in bit 30, and the slot that holds the claim in bit 31; and x, if the body
 * reads the index at all: it is one addition away from the next.
 * The rest is in shared memory, 112 bytes at __gpushare_slot:
 *    0, 16  two slots { x, y, z of the first block-task, number of block-tasks as in left }
 *   32, 36  the original grid's %nctaid.x and .y
 *   40      chunk, 44: time of the last claim (ns, low half)
 *   48      total (u64), 56: chunk_ns, 60: chunk_max, of the control block
 *   64      binary logarithm of the workers, plus 2; 68: the workers
 *   72, 76  the last even and odd round in which a thread met a barrier of the body
 *   80      four counts of a reduction over the block, by round
 *   96      1: claims read no limit, since the proxy makes them fail, or since this worker does
 *           not stay; 2: this one was the proxy, and has told the slot
 *  100      the limit that such claims go by: that when the launch began; 0 in the other case
 *  104      the last claim's first block-task (u64)
 * Thread 0 fills the slot that is not in use, so it need not wait until the slowest warp has read
 * the other; a barrier stands between its writing and the reading, and another one before it
 * writes that slot again.
 */
#define _GNU_SOURCE
#include "device/ptx/variant.h"

static const char declarations[] =
	"\n\t.reg .pred %__gpushare_p, %__gpushare_q;\n"
	"\t.reg .b32 %__gpushare_left, %__gpushare_round, %__gpushare_r<11>;\n"
	"\t.reg .b32 %__gpushare_x, %__gpushare_y, %__gpushare_z;\n"
	"\t.reg .b32 %__gpushare_nx, %__gpushare_ny, %__gpushare_nz;\n"
	"\t.reg .b64 %__gpushare_ctl, %__gpushare_d<4>;\n"
	"\t.shared .align 16 .b8 __gpushare_slot[112];\n";

/* Thread 0 prepares its shared words; that of worker 0 tells the slot that the launch has begun. */
static const char entry_code[] =
	"\tmov.u32 %__gpushare_left, 0;\n"
	"\tmov.u32 %__gpushare_round, 0;\n" PTX_NOT_THREAD_0
	"\t@%__gpushare_q bra $__gpushare_meet;\n" PTX_LOAD_CTL
	"\tld.global.u64 %__gpushare_d1, [%__gpushare_ctl+80];\n"
	"\tld.global.v2.u32 {%__gpushare_r0, %__gpushare_r1}, [%__gpushare_ctl+88];\n"
	"\tld.global.u32 %__gpushare_r2, [%__gpushare_ctl+68];\n"
	"\tld.global.v2.u32 {%__gpushare_r3, %__gpushare_r4}, [%__gpushare_ctl+72];\n"
	"\tld.global.u32 %__gpushare_r5, [%__gpushare_ctl+100];\n"
	"\tld.global.u32 %__gpushare_r6, [%__gpushare_ctl+116];\n"
	"\t$L.u32 %__gpushare_r7, [%__gpushare_ctl+64];\n"
	"\tld.global.u32 %__gpushare_r8, [%__gpushare_ctl+124];\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r8, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_here;\n"
	"\tcvt.u64.u32 %__gpushare_d2, %__gpushare_r8;\n"
	"\tadd.u64 %__gpushare_d2, %__gpushare_ctl, %__gpushare_d2;\n"
	"\t$L.u32 %__gpushare_r8, [%__gpushare_d2];\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r8, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_here;\n"
	"\tsetp.ge.s32 %__gpushare_q, %__gpushare_r8, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_place;\n"
	"\tand.b32 %__gpushare_r8, %__gpushare_r8, 0x7ff;\n"
	"\tmul.lo.u32 %__gpushare_r8, %__gpushare_r8, %__gpushare_r5;\n"
	"\tshr.u32 %__gpushare_r8, %__gpushare_r8, 10;\n"
	"\tmax.u32 %__gpushare_r8, %__gpushare_r8, 2;\n"
	"\tmov.u32 %__gpushare_r9, %ctaid.x;\n"
	"\tbra $__gpushare_compare;\n"
	"$__gpushare_place:\n"
	"\tmov.u32 %__gpushare_r9, %smid;\n"
	"\tand.b32 %__gpushare_r10, %__gpushare_r8, 0xffff;\n"
	"\tshr.u32 %__gpushare_r8, %__gpushare_r8, 16;\n"
	"\tsub.u32 %__gpushare_r8, %__gpushare_r8, %__gpushare_r10;\n"
	"\tsub.u32 %__gpushare_r9, %__gpushare_r9, %__gpushare_r10;\n"
	"$__gpushare_compare:\n"
	"\tsetp.lt.u32 %__gpushare_q, %__gpushare_r9, %__gpushare_r8;\n"
	"\t@%__gpushare_q bra $__gpushare_here;\n"
	"\tmov.u32 %__gpushare_r6, 1;\n"
	"\tmov.u32 %__gpushare_r7, 0;\n"
	"$__gpushare_here:\n"
	"\tmov.u64 %__gpushare_d0, 0;\n"
	"\tst.shared.v2.u32 [__gpushare_slot+96], {%__gpushare_r6, %__gpushare_r7};\n"
	"\tst.shared.u64 [__gpushare_slot+104], %__gpushare_d0;\n"
	"\tst.shared.v2.u32 [__gpushare_slot+32], {%__gpushare_r0, %__gpushare_r1};\n"
	"\tst.shared.u64 [__gpushare_slot+48], %__gpushare_d1;\n"
	"\tmax.u32 %__gpushare_r2, %__gpushare_r2, 1;\n"
	"\tmin.u32 %__gpushare_r2, %__gpushare_r2, 0x20000000;\n"
	"\tmov.u32 %__gpushare_r0, %globaltimer_lo;\n"
	"\tst.shared.v2.u32 [__gpushare_slot+40], {%__gpushare_r2, %__gpushare_r0};\n"
	"\tmin.u32 %__gpushare_r3, %__gpushare_r3, 0x20000000;\n"
	"\tst.shared.v2.u32 [__gpushare_slot+56], {%__gpushare_r4, %__gpushare_r3};\n"
	"\tst.shared.u32 [__gpushare_slot+68], %__gpushare_r5;\n"
	"\tbfind.u32 %__gpushare_r5, %__gpushare_r5;\n"
	"\tadd.u32 %__gpushare_r5, %__gpushare_r5, 2;\n"
	"\tmov.u32 %__gpushare_r0, 0;\n"
	"\tst.shared.u32 [__gpushare_slot+64], %__gpushare_r5;\n"
	"\tst.shared.v2.u32 [__gpushare_slot+72], {%__gpushare_r0, %__gpushare_r0};\n"
	"\tst.shared.v4.u32 [__gpushare_slot+80], {%__gpushare_r0, %__gpushare_r0, %__gpushare_r0, %__gpushare_r0};\n" PTX_TELL_STARTED;

/*
 * The proxy of an eviction is the last one out itself: it waits until all others have counted
 * themselves out, and has all that is to be told in registers.  (The one who counts last would read
 * the control block first, behind a fence.)  One fence is left: a relaunch goes out in a stream of
 * the shim's own, which waits for nothing but the slot (agent.c), and must find these words and all
 * that the others wrote before they counted themselves out. When nothing is left to do the last one
 * out tells as ever.
 */
static const char proxy_report_code[] =
	"\tld.shared.u64 %__gpushare_d2, [__gpushare_slot+48];\n"
	"\tsetp.ge.u64 %__gpushare_q, %__gpushare_d1, %__gpushare_d2;\n"
	"\t@%__gpushare_q bra $__gpushare_watched;\n"
	"\tld.global.u32 %__gpushare_r2, [%__gpushare_ctl+100];\n"
	"$__gpushare_alone:\n"
	"\t$L.u32 %__gpushare_r1, [%__gpushare_ctl+8];\n"
	"\tadd.u32 %__gpushare_r1, %__gpushare_r1, 1;\n"
	"\tsetp.lt.u32 %__gpushare_q, %__gpushare_r1, %__gpushare_r2;\n"
	"\t@%__gpushare_q bra $__gpushare_alone;\n"
	"\tmov.u32 %__gpushare_r0, 0;\n"
	"\tmov.u32 %__gpushare_r1, 0xffffffff;\n"
	"\tst.global.u64 [%__gpushare_ctl], %__gpushare_d1;\n"
	"\tst.global.u32 [%__gpushare_ctl+8], %__gpushare_r0;\n"
	"\tst.global.u32 [%__gpushare_ctl+64], %__gpushare_r1;\n"
	"\tmembar.sys;\n"
	"\tmov.b64 {%__gpushare_r2, %__gpushare_r3}, %__gpushare_d1;\n"
	"\tmov.u32 %__gpushare_r1, 1;\n"
	"\t$S.v4.u32 [%__gpushare_d0], {%__gpushare_r1, %__gpushare_r1, %__gpushare_r2, %__gpushare_r3};\n"
	"\tmov.u32 %__gpushare_r0, 2;\n"
	"\tst.shared.u32 [__gpushare_slot+96], %__gpushare_r0;\n";

/* The boundary: the next block-task of the claim, or a new claim by thread 0. */
static const char boundary_code[] =
	"\tsub.u32 %__gpushare_left, %__gpushare_left, 1;\n"
	"\tand.b32 %__gpushare_r0, %__gpushare_left, 0x3fffffff;\n"
	"\tsetp.ne.u32 %__gpushare_p, %__gpushare_r0, 0;\n"
	"\t@%__gpushare_p bra $M;\n" PTX_NOT_THREAD_0 "\t@%__gpushare_q bra $__gpushare_meet;\n";

/* A claim that took less than chunk_ns doubles the chunk, more than twice that halves it. */
static const char adapt_code[] =
	PTX_LOAD_CTL "\tld.shared.v2.u32 {%__gpushare_r1, %__gpushare_r0}, [__gpushare_slot+56];\n"
		     "\tsetp.eq.u32 %__gpushare_q, %__gpushare_r1, 0;\n"
		     "\t@%__gpushare_q bra $__gpushare_claim;\n"
		     "\tmov.u32 %__gpushare_r2, %globaltimer_lo;\n"
		     "\tld.shared.v2.u32 {%__gpushare_r3, %__gpushare_r4}, [__gpushare_slot+40];\n"
		     "\tsub.u32 %__gpushare_r4, %__gpushare_r2, %__gpushare_r4;\n"
		     "\tsetp.lt.u32 %__gpushare_q, %__gpushare_r4, %__gpushare_r1;\n"
		     "\tshl.b32 %__gpushare_r5, %__gpushare_r3, 1;\n"
		     "\tmin.u32 %__gpushare_r5, %__gpushare_r5, %__gpushare_r0;\n"
		     "\t@%__gpushare_q mov.u32 %__gpushare_r3, %__gpushare_r5;\n"
		     "\tshr.u32 %__gpushare_r4, %__gpushare_r4, 1;\n"
		     "\tsetp.gt.u32 %__gpushare_q, %__gpushare_r4, %__gpushare_r1;\n"
		     "\t@%__gpushare_q shr.u32 %__gpushare_r3, %__gpushare_r3, 1;\n"
		     "\tmax.u32 %__gpushare_r3, %__gpushare_r3, 1;\n"
		     "\tst.shared.v2.u32 [__gpushare_slot+40], {%__gpushare_r3, %__gpushare_r2};\n";

/*
 * Ascending claims, each finished: successors may spin on predecessors
 * (look-back scans).  An adaptive chunk is at most a fair share of what is
 * left, remaining / (4 x workers), so that the last claims end together; what
 * is left is known from the last claim.  Every access to the control block's
 * words here is one of a million to the same line of L2 on a kernel of tiny
 * block-tasks (measured: two loads and the claim made it 4.8 times slower than
 * the original, the same with hand-written code and one load 1.4 times).
 */
static const char claim_code[] =
	"$__gpushare_claim:\n"
	"\tld.shared.v2.u32 {%__gpushare_r3, %__gpushare_r4}, [__gpushare_slot+96];\n"
	"\tld.shared.u64 %__gpushare_d0, [__gpushare_slot+104];\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r3, 0;\n"
	"\t@%__gpushare_q $L.u32 %__gpushare_r4, [%__gpushare_ctl+64];\n"
	"\tld.shared.u64 %__gpushare_d2, [__gpushare_slot+48];\n"
	"\tld.shared.u32 %__gpushare_r6, [__gpushare_slot+40];\n"
	"\tld.shared.u32 %__gpushare_r5, [__gpushare_slot+56];\n"
	"\tcvt.u64.u32 %__gpushare_d1, %__gpushare_r6;\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r5, 0;\n"
	"\t@%__gpushare_q bra $__gpushare_chunk;\n"
	"\tld.shared.u32 %__gpushare_r5, [__gpushare_slot+64];\n"
	"\tsub.u64 %__gpushare_d3, %__gpushare_d2, %__gpushare_d0;\n"
	"\tmax.s64 %__gpushare_d3, %__gpushare_d3, 0;\n"
	"\tshr.u64 %__gpushare_d3, %__gpushare_d3, %__gpushare_r5;\n"
	"\tmin.u64 %__gpushare_d1, %__gpushare_d1, %__gpushare_d3;\n"
	"\tmax.u64 %__gpushare_d1, %__gpushare_d1, 1;\n"
	"$__gpushare_chunk:\n"
	"\tmov.u32 %__gpushare_r0, 0;\n"
	"\tmov.u32 %__gpushare_r1, 0;\n"
	"\tmov.u32 %__gpushare_r2, 0;\n"
	"\tmov.u32 %__gpushare_r3, 0;\n"
	"\tmov.u32 %__gpushare_r5, %ctaid.x;\n"
	"\tsetp.ge.u32 %__gpushare_q, %__gpushare_r5, %__gpushare_r4;\n"
	"\t@%__gpushare_q bra $__gpushare_publish;\n"
	"\tatom.global.add.u64 %__gpushare_d0, [%__gpushare_ctl], %__gpushare_d1;\n"
	"\tst.shared.u64 [__gpushare_slot+104], %__gpushare_d0;\n"
	"\tsetp.ge.u64 %__gpushare_q, %__gpushare_d0, %__gpushare_d2;\n"
	"\t@%__gpushare_q bra $__gpushare_publish;\n"
	"\tsub.u64 %__gpushare_d3, %__gpushare_d2, %__gpushare_d0;\n"
	"\tmin.u64 %__gpushare_d1, %__gpushare_d1, %__gpushare_d3;\n"
	"\tcvt.u32.u64 %__gpushare_r3, %__gpushare_d1;\n"
	"\tmov.b64 {%__gpushare_r0, %__gpushare_r6}, %__gpushare_d0;\n"
	"\tld.shared.u32 %__gpushare_r4, [__gpushare_slot+32];\n"
	"\tcvt.u64.u32 %__gpushare_d1, %__gpushare_r4;\n"
	"\tsetp.eq.u64 %__gpushare_q, %__gpushare_d1, %__gpushare_d2;\n"
	"\t@%__gpushare_q bra $__gpushare_publish;\n";

/* Does the claim go on in the next row?  r0: its first x, r3: its length. */
static const char row_code[] =
	"\tld.shared.u32 %__gpushare_r4, [__gpushare_slot+32];\n"
	"\tadd.u32 %__gpushare_r5, %__gpushare_r0, %__gpushare_r3;\n"
	"\tsetp.gt.u32 %__gpushare_q, %__gpushare_r5, %__gpushare_r4;\n"
	"\t@%__gpushare_q or.b32 %__gpushare_r3, %__gpushare_r3, 0x40000000;\n";

static const char publish_code[] =
	"$__gpushare_publish:\n"
	"\tshr.u32 %__gpushare_r4, %__gpushare_left, 31;\n"
	"\txor.b32 %__gpushare_r4, %__gpushare_r4, 1;\n"
	"\tshl.b32 %__gpushare_r4, %__gpushare_r4, 4;\n"
	"\tmov.u32 %__gpushare_r5, __gpushare_slot;\n"
	"\tadd.u32 %__gpushare_r4, %__gpushare_r5, %__gpushare_r4;\n"
	"\tst.shared.v4.u32 [%__gpushare_r4], {%__gpushare_r0, %__gpushare_r1, %__gpushare_r2, %__gpushare_r3};\n"
	"$__gpushare_meet:\n";

/* Behind the barrier: within a claim go on, else take up the new one; none means leave.  put_take()
 * has the branches. */
static const char within_code[] = "\tand.b32 %__gpushare_r0, %__gpushare_left, 0x3fffffff;\n"
				  "\tsetp.ne.u32 %__gpushare_p, %__gpushare_r0, 0;\n";
static const char take_code[] = "\tand.b32 %__gpushare_left, %__gpushare_left, 0x80000000;\n"
				"\txor.b32 %__gpushare_left, %__gpushare_left, 0x80000000;\n"
				"\tshr.u32 %__gpushare_r4, %__gpushare_left, 31;\n"
				"\tshl.b32 %__gpushare_r4, %__gpushare_r4, 4;\n"
				"\tmov.u32 %__gpushare_r5, __gpushare_slot;\n"
				"\tadd.u32 %__gpushare_r4, %__gpushare_r5, %__gpushare_r4;\n"
				"\tld.shared.u32 %__gpushare_r0, [%__gpushare_r4+12];\n"
				"\tsetp.eq.u32 %__gpushare_p, %__gpushare_r0, 0;\n";
static const char taken_code[] = "\tor.b32 %__gpushare_left, %__gpushare_left, %__gpushare_r0;\n";

/* The claim's first x, and from each to the next while the row lasts; else as index_code has it. */
static const char index_x_code[] = "\tld.shared.u32 %__gpushare_x, [%__gpushare_r4];\n"
				   "\tbra $__gpushare_body;\n"
				   "$__gpushare_task:\n"
				   "\tadd.u32 %__gpushare_x, %__gpushare_x, 1;\n"
				   "\tand.b32 %__gpushare_r0, %__gpushare_left, 0x40000000;\n"
				   "\tsetp.eq.u32 %__gpushare_p, %__gpushare_r0, 0;\n"
				   "\t@%__gpushare_p bra $__gpushare_body;\n";
/* The same where the body reads y or z: they stay what they are, in the slot. */
static const char index_xyz_code[] =
	"\tld.shared.v4.u32 {%__gpushare_x, %__gpushare_y, %__gpushare_z, %__gpushare_r3}, [%__gpushare_r4];\n"
	"\tbra $__gpushare_body;\n"
	"$__gpushare_task:\n"
	"\tadd.u32 %__gpushare_x, %__gpushare_x, 1;\n"
	"\tshr.u32 %__gpushare_r4, %__gpushare_left, 31;\n"
	"\tshl.b32 %__gpushare_r4, %__gpushare_r4, 4;\n"
	"\tmov.u32 %__gpushare_r5, __gpushare_slot;\n"
	"\tadd.u32 %__gpushare_r4, %__gpushare_r5, %__gpushare_r4;\n"
	"\tld.shared.u32 %__gpushare_y, [%__gpushare_r4+4];\n"
	"\tld.shared.u32 %__gpushare_z, [%__gpushare_r4+8];\n"
	"\tand.b32 %__gpushare_r0, %__gpushare_left, 0x40000000;\n"
	"\tsetp.eq.u32 %__gpushare_p, %__gpushare_r0, 0;\n"
	"\t@%__gpushare_p bra $__gpushare_body;\n";
static const char no_index_code[] = "$__gpushare_task:\n";

/* This block-task's index; past the end of a row it wraps into y and z. */
static const char index_code[] =
	"\tshr.u32 %__gpushare_r4, %__gpushare_left, 31;\n"
	"\tshl.b32 %__gpushare_r4, %__gpushare_r4, 4;\n"
	"\tmov.u32 %__gpushare_r5, __gpushare_slot;\n"
	"\tadd.u32 %__gpushare_r4, %__gpushare_r5, %__gpushare_r4;\n"
	"\tld.shared.v4.u32 {%__gpushare_x, %__gpushare_y, %__gpushare_z, %__gpushare_r3}, [%__gpushare_r4];\n"
	"\tsub.u32 %__gpushare_r3, %__gpushare_r3, %__gpushare_left;\n"
	"\tand.b32 %__gpushare_r3, %__gpushare_r3, 0x3fffffff;\n"
	"\tadd.u32 %__gpushare_x, %__gpushare_x, %__gpushare_r3;\n"
	"\tld.shared.u32 %__gpushare_r1, [__gpushare_slot+32];\n"
	"\tsetp.lt.u32 %__gpushare_p, %__gpushare_x, %__gpushare_r1;\n"
	"\t@%__gpushare_p bra $__gpushare_body;\n"
	"\tdiv.u32 %__gpushare_r2, %__gpushare_x, %__gpushare_r1;\n"
	"\tmul.lo.u32 %__gpushare_r0, %__gpushare_r2, %__gpushare_r1;\n"
	"\tsub.u32 %__gpushare_x, %__gpushare_x, %__gpushare_r0;\n";

static const char index_yz_code[] = "\tadd.u32 %__gpushare_y, %__gpushare_y, %__gpushare_r2;\n"
				    "\tld.shared.u32 %__gpushare_r1, [__gpushare_slot+36];\n"
				    "\tdiv.u32 %__gpushare_r2, %__gpushare_y, %__gpushare_r1;\n"
				    "\tmul.lo.u32 %__gpushare_r0, %__gpushare_r2, %__gpushare_r1;\n"
				    "\tsub.u32 %__gpushare_y, %__gpushare_y, %__gpushare_r0;\n"
				    "\tadd.u32 %__gpushare_z, %__gpushare_z, %__gpushare_r2;\n";

/* Thread 0 counts its worker out; the last block out says READY or DONE (launch_state.def). */
static const char leave_code[] =
	"$__gpushare_leave:\n" PTX_NOT_THREAD_0 "\t@%__gpushare_q bra $__gpushare_out;\n"
	"\tld.shared.u32 %__gpushare_r0, [__gpushare_slot+96];\n"
	"\tsetp.eq.u32 %__gpushare_q, %__gpushare_r0, 2;\n"
	"\t@%__gpushare_q bra $__gpushare_out;\n" PTX_LOAD_CTL
	"\tld.shared.u32 %__gpushare_r1, [__gpushare_slot+68];\n"
	"\tmembar.gl;\n"
	"\tatom.global.add.u32 %__gpushare_r0, [%__gpushare_ctl+8], 1;\n"
	"\tadd.u32 %__gpushare_r0, %__gpushare_r0, 1;\n"
	"\tsetp.ne.u32 %__gpushare_p, %__gpushare_r0, %__gpushare_r1;\n"
	"\t@%__gpushare_p bra $__gpushare_out;\n" PTX_REPORT;

/*
 * A branch that all lanes of a warp take alike.  Where threads may be done while
 * others are in the body the assembler does not see that, and puts a wait for
 * all lanes before thread 0 claims, while the others of its warp are at the
 * barrier (seen in sm_90 code; such variants hung on an H200).  A vote tells it.
 */
static void put_branch(struct ptx_out *out, const struct ptx_plan *plan, char pred, const char *to)
{
	if (plan->sync_aware)
		ptx_out_fmt(out,
			    "\tvote.sync.any.pred %%__gpushare_%c, %%__gpushare_%c, 0xffffffff;\n",
			    pred, pred);
	ptx_out_fmt(out, "\t@%%__gpushare_%c bra %s;\n", pred, to);
}

static void put_take(struct ptx_out *out, const struct ptx_plan *plan)
{
	ptx_out_str(out, within_code);
	put_branch(out, plan, 'p', "$__gpushare_task");
	ptx_out_str(out, take_code);
	put_branch(out, plan, 'p', "$__gpushare_leave");
	ptx_out_str(out, taken_code);
}

/*
 * Where all threads of the block wait for each other.  If some are still in
 * the body and meet a barrier there, those that are done count as arrived and
 * wait again: a round is one completed barrier, and whoever meets one in the
 * body writes its number first (rewrite.c).  Even and odd rounds have a word
 * each, so that the next round's writers hide nothing from a slow reader.
 */
static void put_meeting(struct ptx_out *out, const struct ptx_plan *plan)
{
	if (!plan->sync_aware) {
		ptx_out_fmt(out, "\tbar.warp.sync 0xffffffff;\n\tbarrier.sync %u;\n",
			    plan->barrier);
		return;
	}
	ptx_out_fmt(out,
		    "\tadd.u32 %%__gpushare_round, %%__gpushare_round, 1;\n"
		    "\tbar.warp.sync 0xffffffff;\n\tbarrier.sync %u;\n",
		    plan->barrier);
	if (plan->reduces) {
		ptx_out_str(out, "\t");
		ptx_put_clear_count(out);
		ptx_out_str(out, "\n");
	}
	ptx_out_str(out, "\tand.b32 %__gpushare_r0, %__gpushare_round, 1;\n"
			 "\tshl.b32 %__gpushare_r0, %__gpushare_r0, 2;\n"
			 "\tmov.u32 %__gpushare_r1, __gpushare_slot;\n"
			 "\tadd.u32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r1;\n"
			 "\tld.shared.u32 %__gpushare_r0, [%__gpushare_r0+72];\n"
			 "\tsetp.eq.u32 %__gpushare_q, %__gpushare_r0, %__gpushare_round;\n");
	put_branch(out, plan, 'q', "$__gpushare_meet");
}

void ptx_variant_persistent(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
			    const struct ptx_plan *plan)
{
	const struct ptx_module *m = a->module;
	const struct ptx_func *f = &m->func[func];
	const char *more = plan->meet_each_task ? "$__gpushare_meet" : "$__gpushare_task";

	ptx_put_head(out, a, f, PTX_TRANSFORM_PERSISTENT);
	ptx_out_str(out, declarations);
	ptx_put_code(out, entry_code, a->sm, more);
	ptx_put_code(out, ptx_proxy_code, a->sm, more);
	ptx_put_code(out, proxy_report_code, a->sm, more);
	ptx_put_code(out, ptx_watched_code, a->sm, more);
	ptx_out_str(out, "$__gpushare_next:\n");
	if (plan->wait_copies)
		ptx_out_str(out, "\tcp.async.wait_all;\n");
	/* The memory model leaves surfaces out (PTX ISA, "Scope and applicability"), so the
	 * barrier and thread 0's fence at the end may say nothing of the others' writes. */
	if (plan->wait_surfaces)
		ptx_out_str(out, "\tmembar.gl;\n");
	ptx_out_str(out, "\tbar.warp.sync 0xffffffff;\n");
	ptx_put_code(out, boundary_code, a->sm, more);
	ptx_put_code(out, adapt_code, a->sm, more);
	ptx_put_code(out, claim_code, a->sm, more);
	ptx_put_code(out, ptx_decode_code, a->sm, more);
	ptx_put_code(out, row_code, a->sm, more);
	ptx_put_code(out, publish_code, a->sm, more);
	put_meeting(out, plan);
	put_take(out, plan);
	ptx_put_code(out,
		     !(a->func[func].index & PTX_INDEX_TASK) ? no_index_code :
		     a->func[func].index & 6                 ? index_xyz_code :
							       index_x_code,
		     a->sm, more);
	if (a->func[func].index & PTX_INDEX_TASK)
		ptx_put_code(out, index_code, a->sm, more);
	if (a->func[func].index & 6)
		ptx_put_code(out, index_yz_code, a->sm, more);
	ptx_out_str(out, "$__gpushare_body:\n");
	ptx_rewrite_body(out, a, func, plan);
	ptx_out_str(out, "\n\tbra $__gpushare_next;\n");
	ptx_put_code(out, leave_code, a->sm, more);
	ptx_out_str(out, "}\n");
}
