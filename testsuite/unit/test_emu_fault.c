/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel does wrong: the driver's error, which sticks to the context,
 * and one line that names kernel, block, thread, the PTX's line and, where
 * the module knows it, the source's.
 */
#define _GNU_SOURCE
#include "emu_util.h"

#define WHERE "kernel k, block (1,0,2), thread (3,2,0), PTX line 14"

/* Thread (3,2,0) of block (1,0,2) alone does it, each time in a context of its own. */
static void fault_in(const char *declarations, const char *body, CUresult want, const char *words,
		     const char *where)
{
	CUdeviceptr p;
	CUcontext ctx, top;
	CUfunction f;
	char ptx[2048];
	const char *log;
	void *params[] = { &p };

	OK(cuCtxCreate(&ctx, NULL, 0, 0));
	OK(cuMemAlloc(&p, 64));
	snprintf(
		ptx, sizeof(ptx),
		HEAD
		"%s .visible .entry k(.param .u64 p)\n{ .reg .pred %%p<4>; .reg .b64 %%rd<6>; .reg .b32 %%r<9>; .reg .b16 %%h<4>;\n"
		"ld.param.u64 %%rd1, [p];\nmov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%tid.y;\nmov.u32 %%r3, %%ctaid.x; mov.u32 %%r4, %%ctaid.z;\n"
		"mad.lo.u32 %%r1, %%r2, 10, %%r1;\nmad.lo.u32 %%r1, %%r3, 100, %%r1;\nmad.lo.u32 %%r1, %%r4, 1000, %%r1;\n"
		"setp.ne.u32 %%p1, %%r1, 2123;\n@%%p1 ret;\n%s\nret;\n}\n\t.file\t1 \"saxpy.cu\"\n\t.file\t2 \"vector.h\"\n",
		declarations, body);
	f = emu_test_kernel(ptx, "k");
	emu_test_log();
	OK(cuLaunchKernel(f, 2, 1, 3, 4, 4, 2, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), want);
	log = emu_test_log();
	if (!strstr(log, words) || !strstr(log, where))
		print_message("%s\nlog: %swanted: %s ... %s\n", body, log, where, words);
	assert_non_null(strstr(log, words));
	assert_non_null(strstr(log, where));
	assert_int_equal(cuMemAlloc(&p, 64), want);
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL), want);
	assert_int_equal(cuStreamQuery(NULL), want);
	OK(cuCtxPopCurrent(&top));
	OK(cuCtxDestroy(ctx));
	/* the neighbour is well */
	OK(cuCtxSynchronize());
}

static void fault(const char *body, CUresult want, const char *words)
{
	fault_in("", body, want, words, WHERE);
}

static void out_of_bounds(void **state)
{
	(void)state;
	fault("st.global.u32 [%rd1+64], 1;", CUDA_ERROR_ILLEGAL_ADDRESS, "global address outside");
	fault("ld.global.u8 %r1, [%rd1+-1];", CUDA_ERROR_ILLEGAL_ADDRESS, "global address outside");
	fault("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+64];", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "global address outside");
	fault("atom.global.add.u32 %r1, [%rd1+64], 1;", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "global address outside");
	fault("red.global.add.f32 [%rd1+64], 0f3f800000;", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "global address outside");
	fault("mov.u64 %rd2, 0; ld.u32 %r1, [%rd2];", CUDA_ERROR_ILLEGAL_ADDRESS, "address 0x0");
	fault("mov.u64 %rd2, 0x7700000000000000; ld.u32 %r1, [%rd2];", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "address in no space");
	fault(".shared .b32 s[4]; st.shared.u32 [s+16], 1;", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "shared address out of bounds");
	fault(".shared .b32 s[4]; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; ld.u32 %r1, [%rd2+400];",
	      CUDA_ERROR_ILLEGAL_ADDRESS, "shared address out of bounds");
	fault(".shared .b32 s[4]; atom.shared.add.u32 %r1, [s+16], 1;", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "shared address out of bounds");
	fault(".local .b32 l[4]; st.local.u32 [l+16], 1;", CUDA_ERROR_ILLEGAL_ADDRESS,
	      "local address out of bounds");
	fault(".shared .align 16 .b32 s[4]; mov.u32 %r1, s; cp.async.ca.shared.global [%r1], [%rd1+64], 16;",
	      CUDA_ERROR_ILLEGAL_ADDRESS, "global address outside");
}

static void misaligned(void **state)
{
	(void)state;
	fault("ld.global.u32 %r1, [%rd1+62];", CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned");
	fault("st.global.u64 [%rd1+60], 1;", CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned");
	fault("ld.global.u16 %h1, [%rd1+1];", CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned");
	fault("ld.global.v2.u32 {%r1, %r2}, [%rd1+4];", CUDA_ERROR_MISALIGNED_ADDRESS,
	      "misaligned");
	fault("atom.global.cas.b64 %rd2, [%rd1+4], 1, 2;", CUDA_ERROR_MISALIGNED_ADDRESS,
	      "misaligned");
	fault(".shared .align 8 .b32 s[4]; st.shared.u32 [s+2], 1;", CUDA_ERROR_MISALIGNED_ADDRESS,
	      "misaligned");
}

static void control(void **state)
{
	(void)state;
	fault("trap;", CUDA_ERROR_LAUNCH_FAILED, "trap");
	fault("bar.sync 1, 64;", CUDA_ERROR_ILLEGAL_INSTRUCTION,
	      "barrier that cannot complete: 32 of 64 threads came, barrier 0x1");
	fault("mov.u32 %r1, 99; bar.sync %r1;", CUDA_ERROR_ILLEGAL_INSTRUCTION,
	      "barrier number out of range");
	fault("t: .branchtargets a, b; mov.u32 %r1, 2; brx.idx %r1, t; a: b: ret;",
	      CUDA_ERROR_INVALID_PC, "brx.idx index out of range, address 0x2");
	fault_in(".func f() { ret; }",
		 "mov.u64 %rd2, 77; pr: .callprototype _ (); call %rd2, (), pr;",
		 CUDA_ERROR_INVALID_PC, "call of an address that is no function, address 0x4d",
		 WHERE);
	fault_in(".func f() { .local .b8 l[1024]; st.local.u32 [l], 1; call f; ret; }", "call f;",
		 CUDA_ERROR_HARDWARE_STACK_ERROR, "local stack overflow",
		 "thread (3,2,0), PTX line 4");
}

/* Two warps part at a barrier: one of them waits for threads that went elsewhere. */
static void divergent_barrier(void **state)
{
	CUcontext ctx, top;
	const char *log;
	CUfunction f;

	(void)state;
	OK(cuCtxCreate(&ctx, NULL, 0, 0));
	f = emu_test_kernel(
		HEAD
		".visible .entry k()\n{ .reg .pred %p; .reg .b32 %r;\nmov.u32 %r, %tid.x;\nsetp.lt.u32 %p, %r, 40;\n"
		"@%p bra low;\nbar.sync 1;\nret;\nlow:\nbar.sync 2;\nret;\n}\n",
		"k");
	OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
	log = emu_test_log();
	assert_non_null(strstr(
		log,
		"kernel k, block (0,0,0), thread (0,0,0), PTX line 12: barrier that cannot complete: 40 of 64 threads came"));
	OK(cuCtxPopCurrent(&top));
	OK(cuCtxDestroy(ctx));
}

static void source_lines(void **state)
{
	(void)state;
	fault_in(
		"",
		".loc 1 17 3\nst.global.u32 [%rd1], 1;\n.loc 2 90 1, function_name $L__info_string0, inlined_at 1 18 5\nst.global.u32 [%rd1+64], 1;",
		CUDA_ERROR_ILLEGAL_ADDRESS, "PTX line 17 (vector.h:90): global address",
		"thread (3,2,0)");
	fault_in("", ".loc 1 17 3\nst.global.u32 [%rd1+64], 1;\n.loc 1 18 3\n",
		 CUDA_ERROR_ILLEGAL_ADDRESS, "PTX line 15 (saxpy.cu:17): global address",
		 "thread (3,2,0)");
	/* a function without .loc of its own does not borrow its neighbour's */
	fault_in(".func f(.reg .b64 a) { st.global.u32 [a+64], 1; ret; }",
		 ".loc 1 17 3\ncall f, (%rd1);", CUDA_ERROR_ILLEGAL_ADDRESS,
		 "PTX line 4: global address", "thread (3,2,0)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_bounds), cmocka_unit_test(misaligned),
		cmocka_unit_test(control),       cmocka_unit_test(divergent_barrier),
		cmocka_unit_test(source_lines),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, emu_test_begin, emu_test_end);
}
