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
#include <cmocka.h>

#include "ptx_rig.h"

static void instructions_that_refuse(void **state)
{
	(void)state;
	expect_reason(PTX_KERNEL("add.u32 %r1, %r2, %r3;"), PTX_REASON_NONE, 0);
	expect_reason(PTX_KERNEL("mbarrier.init.shared.b64 [%rd1], 1;"), PTX_REASON_ASYNC_STATE, 2);
	expect_reason(PTX_KERNEL("wgmma.fence.sync.aligned;"), PTX_REASON_ASYNC_STATE, 2);
	expect_reason(PTX_KERNEL("tcgen05.wait::ld.sync.aligned;"), PTX_REASON_ASYNC_STATE, 2);
	expect_reason(PTX_KERNEL("cp.async.bulk.commit_group;"), PTX_REASON_ASYNC_STATE, 2);
	expect_reason(PTX_KERNEL("cp.async.mbarrier.arrive.shared.b64 [%rd1];"),
		      PTX_REASON_ASYNC_STATE, 2);
	expect_reason(
		PTX_KERNEL(
			"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];"),
		PTX_REASON_CLUSTER, 2);
	expect_reason(PTX_KERNEL("cp.async.ca.shared.global [%r1], [%rd1], 16;"), PTX_REASON_NONE,
		      0);
	expect_reason(PTX_KERNEL("setmaxnreg.inc.sync.aligned.u32 240;"), PTX_REASON_SETMAXNREG, 2);
	expect_reason(PTX_KERNEL("griddepcontrol.wait;"), PTX_REASON_PDL, 2);
	expect_reason(PTX_KERNEL("barrier.cluster.arrive;"), PTX_REASON_CLUSTER, 2);
	expect_reason(PTX_KERNEL("mapa.u64 %rd1, %rd2, %r1;"), PTX_REASON_CLUSTER, 2);
	expect_reason(PTX_KERNEL("ld.shared::cluster.u32 %r1, [%r2];"), PTX_REASON_CLUSTER, 2);
	expect_reason(".entry k() .reqnctapercluster 2, 1, 1 { ret; }", PTX_REASON_CLUSTER, 1);
	expect_reason(PTX_KERNEL("alloca.u64 %rd1, 16;"), PTX_REASON_STACK, 2);
	expect_reason(PTX_KERNEL(".global .u32 counter;"), PTX_REASON_STATIC_VARIABLE, 2);
	expect_reason(PTX_KERNEL("frobnicate.u32 %r1;"), PTX_REASON_UNKNOWN_INSTRUCTION, 2);
	expect_reason(PTX_KERNEL(".shiny 3;"), PTX_REASON_UNKNOWN_INSTRUCTION, 2);
	expect_reason(PTX_KERNEL("bar.arrive 1, 64;"), PTX_REASON_ARRIVAL, 2);
	expect_reason(PTX_KERNEL("bar.sync %r1, 64;"), PTX_REASON_BARRIER_NUMBER, 2);
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
		expect_reason(text, PTX_REASON_NONE, 0);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		sprintf(text, ".entry k() { .reg .b32 %%r<9>;\nmov.u32 %%r1, %s; ret; }",
			refused[i].name);
		expect_reason(text, refused[i].reason, 2);
	}
	expect_reason(".entry k() { .reg .u16 h;\nmov.u16 h, %ctaid.x; ret; }",
		      PTX_REASON_SPECIAL_REGISTER, 2);
	expect_reason(".entry k() { .reg .s16 h;\nmov.s16 h, %nctaid.y; ret; }",
		      PTX_REASON_SPECIAL_REGISTER, 2);
	expect_reason(".entry k() { .reg .u64 d;\ncvt.u64.u16 d, %ctaid.x; ret; }",
		      PTX_REASON_SPECIAL_REGISTER, 2);
	expect_reason(".entry k() { .reg .u16 h;\ncvt.u16.u32 h, %ctaid.x; ret; }", PTX_REASON_NONE,
		      0);
}

static void functions(void **state)
{
	(void)state;
	expect_reason(".func f() { ret; }\n.entry k() { call f; ret; }", PTX_REASON_NONE, 0);
	expect_reason(".func f() {\nexit; }\n.entry k() { call f; ret; }",
		      PTX_REASON_EXIT_IN_FUNCTION, 2);
	expect_reason(
		".func f() { .reg .b32 r; mov.u32 r, %ctaid.x; ret; }\n.entry k() { call f; ret; }",
		PTX_REASON_NONE, 0);
	expect_reason(
		".func g() { .reg .b32 r; mov.u32 r, %nctaid.x; ret; }\n.func f() { call g; ret; }\n"
		".entry k() { call f; ret; }",
		PTX_REASON_NONE, 0);
	/* what cannot be cloned */
	expect_reason(
		".func f(.param .align 8 .b8 a[]) { .reg .b32 r; mov.u32 r, %ctaid.x; ret; }\n.entry k() { call f; ret; }",
		PTX_REASON_BLOCK_ID_IN_FUNCTION, 1);
	expect_reason(
		".func f() { .reg .b32 r;\n.global .u32 v; mov.u32 r, %ctaid.x; ret; }\n.entry k() { call f; ret; }",
		PTX_REASON_STATIC_VARIABLE, 2);
	expect_reason(".func f() { .global .u32 v; ret; }\n.entry k() { call f; ret; }",
		      PTX_REASON_NONE, 0);
	expect_reason(
		".func f() { .reg .b32 r;\nmov.u32 r, %gridid; ret; }\n.entry k() { call f; ret; }",
		PTX_REASON_SPECIAL_REGISTER, 2);
	/* the caller before the callee, and a cycle */
	expect_reason(
		".func f();\n.func g();\n.func f() { call g; ret; }\n.func g() { call f;\nexit; }\n"
		".entry k() { call f; ret; }",
		PTX_REASON_EXIT_IN_FUNCTION, 5);
	expect_reason(
		".extern .func vprintf(.param .b64 a);\n.entry k() { .param .b64 a; call vprintf, (a); ret; }",
		PTX_REASON_NONE, 0);
	expect_reason(".extern .func elsewhere();\n.entry k() { call elsewhere; ret; }",
		      PTX_REASON_FOREIGN_FUNCTION, 2);
	expect_reason(
		".extern .func cudaLaunchDevice();\n.entry k() { call cudaLaunchDevice; ret; }",
		PTX_REASON_DYNAMIC_PARALLELISM, 2);
	expect_reason(
		".extern .func cudaCGSynchronize();\n.entry k() {\ncall cudaCGSynchronize; ret; }",
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
	struct ptx_transformed *t = ptx_transformed_of(text);
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
	expect_reason(text, PTX_REASON_NONE, 0);
	sprintf(text,
		".func f() { .reg .b32 r; mov.u32 r, %%ctaid.x; ret; }\n.global .u64 t = f;\n%s",
		call);
	expect_reason(text, PTX_REASON_BLOCK_ID_IN_FUNCTION, 1);
	sprintf(text, ".func f() {\nexit; }\n.global .u64 t = f;\n%s", call);
	expect_reason(text, PTX_REASON_EXIT_IN_FUNCTION, 2);
	/* its address is not taken: nobody can call it */
	sprintf(text, ".func f() { exit; }\n.global .u64 t;\n%s", call);
	expect_reason(text, PTX_REASON_NONE, 0);
}

static void parameters(void **state)
{
	struct ptx_transformed *t = ptx_transformed_of(
		PTX_HEAD
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
	expect_reason(".entry k(.param .align 4 .b8 p[32752]) { ret; }", PTX_REASON_NONE, 0);
	expect_reason(".entry k(.param .align 4 .b8 p[32760]) { ret; }", PTX_REASON_PARAMETERS, 1);
	sprintf(text, ".entry k(.param .align 4 .b8 p[%d]) { ret; }", 4088);
	expect_reason_of("\n.version 8.0\n.target sm_90\n.address_size 64\n", text, PTX_REASON_NONE,
			 0);
	sprintf(text, ".entry k(.param .align 4 .b8 p[%d]) { ret; }", 4092);
	expect_reason_of("\n.version 8.0\n.target sm_90\n.address_size 64\n", text,
			 PTX_REASON_PARAMETERS, 1);
	expect_reason(".shared .b8 s[49152];\n.entry k() { .reg .u32 r; mov.u32 r, s; ret; }",
		      PTX_REASON_SHARED_MEMORY, 2);
	expect_reason(".shared .b8 s[49152];\n.entry k() { ret; }", PTX_REASON_NONE, 0);
}

static void modules_that_refuse(void **state)
{
	(void)state;
	expect_reason_of(".version 7.0\n.target sm_75\n", ".entry k() { ret; }",
			 PTX_REASON_ADDRESS_SIZE, 0);
	expect_reason_of(".version 5.0\n.target sm_60\n.address_size 64\n", ".entry k() { ret; }",
			 PTX_REASON_ISA_VERSION, 0);
}

static void nothing_to_do(void **state)
{
	struct ptx_transformed *t = ptx_transformed_of("");

	(void)state;
	assert_int_equal(t->nkernel, 0);
	assert_int_equal(t->len, 0);
	assert_string_equal(t->text, "");
	ptx_transformed_free(t);
	ptx_transformed_free(NULL);
	t = ptx_transformed_of(PTX_HEAD "// nothing\n");
	assert_string_equal(t->text, PTX_HEAD "// nothing\n");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_that_refuse),
		cmocka_unit_test(special_registers),
		cmocka_unit_test(functions),
		cmocka_unit_test(two_bodies_of_one_name),
		cmocka_unit_test(indirect_calls),
		cmocka_unit_test(parameters),
		cmocka_unit_test(modules_that_refuse),
		cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(words_for_everything),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	failed += test_ptx_exits();
	return failed + test_ptx_large();
}
