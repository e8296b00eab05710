/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See shim_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_rig.h"

#define PATIENCE_NS (20 * GS_NS_PER_S)

const char shim_rig_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
			    "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
			    "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %ctaid.x;\n"
			    "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
			    "\tst.global.u32 [%rd3], %r1;\n\tret;\n}\n";

struct gs_page *page;
CUfunction kernel;

int all_prepared(void)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].state) != GS_K_PREP ||
		    shim_launch_at(i)->taken != SHIM_FREE)
			return 0;
	return 1;
}

void finish_all(void)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		gs_slot_move(&page->slot[i], GS_K_RUNNING, GS_K_DONE);
}

struct gs_slot *active(void)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].state) != GS_K_PREP)
			return &page->slot[i];
	return &page->slot[0];
}

void expect_calls(const char *expected)
{
	char text[4096];

	fake_driver_calls(text, sizeof(text));
	assert_string_equal(text, expected);
}

void forget_calls(void)
{
	char text[4096];

	fake_driver_calls(text, sizeof(text));
}

/* What the driver was called for since the last look, behind what is in text. */
static void more_calls(char *text, size_t size)
{
	size_t n = strlen(text);

	fake_driver_calls(text + n + (n > 0), size - n - (n > 0));
	if (n && text[n + 1])
		text[n] = ' ';
}

void await_calls(const char *expected)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;
	char text[4096] = "";

	while (strcmp(text, expected) != 0 && gs_clock_ns() < until) {
		usleep(200);
		more_calls(text, sizeof(text));
	}
	assert_string_equal(text, expected);
	usleep(20000);
	expect_calls("");
}

void await_call(const char *call, char *text, size_t size)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	text[0] = '\0';
	while (!strstr(text, call) && gs_clock_ns() < until) {
		usleep(200);
		more_calls(text, size);
	}
	assert_non_null(strstr(text, call));
}

CUresult launch_in(CUfunction f, unsigned int grid, CUstream stream)
{
	static CUdeviceptr p = 0x1122334455667788;
	static uint32_t n = 0x99aabbcc;
	void *args[] = { &p, &n };

	return cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, stream, args, NULL);
}

CUresult launch(CUfunction f, unsigned int grid)
{
	return launch_in(f, grid, STREAM);
}

void not_compared(CUfunction f)
{
	for (struct shim_variant *v = shim_kernel_find(f)->code->variants; v; v = v->next)
		v->cost.launches = SHIM_COMPARED;
}

void ring(void)
{
	gs_page_doorbell(page);
}

#define AS_TEXT(number) #number
#define TEXT(macro) AS_TEXT(macro)
const char *shim_rig_connections = TEXT(RIG_CONNECTIONS);

void shim_rig_load(void)
{
	CUmodule module;

	assert_int_equal(cuModuleLoadData(&module, shim_rig_ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
}

int shim_rig_setup(void **state)
{
	(void)state;
	if (page)
		return 0;
	fake_driver_install();
	unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
	if (shim_rig_connections)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", shim_rig_connections, 1);
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	shim_rig_load();
	expect_calls("load");
	shim_session()->variant_min_ns = 0;
	page = shim_session()->page;
	EVENTUALLY(gs_page_load(page->grant) == 1);
	/* The first launch equips the context, and the kernel's first makes its variant. */
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	assert_int_equal(launch(kernel, 1), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
	not_compared(kernel);
	/* From here on the test is the daemon. */
	shim_session()->absent = GS_ABSENT_WAIT;
	return 0;
}

int shim_rig_idle(void **state)
{
	(void)state;
	gs_page_store(page->grant, 1);
	EVENTUALLY(all_prepared());
	forget_calls();
	return 0;
}
