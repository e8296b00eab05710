/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions, family by family: one thread executes a body on literal
 * operands and stores %rd9; the expected bits come from the PTX ISA.
 */
#define _GNU_SOURCE
#include "emu_insn.h"

static void integer(void **state)
{
	static const struct row rows[] = {
		{ R32("add.s32 %r1, 0xffffffff, 2;"), 1 },
		{ R32("add.sat.s32 %r1, 0x7fffffff, 2;"), 0x7fffffff },
		{ R32("sub.sat.s32 %r1, 0x80000000, 2;"), 0x80000000 },
		{ R32("mul.lo.s32 %r1, 0x10001, 0x10001;"), 0x20001 },
		{ R32("mul.hi.u32 %r1, 0xffffffff, 0xffffffff;"), 0xfffffffe },
		{ R32("mul.hi.s32 %r1, 0xffffffff, 2;"), 0xffffffff },
		{ "mul.wide.s32 %rd9, 0xffffffff, 3;", (uint64_t)-3 },
		{ "mul.wide.u32 %rd9, 0xffffffff, 3;", 0x2fffffffdull },
		{ "mul.hi.u64 %rd9, 0xffffffffffffffff, 0xffffffffffffffff;",
		  0xfffffffffffffffeull },
		{ "mad.wide.s32 %rd9, 0xfffffffe, 5, 100;", 90 },
		{ "mad.lo.s64 %rd9, 7, 6, 5;", 47 },
		{ R32("mad.hi.sat.s32 %r1, 0x7fffffff, 0x7fffffff, 0x7fffffff;"), 0x7fffffff },
		{ R32("mul24.lo.s32 %r1, 0xffffff, 2;"), 0xfffffffe },
		{ R32("mad24.hi.u32 %r1, 0x800000, 0x800000, 1;"), 0x40000001 },
		{ R32("mad24.hi.sat.s32 %r1, 0x7fffff, 0x7fffff, 0x7fffffff;"), 0x7fffffff },
		{ R32("sad.s32 %r1, 0xfffffffb, 5, 100;"), 110 },
		{ R32("div.s32 %r1, 0xfffffff9, 2;"), 0xfffffffd },
		{ R32("div.s32 %r1, 0x80000000, 0xffffffff;"), 0x80000000 },
		{ R32("div.u32 %r1, 7, 0;"), 0xffffffff },
		{ R32("rem.s32 %r1, 0xfffffff9, 4;"), 0xfffffffd },
		{ R32("rem.u32 %r1, 7, 0;"), 7 },
		{ "div.s64 %rd9, 0x8000000000000000, 0xffffffffffffffff;", 0x8000000000000000ull },
		{ R32("abs.s32 %r1, 0x80000000;"), 0x80000000 },
		{ R32("neg.s32 %r1, 5;"), 0xfffffffb },
		{ R32("min.s32 %r1, 0xffffffff, 1;"), 0xffffffff },
		{ R32("min.u32 %r1, 0xffffffff, 1;"), 1 },
		{ R32("max.s32 %r1, 0xffffffff, 1;"), 1 },
		{ R32("popc.b32 %r1, 0xf0f0;"), 8 },
		{ R32("popc.b64 %r1, 0xffffffff00000001;"), 33 },
		{ R32("clz.b32 %r1, 0;"), 32 },
		{ R32("clz.b64 %r1, 1;"), 63 },
		{ R32("brev.b32 %r1, 1;"), 0x80000000 },
		{ "brev.b64 %rd9, 3;", 0xc000000000000000ull },
		{ R32("bfind.u32 %r1, 0x100;"), 8 },
		{ R32("bfind.s32 %r1, 0xffffff00;"), 7 },
		{ R32("bfind.shiftamt.u32 %r1, 0x100;"), 23 },
		{ R32("bfind.u32 %r1, 0;"), 0xffffffff },
		{ R32("bfe.u32 %r1, 0x12345678, 8, 12;"), 0x456 },
		{ R32("bfe.s32 %r1, 0x00000f00, 8, 4;"), 0xffffffff },
		{ R32("bfe.s32 %r1, 0x80000000, 28, 16;"), 0xfffffff8 },
		{ "bfe.u64 %rd9, 0x123456789abcdef0, 4, 60;", 0x123456789abcdefull },
		{ R32("bfi.b32 %r1, 0xff, 0x12345678, 8, 4;"), 0x12345f78 },
		{ "bfi.b64 %rd9, 0xff, 0, 60, 8;", 0xf000000000000000ull },
		{ R32("dp4a.s32.s32 %r1, 0x01ff0203, 0x01010101, 10;"), 15 },
		{ R32("dp4a.u32.u32 %r1, 0x01ff0203, 0x01010101, 10;"), 271 },
		{ R32("dp2a.lo.u32.u32 %r1, 0x00020003, 0x00000504, 1;"), 23 },
		{ R32("fns.b32 %r1, 0xf0, 0, 2;"), 5 },
		{ R32("bmsk.clamp.b32 %r1, 4, 8;"), 0xff0 },
		{ R32("szext.clamp.s32 %r1, 0xf, 4;"), 0xffffffff },
	};

	(void)state;
	CHECK(rows);
}

static void carries(void **state)
{
	static const struct row rows[] = {
		{ "add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r2, 5, 6; mov.b64 %rd9, {%r1, %r2};",
		  12ull << 32 },
		{ "sub.cc.u32 %r1, 0, 1; subc.u32 %r2, 5, 1; mov.b64 %rd9, {%r1, %r2};",
		  3ull << 32 | 0xffffffff },
		{ "mad.lo.cc.u32 %r1, 0xffffffff, 0xffffffff, 0xffffffff; madc.hi.u32 %r2, 0xffffffff, 0xffffffff, 0; mov.b64 %rd9, {%r1, %r2};",
		  0xffffffff00000000ull },
		{ "add.cc.u64 %rd1, 0xffffffffffffffff, 1; addc.u64 %rd9, 1, 1;", 3 },
	};

	(void)state;
	CHECK(rows);
}

static void logic(void **state)
{
	static const struct row rows[] = {
		{ R32("and.b32 %r1, 0xff00, 0x0ff0;"), 0xf00 },
		{ R32("xor.b32 %r1, 0xff00, 0x0ff0;"), 0xf0f0 },
		{ R32("not.b32 %r1, 0xff;"), 0xffffff00 },
		{ R32("cnot.b32 %r1, 0;"), 1 },
		{ R32("lop3.b32 %r1, 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x1a;"), 0x1a1a1a1a },
		{ R32("setp.eq.u32 %p2, 1, 2; lop3.or.b32 %r1|%p1, 3, 5, 6, 0x80, %p2; @%p1 mov.u32 %r1, 77;"),
		  0 },
		{ R32("setp.eq.u32 %p2, 1, 2; lop3.and.b32 %r1|%p1, 3, 5, 7, 0x80, !%p2; @%p1 mov.u32 %r1, 77;"),
		  77 },
		{ P("setp.eq.u32 %p2, 1, 2; lop3.or.b32 _|%p1, 3, 5, 7, 0x80, !%p2;"), 1 },
		{ R32("shl.b32 %r1, 1, 32;"), 0 },
		{ R32("shr.s32 %r1, 0x80000000, 40;"), 0xffffffff },
		{ R32("shr.u32 %r1, 0x80000000, 31;"), 1 },
		{ "shl.b64 %rd9, 1, 63;", 0x8000000000000000ull },
		{ R32("shf.l.wrap.b32 %r1, 0x11223344, 0xaabbccdd, 8;"), 0xbbccdd11 },
		{ R32("shf.r.clamp.b32 %r1, 0x11223344, 0xaabbccdd, 40;"), 0xaabbccdd },
		{ R32("shf.r.wrap.b32 %r1, 0x11223344, 0xaabbccdd, 40;"), 0xdd112233 },
		{ R32("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531;"), 0x77553311 },
		{ R32("prmt.b32 %r1, 0x000080ff, 0, 0x2298;"), 0x0000ffff },
		{ R32("prmt.b32.rc16 %r1, 0x33221100, 0, 1;"), 0x33223322 },
		{ R32("selp.b32 %r1, 5, 6, 1;"), 5 },
		{ R32("slct.u32.s32 %r1, 5, 6, 0xffffffff;"), 6 },
		{ P("setp.lt.s32 %p1, 0xffffffff, 0;"), 1 },
		{ P("setp.lt.u32 %p1, 0xffffffff, 0;"), 0 },
		{ P("setp.lo.u32 %p1, 1, 2;"), 1 },
		{ P("setp.eq.s32 %p2, 1, 1; setp.ne.and.s32 %p1, 1, 2, !%p2;"), 0 },
		{ P("setp.ge.s32 %p2|%p1, 1, 2;"), 1 },
		{ P("setp.eq.f32 %p1, 0f7fc00000, 0f7fc00000;"), 0 },
		{ P("setp.neu.f32 %p1, 0f7fc00000, 0f7fc00000;"), 1 },
		{ P("setp.ne.f32 %p1, 0f7fc00000, 0f3f800000;"), 0 },
		{ P("setp.num.f64 %p1, 0d3ff0000000000000, 0d4000000000000000;"), 1 },
		{ P("setp.eq.s32 %p2, 1, 1; setp.eq.s32 %p3, 1, 2; xor.pred %p1, %p2, %p3;"), 1 },
		{ P("setp.eq.s32 %p2, 1, 2; not.pred %p1, %p2;"), 1 },
		{ R32("set.lt.u32.s32 %r1, 1, 2;"), 0xffffffff },
		{ F32("set.gt.f32.f32 %f1, 0f40000000, 0f3f800000;"), 0x3f800000 },
	};

	(void)state;
	CHECK(rows);
}

static void floating(void **state)
{
	static const struct row rows[] = {
		{ F32("add.f32 %f1, 0f3f800000, 0f40000000;"), 0x40400000 },
		{ F32("add.rz.f32 %f1, 0f3f800000, 0f33ffffff;"), 0x3f800000 },
		{ F32("add.rp.f32 %f1, 0f3f800000, 0f30000000;"), 0x3f800001 },
		{ F32("add.sat.f32 %f1, 0f3f800000, 0f40000000;"), 0x3f800000 },
		{ F32("add.ftz.f32 %f1, 0f00000001, 0f00000001;"), 0 },
		{ F32("add.f32 %f1, 0f00000001, 0f00000001;"), 2 },
		{ F32("mul.f32 %f1, 0f3fc00000, 0f40000000;"), 0x40400000 },
		{ F32("fma.rn.f32 %f1, 0f3f800001, 0f3f800001, 0fbf800000;"), 0x34800000 },
		{ F32("div.rn.f32 %f1, 0f3f800000, 0f40400000;"), 0x3eaaaaab },
		{ F32("rcp.approx.f32 %f1, 0f40000000;"), 0x3f000000 },
		{ F32("sqrt.rn.f32 %f1, 0f40000000;"), 0x3fb504f3 },
		{ F32("rsqrt.approx.f32 %f1, 0f40800000;"), 0x3f000000 },
		{ F32("ex2.approx.f32 %f1, 0f40400000;"), 0x41000000 },
		{ F32("lg2.approx.f32 %f1, 0f41000000;"), 0x40400000 },
		{ F32("neg.f32 %f1, 0f3f800000;"), 0xbf800000 },
		{ F32("abs.f32 %f1, 0fbf800000;"), 0x3f800000 },
		{ F32("min.f32 %f1, 0f7fc00000, 0f3f800000;"), 0x3f800000 },
		{ F32("max.f32 %f1, 0f80000000, 0f00000000;"), 0 },
		{ F32("copysign.f32 %f1, 0fbf800000, 0f40000000;"), 0xc0000000 },
		{ F64("add.f64 %d1, 0d3ff0000000000000, 0d4000000000000000;"),
		  0x4008000000000000ull },
		{ F64("fma.rn.f64 %d1, 0d4008000000000000, 0d4000000000000000, 0d3ff0000000000000;"),
		  0x401c000000000000ull },
		{ F64("div.rn.f64 %d1, 0d3ff0000000000000, 0d4008000000000000;"),
		  0x3fd5555555555555ull },
		{ F64("sqrt.rn.f64 %d1, 0d4010000000000000;"), 0x4000000000000000ull },
		{ P("testp.infinite.f32 %p1, 0f7f800000;"), 1 },
		{ P("testp.normal.f32 %p1, 0f00000001;"), 0 },
		{ H("add.f16 %h1, 0x3c00, 0x4000;"), 0x4200 },
		{ H("fma.rn.f16 %h1, 0x4000, 0x4200, 0x3c00;"), 0x4700 },
		{ H("mul.bf16 %h1, 0x3fc0, 0x4000;"), 0x4040 },
		{ R32("add.f16x2 %r1, 0x40003c00, 0x3c003c00;"), 0x42004000 },
		{ R32("fma.rn.f16x2 %r1, 0x40003c00, 0x40003c00, 0x00003c00;"), 0x44004000 },
	};

	(void)state;
	CHECK(rows);
}

static void conversions(void **state)
{
	static const struct row rows[] = {
		{ "cvt.s64.s32 %rd9, 0xffffffff;", ~0ull },
		{ "cvt.u64.u32 %rd9, 0xffffffff;", 0xffffffff },
		{ "mov.u32 %r2, 0x1ff; cvt.s32.s8 %r1, %r2; cvt.s64.s32 %rd9, %r1;", ~0ull },
		{ "mov.u32 %r2, 0x1ff; cvt.u32.u8 %r1, %r2; cvt.u64.u32 %rd9, %r1;", 0xff },
		{ "mov.u32 %r2, 0x12345; cvt.u16.u32 %h1, %r2; cvt.u64.u16 %rd9, %h1;", 0x2345 },
		{ R32("cvt.sat.u8.s32 %r1, 300;"), 255 },
		{ R32("cvt.sat.u32.s32 %r1, 0xffffffff;"), 0 },
		{ R32("cvt.rzi.s32.f32 %r1, 0fc0200000;"), 0xfffffffe },
		{ R32("cvt.rni.s32.f32 %r1, 0f40200000;"), 2 },
		{ R32("cvt.rpi.s32.f32 %r1, 0f40200000;"), 3 },
		{ R32("cvt.rmi.s32.f32 %r1, 0fc0200000;"), 0xfffffffd },
		{ R32("cvt.rzi.u32.f32 %r1, 0fbf800000;"), 0 },
		{ R32("cvt.rzi.s32.f32 %r1, 0f7f800000;"), 0x7fffffff },
		{ R32("cvt.rzi.s32.f32 %r1, 0f7fc00000;"), 0 },
		{ "cvt.rzi.u64.f64 %rd9, 0d43e0000000000000;", 0x8000000000000000ull },
		{ F32("cvt.rn.f32.s32 %f1, 0xffffffff;"), 0xbf800000 },
		{ F32("cvt.rn.f32.u32 %f1, 0xffffffff;"), 0x4f800000 },
		{ F32("cvt.rz.f32.u32 %f1, 0xffffffff;"), 0x4f7fffff },
		{ F32("cvt.rn.f32.f64 %f1, 0d3ff0000010000000;"), 0x3f800000 },
		{ F32("cvt.rp.f32.f64 %f1, 0d3ff0000010000000;"), 0x3f800001 },
		{ F64("cvt.f64.f32 %d1, 0f3fc00000;"), 0x3ff8000000000000ull },
		{ F32("cvt.rzi.f32.f32 %f1, 0fc0200000;"), 0xc0000000 },
		{ F32("cvt.sat.f32.f32 %f1, 0f40200000;"), 0x3f800000 },
		{ H("cvt.rn.f16.f32 %h1, 0f3fc00000;"), 0x3e00 },
		{ H("cvt.rn.f16.f32 %h1, 0f477ff000;"), 0x7c00 },
		{ H("cvt.rz.f16.f32 %h1, 0f477ff000;"), 0x7bff },
		{ H("cvt.rn.f16.f32 %h1, 0f33800000;"), 1 },
		{ H("cvt.rn.bf16.f32 %h1, 0f3f808000;"), 0x3f80 },
		{ H("cvt.rn.bf16.f32 %h1, 0f3f818000;"), 0x3f82 },
		{ "mov.b16 %h2, 0x3e00; cvt.f32.f16 %f1, %h2; mov.b32 %r1, %f1; cvt.u64.u32 %rd9, %r1;",
		  0x3fc00000 },
		{ R32("cvt.rn.f16x2.f32 %r1, 0f3f800000, 0f40000000;"), 0x3c004000 },
		{ "mov.b64 {%r1, %r2}, 0x1122334455667788; cvt.u64.u32 %rd9, %r2;", 0x11223344 },
		{ "mov.b16 %h1, 0x1234; mov.b16 %h2, 0x5678; mov.b32 %r1, {%h1, %h2}; cvt.u64.u32 %rd9, %r1;",
		  0x56781234 },
	};

	(void)state;
	CHECK(rows);
}

static void memory(void **state)
{
	static const struct row rows[] = {
		{ ".shared .align 8 .b8 s[64]; mov.u32 %r1, s; st.shared.u8 [%r1+3], 0x80; ld.shared.s8 %r2, [s+3]; cvt.s64.s32 %rd9, %r2;",
		  (uint64_t)-128 },
		{ ".local .align 8 .b8 l[64]; st.local.v2.u32 [l+8], {1, 2}; mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1; ld.u64 %rd9, [%rd2+8];",
		  0x200000001ull },
		{ ".shared .align 8 .b8 s[64]; mov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1; st.u32 [%rd2+4], 77; ld.shared.u32 %r1, [s+4]; cvt.u64.u32 %rd9, %r1;",
		  77 },
		{ ".shared .align 16 .b8 s[64]; st.shared.v4.u32 [s+16], {1, 2, 3, 4}; ld.shared.v4.u32 {%r1, %r2, _, %r4}, [s+16]; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r4; cvt.u64.u32 %rd9, %r1;",
		  7 },
		{ "mov.u64 %rd9, 0; st.global.u64 [%rd0], 5; atom.global.add.u32 %r1, [%rd0], 3; ld.global.u32 %r2, [%rd0]; mov.b64 %rd9, {%r1, %r2};",
		  8ull << 32 | 5 },
		{ "st.global.u64 [%rd0], 5; atom.global.cas.b32 %r1, [%rd0], 5, 9; ld.global.u32 %r2, [%rd0]; mov.b64 %rd9, {%r1, %r2};",
		  9ull << 32 | 5 },
		{ "st.global.u64 [%rd0], 0; red.global.max.s64 [%rd0], -4; red.global.min.s64 [%rd0], -9; ld.global.u64 %rd9, [%rd0];",
		  (uint64_t)-9 },
		{ "st.global.u64 [%rd0], 7; atom.global.inc.u32 %r1, [%rd0], 7; ld.global.u32 %r2, [%rd0]; mov.b64 %rd9, {%r1, %r2};",
		  7 },
		{ "st.global.u64 [%rd0], 0; atom.global.dec.u32 %r1, [%rd0], 7; ld.global.u32 %r2, [%rd0]; mov.b64 %rd9, {%r1, %r2};",
		  7ull << 32 },
		{ "st.global.u64 [%rd0], 0x3f800000; red.global.add.f32 [%rd0], 0f40000000; ld.global.u64 %rd9, [%rd0];",
		  0x40400000 },
		{ "st.global.u64 [%rd0], 0; red.global.add.f64 [%rd0], 0d4000000000000000; ld.global.u64 %rd9, [%rd0];",
		  0x4000000000000000ull },
		{ "st.global.u64 [%rd0], 0x3c003c00; atom.global.add.noftz.f16x2 %r1, [%rd0], 0x3c004000; ld.global.u64 %rd9, [%rd0];",
		  0x40004200 },
		{ ".shared .b32 s; st.shared.u32 [s], 6; atom.shared.exch.b32 %r1, [s], 8; ld.shared.u32 %r2, [s]; mov.b64 %rd9, {%r1, %r2};",
		  8ull << 32 | 6 },
		{ ".shared .b32 s; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; isspacep.shared %p1, %rd1; isspacep.global %p2, %rd1; selp.u64 %rd9, 1, 0, %p1; @%p2 mov.u64 %rd9, 2;",
		  1 },
		{ "{ .reg .b32 %r<3>; mov.u32 %r1, 9; cvt.u64.u32 %rd9, %r1; }", 9 },
		/* cache policies change nothing */
		{ "createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800000; st.global.L2::cache_hint.u32 [%rd0], 7, %rd1; "
		  "atom.global.add.L2::cache_hint.u32 %r1, [%rd0], 3, %rd1; ld.global.L2::cache_hint.u32 %r2, [%rd0], %rd1; "
		  "mov.b64 %rd9, {%r1, %r2};",
		  10ull << 32 | 7 },
		/* eight at once, as sm_100 has it */
		{ "st.global.v8.b32 [%rd0], {1, 2, 3, 4, 5, 6, 7, 8}; ld.global.v8.b32 {%r1, _, _, %r4, %r5, _, _, %r8}, [%rd0]; "
		  "mad.lo.u32 %r1, %r5, 16, %r1; mad.lo.u32 %r1, %r8, 256, %r1; mad.lo.u32 %r1, %r4, 4096, %r1; cvt.u64.u32 %rd9, %r1;",
		  0x4851 },
		/* cp.async: all of it, a part, nothing where the predicate says so */
		{ ".shared .align 16 .b8 s[16]; st.global.u64 [%rd0], 0x1122334455667788; cp.async.ca.shared.global [s], [%rd0], 8, 3; "
		  "cp.async.wait_all; ld.shared.u64 %rd9, [s];",
		  0x667788 },
		{ ".shared .align 16 .b8 s[16]; st.global.u64 [%rd0], 0x1122334455667788; setp.eq.u32 %p1, 1, 1; "
		  "cp.async.ca.shared.global [s], [%rd0], 4, %p1; cp.async.ca.shared.global [s+4], [%rd0], 4, !%p1; "
		  "cp.async.wait_all; ld.shared.u64 %rd9, [s];",
		  0x5566778800000000ull },
		/* bulk copies, counted and in groups */
		{ ".shared .align 16 .b8 s[32]; .shared .align 8 .b64 b; st.global.v2.u64 [%rd0], {5, 6}; mbarrier.init.shared.b64 [b], 1; "
		  "mbarrier.arrive.expect_tx.shared.b64 %rd1, [b], 16; mov.u32 %r1, s; "
		  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+16], [%rd0], 16, [b]; "
		  "mbarrier.test_wait.shared.b64 %p1, [b], %rd1; cp.async.bulk.global.shared::cta.bulk_group [%rd0+16], [s+16], 16; "
		  "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ld.global.u64 %rd9, [%rd0+24]; @!%p1 mov.u64 %rd9, 0;",
		  6 },
	};

	(void)state;
	CHECK(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integer),  cmocka_unit_test(carries),     cmocka_unit_test(logic),
		cmocka_unit_test(floating), cmocka_unit_test(conversions), cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
