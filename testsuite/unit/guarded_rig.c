/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches of a guarded kernel; see guarded_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "guarded_rig.h"

/* Lanes leave before a barrier. */
static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry leaves(.param .u64 p, .param .u32 n)\n{\n"
	"\t.reg .pred %q;\n\t.reg .b32 %r<4>;\n"
	"\tmov.u32 %r1, %tid.x;\n\tld.param.u32 %r2, [n];\n\tsetp.ge.u32 %q, %r1, %r2;\n"
	"\t@%q ret;\n\tbar.sync 0;\n\tret;\n}\n";

CUfunction guarded;
struct shim_kernel *guarded_record;
struct shim_variant *guarded_variant;

const struct guarded_sent *guarded_sent(void)
{
	return fake_driver_params();
}

uint64_t *guarded_word(void)
{
	return (uint64_t *)(uintptr_t)guarded_sent()->guard.word;
}

int guarded_setup(void **state)
{
	CUmodule module;

	if (guarded)
		return 0;
	assert_int_equal(shim_rig_setup(state), 0);
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&guarded, module, "leaves"), CUDA_SUCCESS);
	guarded_record = shim_kernel_find(guarded);
	gs_page_store(page->grant, 1);
	assert_int_equal(launch(guarded, 1), CUDA_SUCCESS); /* for which its variant is made */
	finish_all();
	EVENTUALLY(all_prepared());
	guarded_variant =
		shim_variant_in(guarded_record->code, shim_context_current(shim_session()));
	assert_non_null(guarded_variant);
	assert_ptr_equal(guarded_variant->f, FAKE_GUARDED);
	assert_int_equal(guarded_variant->transform, PTX_TRANSFORM_GUARDED);
	not_compared(guarded);
	return 0;
}

void guarded_ends(struct gs_slot *slot, uint64_t done, uint32_t state)
{
	if (state == GS_K_DONE)
		*guarded_word() = 0;
	gs_page_store(slot->started, 1);
	gs_page_store(slot->done, done);
	gs_page_store(slot->state, state);
}

struct gs_slot *guarded_launched(const char *calls)
{
	assert_int_equal(launch(guarded, LONG_GRID), CUDA_SUCCESS);
	expect_calls(calls);
	return active();
}

struct guarded_out guarded_launched_in(CUstream stream)
{
	struct guarded_out o = { NULL, NULL };

	assert_int_equal(launch_in(guarded, LONG_GRID, stream), CUDA_SUCCESS);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		struct gs_slot *slot = &page->slot[i];

		if (gs_page_load(slot->state) != GS_K_PREP &&
		    (!o.slot || gs_page_load(slot->seq) > gs_page_load(o.slot->seq)))
			o.slot = slot;
	}
	o.word = guarded_word();
	return o;
}

void guarded_tell_unstarted(const struct guarded_out *o)
{
	gs_page_store(o->slot->started, 0);
	assert_true(gs_slot_move(o->slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*o->word == GS_GUARD_LEAVE);
}
