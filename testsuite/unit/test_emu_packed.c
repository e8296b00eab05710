/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several values in one register: 16x2 integers, half pairs, single pairs, and the video
 * instructions. */
#define _GNU_SOURCE
#include "emu_insn.h"

/* Registers of the video instructions take no literals with selectors. */
#define AB(a, b) "mov.u32 %r2, " a "; mov.u32 %r3, " b "; mov.u32 %r4, 100; "
#define V(a, b, insn) AB(a, b) insn " cvt.u64.u32 %rd9, %r1;"

static void halves(void **state)
{
	static const struct row rows[] = {
		{ R32("add.s16x2 %r1, 0x7fff0001, 0x0001ffff;"), 0x80000000 },
		{ R32("sub.s16x2 %r1, 0x00000001, 0x00010002;"), 0xffffffff },
		{ R32("add.u16x2 %r1, 0xffff00ff, 0x00010001;"), 0x00000100 },
		{ R32("min.s16x2 %r1, 0xffff0005, 0x00010003;"), 0xffff0003 },
		{ R32("min.u16x2 %r1, 0xffff0005, 0x00010003;"), 0x00010003 },
		{ R32("max.s16x2 %r1, 0xffff0005, 0x00010003;"), 0x00010005 },
		{ R32("max.u16x2 %r1, 0xffff0005, 0x00010003;"), 0xffff0005 },
		{ R32("max.relu.s16x2 %r1, 0xffff0005, 0xfffe0003;"), 0x00000005 },
		{ R32("min.relu.s16x2 %r1, 0xffff0005, 0x00020003;"), 0x00000003 },
		/* 1.0 0x3c00, 2.0 0x4000, -1.0 0xbc00, NaN 0x7fff, bf16: 1.0 0x3f80, 2.0 0x4000 */
		{ R32("min.f16x2 %r1, 0x3c007fff, 0x40003c00;"), 0x3c003c00 },
		{ R32("min.NaN.f16x2 %r1, 0x3c007fff, 0x40003c00;"), 0x3c007fff },
		{ R32("max.NaN.bf16x2 %r1, 0x3f80ffff, 0x40003f80;"), 0x40007fff },
		{ R32("max.xorsign.abs.f16x2 %r1, 0xbc00bc00, 0x4000c000;"), 0xc0004000 },
		{ H("min.xorsign.abs.bf16 %h1, 0xbf80, 0x4000;"), 0xbf80 },
		{ F32("min.xorsign.abs.f32 %f1, 0fbf800000, 0fc0000000;"), 0x3f800000 },
		{ F32("max.NaN.xorsign.abs.f32 %f1, 0fbf800000, 0f7fc00000;"), 0x7fc00000 },
		{ F32("min.f32 %f1, 0f40000000, 0f3f800000, 0f40400000;"), 0x3f800000 },
		{ F32("max.f32 %f1, 0f40000000, 0f3f800000, 0f40400000;"), 0x40400000 },
		/* the smallest subnormal half twice; with .ftz both are zeros */
		{ H("add.f16 %h1, 0x0001, 0x0001;"), 2 },
		{ H("mov.b16 %h2, 0x0001; add.ftz.f16 %h1, %h2, %h2;"), 0 },
		{ "mov.b16 %h2, 0x8001; add.ftz.f16 %h1, %h2, %h2; mov.b32 %r1, {%h1, %h2}; cvt.u64.u32 %rd9, %r1;",
		  0x80018000 },
		{ R32("mov.u32 %r2, 0x3c000001; mul.ftz.f16x2 %r1, %r2, %r2;"), 0x3c000000 },
		{ H("add.sat.f16 %h1, 0x4000, 0x3c00;"), 0x3c00 },
		{ R32("sub.sat.f16x2 %r1, 0x3c004000, 0x40003800;"), 0x00003c00 },
		{ H("fma.rn.relu.f16 %h1, 0xbc00, 0x4000, 0x3c00;"), 0 },
		{ R32("fma.rn.relu.bf16x2 %r1, 0xbf803f80, 0x40004000, 0x3f803f80;"), 0x00004040 },
		{ F32("neg.ftz.f32 %f1, 0f00000001;"), 0x80000000 },
		{ F32("abs.ftz.f32 %f1, 0f80000001;"), 0 },
		{ "mov.b64 %rd1, 0x3f80000040000000; mov.b64 %rd2, 0x4000000040400000; fma.rn.f32x2 %rd9, %rd1, %rd2, %rd2;",
		  0x4080000041100000ull },
		{ "mov.b64 %rd1, 0x3f80000000800000; mov.b64 %rd2, 0x3380000080000001; add.rz.ftz.f32x2 %rd9, %rd1, %rd2;",
		  0x3f80000000800000ull },
	};

	(void)state;
	CHECK(rows);
}

static void small_formats(void **state)
{
	static const struct row rows[] = {
		{ R32("cvt.rna.tf32.f32 %r1, 0f3f801000;"), 0x3f802000 },
		{ R32("cvt.rn.tf32.f32 %r1, 0f3f801000;"), 0x3f800000 },
		{ R32("cvt.rn.tf32.f32 %r1, 0f3f803000;"), 0x3f804000 },
		{ R32("cvt.rz.tf32.f32 %r1, 0fbf801fff;"), 0xbf800000 },
		{ R32("cvt.rn.relu.tf32.f32 %r1, 0fbf800000;"), 0 },
		{ R32("cvt.rna.tf32.f32 %r1, 0f7fc00000;"), 0x7fffffff },
		/* e4m3: 1.0 is 0x38, 448 0x7e, the smallest subnormal 2^-9; e5m2: 1.0 0x3c, 57344
		   0x7b */
		{ H("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f3f800000, 0fbfc00000;"), 0x38bc },
		{ H("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f44000000, 0f7fc00000;"), 0x7e7f },
		{ H("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f3b000000, 0f3a800000;"), 0x0100 },
		{ H("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f3a800001, 0f3f8c0000;"), 0x0139 },
		{ H("cvt.rn.satfinite.e5m2x2.f32 %h1, 0f3f800000, 0f47800000;"), 0x3c7b },
		{ H("cvt.rn.satfinite.relu.e5m2x2.f32 %h1, 0fbf800000, 0f3fa00000;"), 0x003d },
		{ H("cvt.rn.satfinite.e4m3x2.f16x2 %h1, 0x3c00c000;"), 0x38c0 },
		{ R32("mov.b16 %h1, 0x38c0; cvt.rn.f16x2.e4m3x2 %r1, %h1;"), 0x3c00c000 },
		{ R32("mov.b16 %h1, 0x0187; cvt.rn.f16x2.e4m3x2 %r1, %h1;"), 0x1800a300 },
		{ R32("mov.b16 %h1, 0x3cfd; cvt.rn.f16x2.e5m2x2 %r1, %h1;"), 0x3c007fff },
		{ H("cvt.rn.satfinite.f16.f32 %h1, 0f7f800000;"), 0x7bff },
		{ R32("cvt.rn.satfinite.bf16x2.f32 %r1, 0fff800000, 0f3f800000;"), 0xff7f3f80 },
		{ R32("cvt.pack.sat.s16.s32 %r1, 70000, -5;"), 0x7ffffffb },
		{ R32("cvt.pack.sat.u8.s32.b32 %r1, 300, -5, 0xabcd1234;"), 0x1234ff00 },
		{ R32("cvt.pack.sat.u4.s32.b32 %r1, 9, 20, 0xabcd1234;"), 0xcd12349f },
	};

	(void)state;
	CHECK(rows);
}

static void video_scalar(void **state)
{
	static const struct row rows[] = {
		{ V("0x000000ff", "0x00050000", "vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1;"), 4 },
		{ V("0x000000ff", "0x00050000", "vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;"), 260 },
		{ V("0x7fffffff", "1", "vadd.s32.s32.s32.sat %r1, %r2, %r3;"), 0x7fffffff },
		{ V("3", "5", "vsub.u32.u32.u32.sat %r1, %r2, %r3;"), 0 },
		{ V("3", "5", "vsub.s32.u32.u32 %r1, %r2, %r3;"), 0xfffffffe },
		{ V("0x80", "0x7f", "vabsdiff.u32.s32.s32 %r1, %r2.b0, %r3.b0;"), 255 },
		{ V("0x80", "0x7f", "vabsdiff.u32.s32.s32.add %r1, %r2.b0, %r3.b0, %r4;"), 355 },
		{ V("0xffff0000", "7", "vmin.s32.s32.s32 %r1, %r2.h1, %r3;"), 0xffffffff },
		{ V("0xffff0000", "7", "vmax.s32.u32.s32.min %r1, %r2.h1, %r3, %r4;"), 100 },
		{ V("300", "0", "vadd.u32.u32.u32.sat %r1.b2, %r2, %r3, %r4;"), 0x00ff0064 },
		{ V("300", "0", "vadd.u32.u32.u32 %r1.b2, %r2, %r3, %r4;"), 0x002c0064 },
		{ V("1", "33", "vshl.u32.u32.u32.clamp %r1, %r2, %r3;"), 0 },
		{ V("1", "33", "vshl.u32.u32.u32.wrap %r1, %r2, %r3;"), 2 },
		{ V("0x80000000", "31", "vshr.s32.s32.u32.clamp %r1, %r2, %r3;"), 0xffffffff },
		{ V("0x80000000", "31", "vshr.u32.u32.u32.clamp.add %r1, %r2, %r3, %r4;"), 101 },
		{ V("0xff", "1", "vset.s32.s32.lt %r1, %r2.b0, %r3;"), 1 },
		{ V("0xff", "1", "vset.u32.u32.lt %r1, %r2.b0, %r3;"), 0 },
		{ V("0xff", "1", "vset.s32.s32.ne.add %r1, %r2.b0, %r3, %r4;"), 101 },
		{ V("0xfe", "0x0300", "vmad.s32.s32.s32 %r1, %r2.b0, %r3.b1, %r4;"), 94 },
		{ V("0xfe", "0x0300", "vmad.s32.s32.s32 %r1, -%r2.b0, %r3.b1, %r4;"), 106 },
		{ V("0xfe", "0x0300", "vmad.s32.s32.s32 %r1, %r2.b0, %r3.b1, -%r4;"),
		  (uint32_t)-106 },
		{ V("0x7fffffff", "0x7fffffff", "vmad.s32.s32.s32.sat %r1, %r2, %r3, %r4;"),
		  0x7fffffff },
		{ V("0x10000", "0x1000", "vmad.s32.s32.s32.shr15 %r1, %r2, %r3, %r4;"), 0x2000 },
		{ V("2", "3", "vmad.u32.u32.u32.po %r1, %r2, %r3, %r4;"), 107 },
	};

	(void)state;
	CHECK(rows);
}

static void video_simd(void **state)
{
	static const struct row rows[] = {
		{ V("0x7fff0001", "0x00010002", "vadd2.s32.s32.s32 %r1, %r2, %r3, %r4;"),
		  0x80000003 },
		{ V("0x7fff0001", "0x00010002", "vadd2.s32.s32.s32.sat %r1, %r2, %r3, %r4;"),
		  0x7fff0003 },
		{ V("0x7fff0001", "0x00010002", "vadd2.s32.s32.s32.add %r1, %r2, %r3, %r4;"),
		  0x8000 + 3 + 100 },
		{ V("0x00070005", "0x00010002", "vsub2.s32.s32.s32 %r1.h1, %r2.h01, %r3.h32, %r4;"),
		  0x00040064 },
		{ V("0x0003fffe", "0x0004ffff", "vavrg2.s32.s32.s32 %r1, %r2, %r3, %r4;"),
		  0x0004fffe },
		{ V("0x01ff8040", "0x0200407f", "vabsdiff4.u32.u32.u32 %r1, %r2, %r3, %r4;"),
		  0x01ff403f },
		{ V("0x01ff8040", "0x0200407f", "vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4;"),
		  1 + 255 + 64 + 63 + 100 },
		{ V("0x01ff8040", "0x0200407f", "vabsdiff4.s32.s32.s32.sat %r1, %r2, %r3, %r4;"),
		  0x01017f3f },
		{ V("0x01ff8040", "0x02004001", "vmin4.s32.s32.s32 %r1, %r2, %r3, %r4;"),
		  0x01ff8001 },
		{ V("0x01ff8040", "0x02004001", "vmax4.u32.u32.u32 %r1.b30, %r2, %r3, %r4;"),
		  0x02000040 },
		{ V("0x01ff8040", "0x02004001", "vset4.u32.u32.lt %r1, %r2, %r3, %r4;"),
		  0x01000000 },
		{ V("0x01ff8040", "0x02004001", "vset4.s32.s32.lt.add %r1, %r2, %r3, %r4;"), 103 },
		{ V("0x04030201", "0x08070605",
		    "vadd4.u32.u32.u32 %r1, %r2.b0123, %r3.b7777, %r4;"),
		  0x090a0b0c },
	};

	(void)state;
	CHECK(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves),
		cmocka_unit_test(small_formats),
		cmocka_unit_test(video_scalar),
		cmocka_unit_test(video_simd),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
