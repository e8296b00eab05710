/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two modules that were transformed apart and are linked into one: each brings
 * its guarded variant.
 */
#define _GNU_SOURCE
#include "emu_util.h"

#include "device/ptx/guard.h"
#include "device/ptx/transform.h"

#define TASKS 5

/* Lanes leave before a barrier: guarded at best. */
static const char *const texts[] = {
	HEAD
	".visible .entry one(.param .u64 p)\n{\n.reg .pred %q; .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
	"mov.u32 %r1, %tid.x; setp.gt.u32 %q, %r1, 3; @%q ret; bar.sync 0;\n"
	"ld.param.u64 %d1, [p]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2; red.global.add.u32 [%d1], 1; ret;\n}\n",
	HEAD
	".visible .entry two(.param .u64 p)\n{\n.reg .pred %q; .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
	"mov.u32 %r1, %tid.x; setp.gt.u32 %q, %r1, 7; @%q ret; bar.sync 0;\n"
	"ld.param.u64 %d1, [p]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2; red.global.add.u32 [%d1], 1; ret;\n}\n",
};

static void add_transformed(CUlinkState link, const char *text)
{
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform(text, strlen(text), &err);

	assert_non_null(t);
	assert_int_equal(t->kernel[0].transform, PTX_TRANSFORM_GUARDED);
	OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, t->text, t->len + 1, "x", 0, NULL, NULL));
	ptx_transformed_free(t);
}

/* All blocks of the variant: each runs, and W counts them. */
static void run_variant(CUmodule module, const char *name, uint32_t each)
{
	struct gs_guard guard = { 0 };
	uint32_t count[TASKS] = { 0 };
	uint64_t word = 0;
	CUdeviceptr out, at;
	void *params[] = { &out, &guard };
	CUfunction variant;

	OK(cuModuleGetFunction(&variant, module, name));
	OK(cuMemAlloc(&out, sizeof(count)));
	OK(cuMemAlloc(&at, sizeof(word)));
	guard.word = at;
	OK(cuMemcpyHtoD(out, count, sizeof(count)));
	OK(cuMemcpyHtoD(at, &word, sizeof(word)));
	OK(cuLaunchKernel(variant, TASKS, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(count, out, sizeof(count)));
	OK(cuMemcpyDtoH(&word, at, sizeof(word)));
	assert_int_equal(word, TASKS);
	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(count[i], each);
	OK(cuMemFree(out));
	OK(cuMemFree(at));
}

static void two_modules_with_variants(void **state)
{
	CUlinkState link;
	CUmodule module;
	void *image;
	size_t size;

	(void)state;
	OK(cuLinkCreate(0, NULL, NULL, &link));
	add_transformed(link, texts[0]);
	add_transformed(link, texts[1]);
	OK(cuLinkComplete(link, &image, &size));
	OK(cuModuleLoadData(&module, image));
	run_variant(module, "one" PTX_GUARDED_SUFFIX, 4);
	run_variant(module, "two" PTX_GUARDED_SUFFIX, 8);
	OK(cuModuleUnload(module));
	OK(cuLinkDestroy(link));
}

static int setup(void **state)
{
	(void)state;
	emu_test_environment("1", "64M");
	emu_test_context();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(two_modules_with_variants) };

	return cmocka_run_group_tests(tests, setup, emu_test_end);
}
