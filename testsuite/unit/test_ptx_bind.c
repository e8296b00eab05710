/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One kernel as a module of its own, over another module's variables (bind.h). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/ptx/bind.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char module[] = HEAD
	".global .align 4 .u32 counter;\n"
	".const .align 4 .f32 factor[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};\n"
	".global .align 8 .u64 unused = generic(counter);\n"
	".extern .shared .align 16 .b8 room[];\n"
	".shared .align 4 .b8 others[64];\n"
	".func helper(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [p];\n\tatom.global.add.u32 %r1, [counter+4], 1;\n\tret;\n}\n"
	".visible .entry other()\n{\n\t.reg .b32 %r<2>;\n\tld.shared.u32 %r1, [others];\n\tret;\n}\n"
	".visible .entry k(.param .u64 p)\n{\n"
	"\t.reg .pred %q;\n\t.reg .f32 %f<3>;\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<3>;\n"
	"\tsetp.eq.u32 %q, %r1, 0;\n"
	"\t@%q ld.const.f32 %f1, [factor+4];\n"
	"\tmov.u64 %rd1, factor;\n\tld.const.f32 %f2, [%rd1];\n"
	"\tcvta.const.u64 %rd2, %rd1;\n\tmov.u64 %rd3, counter+8;\n"
	"\tmov.u32 %r2, room;\n"
	"\t{\n\t.param .u64 a;\n\tst.param.u64 [a], %rd2;\n\tcall.uni helper, (a);\n\t}\n"
	"\tret;\n}\n";

/* What becomes of it with both variables at known places. */
static const char wanted[] =
	HEAD "\n\n\n"
	     ".extern .shared .align 16 .b8 room[];\n\n"
	     ".func helper(.param .u64 p)\n{\n\t.reg .b64 %__gpushare_v<4>;\n"
	     "\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<2>;\n"
	     "\tld.param.u64 %rd1, [p];\n\tmov.u64 %__gpushare_v0, 0x1000;\n"
	     "\tatom.global.add.u32 %r1, [%__gpushare_v0+4], 1;\n\tret;\n}\n\n"
	     ".visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %__gpushare_v<4>;\n"
	     "\t.reg .pred %q;\n\t.reg .f32 %f<3>;\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<3>;\n"
	     "\tsetp.eq.u32 %q, %r1, 0;\n"
	     "\tmov.u64 %__gpushare_v0, 0x7f0000002000;\n"
	     "\t@%q ld.global.f32 %f1, [%__gpushare_v0+4];\n"
	     "\tmov.u64 %__gpushare_v0, 0x7f0000002000;\n\tmov.u64 %rd1, %__gpushare_v0;\n"
	     "\tld.global.f32 %f2, [%rd1];\n"
	     "\tmov.u64 %rd2, %rd1;\n\tmov.u64 %rd3, 0x1008;\n"
	     "\tmov.u32 %r2, room;\n"
	     "\t{\n\t.param .u64 a;\n\tst.param.u64 [a], %rd2;\n\tcall.uni helper, (a);\n\t}\n"
	     "\tret;\n}\n";

static struct ptx_bind *opened(const char *text, const char *kernel)
{
	struct gs_error err = { "" };
	struct ptx_bind *b = ptx_bind_open(text, strlen(text), kernel, &err);

	if (!b)
		fail_msg("%s", err.text);
	return b;
}

static void address_of(struct ptx_bind *b, const char *name, uint64_t address)
{
	struct ptx_need *need;
	uint32_t n;

	need = ptx_bind_needs(b, &n);
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(need[i].name, name) == 0) {
			need[i].address = address;
			return;
		}
	fail_msg("%s is not needed", name);
}

static void what_a_kernel_needs(void **unused)
{
	struct ptx_bind *b = opened(module, "k");
	enum ptx_reason why;
	uint32_t n;
	size_t len;
	char *text;

	(void)unused;
	ptx_bind_needs(b, &n);
	assert_int_equal(n, 2);
	address_of(b, "counter", 0x1000);
	address_of(b, "factor", UINT64_C(0x7f0000002000));
	text = ptx_bind_text(b, &len, &why);
	assert_int_equal(why, PTX_REASON_NONE);
	assert_string_equal(text, wanted);
	assert_int_equal(len, strlen(wanted));
	free(text);
	ptx_bind_close(b);
}

/* A constant that the host does not find is the variant's own; a variable that others write is not.
 */
static void what_the_driver_does_not_know(void **unused)
{
	struct ptx_bind *b = opened(module, "k");
	enum ptx_reason why;
	size_t len;
	char *text;

	(void)unused;
	address_of(b, "counter", 0x1000);
	text = ptx_bind_text(b, &len, &why);
	assert_non_null(text);
	assert_non_null(strstr(text, "\n.global .align 4 .f32 factor[4] = {"));
	assert_non_null(strstr(text, "ld.global.f32 %f1, [factor+4];"));
	assert_null(strstr(text, ".const"));
	free(text);
	address_of(b, "counter", 0);
	assert_null(ptx_bind_text(b, &len, &why));
	assert_int_equal(why, PTX_REASON_UNBOUND);
	ptx_bind_close(b);
}

static enum ptx_reason reason_of(const char *text)
{
	struct ptx_bind *b = opened(text, "k");
	struct ptx_need *need;
	enum ptx_reason why;
	uint32_t n;
	size_t len;

	need = ptx_bind_needs(b, &n);
	for (uint32_t i = 0; i < n; i++)
		need[i].address = 0x1000;
	free(ptx_bind_text(b, &len, &why));
	ptx_bind_close(b);
	return why;
}

#define KERNEL(code) \
	".visible .entry k()\n{\n\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<4>;\n\t.reg .pred %p;\n" code \
	"\tret;\n}\n"

static void what_cannot_be_bound(void **unused)
{
	(void)unused;
	assert_int_equal(reason_of(HEAD ".func f()\n{\n\tret;\n}\n" KERNEL("\tmov.u64 %rd1, f;\n")),
			 PTX_REASON_FUNCTION_ADDRESS);
	assert_int_equal(reason_of(HEAD ".func f()\n{\n\tret;\n}\n" KERNEL("\tcall f;\n")),
			 PTX_REASON_NONE);
	assert_int_equal(reason_of(HEAD KERNEL("$P: .callprototype _ ();\n\tcall %rd1, $P;\n")),
			 PTX_REASON_FUNCTION_ADDRESS);
	assert_int_equal(reason_of(HEAD ".global .texref t;\n" KERNEL(
				 "\ttex.1d.v4.u32.s32 {%r1, %r1, %r1, %r1}, [t, {%r2}];\n")),
			 PTX_REASON_UNBOUND);
	/* A pointer to a constant would be one into the program's own module. */
	assert_int_equal(reason_of(HEAD ".const .u32 c = 1;\n.global .u64 at = c;\n" KERNEL(
				 "\tld.global.u64 %rd1, [at];\n\tld.const.u32 %r1, [%rd1];\n")),
			 PTX_REASON_UNBOUND);
	assert_int_equal(reason_of(HEAD ".const .u32 c = 1;\n" KERNEL(
				 "\tmov.u64 %rd1, c;\n\tisspacep.const %p, %rd1;\n")),
			 PTX_REASON_UNBOUND);
	assert_int_equal(reason_of(HEAD ".global .u32 g;\n" KERNEL(
				 "\t.local .u32 g;\n\tld.local.u32 %r1, [g];\n")),
			 PTX_REASON_UNBOUND);
}

static void no_such_kernel(void **unused)
{
	struct gs_error err = { "" };

	(void)unused;
	assert_null(ptx_bind_open(module, strlen(module), "helper", &err));
	assert_string_equal(err.text, "line 1: there is no kernel helper");
	assert_null(ptx_bind_open("nothing", 7, "k", &err));
}

/* The variant alone has the kernel's name. */
static void the_variant_takes_the_kernels_place(void **unused)
{
	static const char text[] = HEAD KERNEL("\tmov.u32 %r1, %ctaid.x;\n");
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform_only(
		text, strlen(text),
		PTX_TRANSFORM_BIT(PTX_TRANSFORM_PERSISTENT) | PTX_TRANSFORMS_ALONE, 0, &err);
	const char *first;

	(void)unused;
	assert_non_null(t);
	first = strstr(t->text, ".entry k(");
	assert_non_null(first);
	assert_null(strstr(first + 1, ".entry"));
	assert_non_null(strstr(first, ".param .u64 __gpushare_ctl"));
	ptx_transformed_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_kernel_needs),
		cmocka_unit_test(what_the_driver_does_not_know),
		cmocka_unit_test(what_cannot_be_bound),
		cmocka_unit_test(no_such_kernel),
		cmocka_unit_test(the_variant_takes_the_kernels_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
