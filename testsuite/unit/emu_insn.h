/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions on literal operands: one thread runs a body that leaves its result in %rd9. */
#ifndef GPUSHARE_TEST_EMU_INSN_H
#define GPUSHARE_TEST_EMU_INSN_H

#include "emu_util.h"

static CUdeviceptr out;

/* Result of the body: what it leaves in %rd9 (64 bits). */
static inline uint64_t run(const char *body)
{
	char ptx[4096];
	void *params[] = { &out };
	uint64_t v = 0;
	CUfunction f;
	CUmodule m;

	snprintf(
		ptx, sizeof(ptx),
		HEAD
		".visible .entry k(.param .u64 o)\n{\n"
		".reg .pred %%p<10>; .reg .b16 %%h<20>; .reg .b32 %%r<40>; .reg .b64 %%rd<40>; .reg .f32 %%f<20>; .reg .f64 %%d<20>;\n"
		"ld.param.u64 %%rd0, [o];\n%s\nst.global.u64 [%%rd0], %%rd9;\nret;\n}\n",
		body);
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&v, out, 8));
	OK(cuModuleUnload(m));
	return v;
}

struct row {
	const char *body;
	uint64_t want;
};

static inline void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t got = run(rows[i].body);

		if (got != rows[i].want)
			print_message("%s\n got 0x%llx want 0x%llx\n", rows[i].body,
				      (unsigned long long)got, (unsigned long long)rows[i].want);
		assert_true(got == rows[i].want);
	}
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof(rows[0]))

/* d = op on 32-bit literals, zero-extended */
#define R32(insn) insn " cvt.u64.u32 %rd9, %r1;"
/* a predicate as 0 or 1 */
#define P(insn) insn " selp.u64 %rd9, 1, 0, %p1;"
#define F32(insn) insn " mov.b32 %r1, %f1; cvt.u64.u32 %rd9, %r1;"
#define F64(insn) insn " mov.b64 %rd9, %d1;"
#define H(insn) insn " cvt.u64.u16 %rd9, %h1;"

static inline int setup(void **state)
{
	(void)state;
	emu_test_environment("1", "64M");
	emu_test_context();
	OK(cuMemAlloc(&out, 64));
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	emu_test_cleanup();
	return 0;
}

#endif
