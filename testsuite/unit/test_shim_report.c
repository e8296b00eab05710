/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a slot and a kernel's record say for the report: why a launch cannot be evicted, how many
 * registers there are, and what is known of its variant and its long launches. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/clock.h"
#include "device/shim/base/shim.h"
#include "device/shim/launch/facts.h"
#include "device/shim/variant/variant.h"
#include "fake_driver.h"
#include "shim_rig.h"

extern void *shim_slot[SHIM_FN_COUNT];

/* Of the newest launch, whether it is over or not. */
static uint32_t newest_flags(void)
{
	const struct gs_slot *newest = &page->slot[0];

	for (uint32_t i = 1; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].seq) > gs_page_load(newest->seq))
			newest = &page->slot[i];
	return gs_page_load(newest->flags);
}

/* The slot tells, and the kernel's record keeps it. */
static void expect_why(const struct shim_kernel *k, enum ptx_reason why)
{
	assert_int_equal(newest_flags() & GS_SLOT_EVICTABLE, 0);
	assert_int_equal(newest_flags() >> GS_SLOT_WHY_SHIFT & GS_SLOT_WHY_MAX, why);
	assert_int_equal(k->why, why);
	assert_int_equal(shim_kernel_why(k), why);
	finish_all();
	EVENTUALLY(all_prepared());
}

static const struct shim_kernel *known(void)
{
	return shim_kernel_find(kernel);
}

static void test_of_the_launch(void **unused)
{
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n };
	char buffer[12] = { 0 };
	size_t size = 8; /* of 12 */
	void *packed[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			   &size, CU_LAUNCH_PARAM_END };

	(void)unused;
	assert_int_equal(launch(kernel, FAKE_SMS * FAKE_BLOCKS_PER_SM), CUDA_SUCCESS);
	expect_why(known(), PTX_REASON_ONE_WAVE);
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, NULL, NULL),
			 CUDA_SUCCESS);
	expect_why(known(), PTX_REASON_ARGUMENTS);
	/* What no driver takes it has to see. */
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, NULL, packed),
			 CUDA_SUCCESS);
	expect_why(known(), PTX_REASON_ARGUMENTS);
	size = 12;
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, args, packed),
			 CUDA_SUCCESS);
	expect_why(known(), PTX_REASON_ARGUMENTS);
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, NULL, packed),
			 CUDA_SUCCESS);
	assert_int_equal(newest_flags() & 0xff, GS_SLOT_EVICTABLE);
	finish_all();
	EVENTUALLY(all_prepared());
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cuLaunchKernel(kernel, i == 0 ? 0x80000000u : 1,
						i == 1 ? 65536 : 1, i == 2 ? 65536 : 1, 32, 1, 1, 0,
						STREAM, args, NULL),
				 CUDA_SUCCESS);
		expect_why(known(), PTX_REASON_ARGUMENTS);
	}
	assert_int_equal(cuLaunchKernel(kernel, 1, 65535, 1, 32, 1, 1, 0, STREAM, args, NULL),
			 CUDA_SUCCESS);
	assert_int_equal(newest_flags() & 0xff, GS_SLOT_EVICTABLE);
	finish_all();
	EVENTUALLY(all_prepared());
	assert_int_equal(
		cuLaunchCooperativeKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, args),
		CUDA_SUCCESS);
	expect_why(known(), PTX_REASON_COOPERATIVE);
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	expect_why(shim_kernel_find(FAKE_MACHINE_CODE), PTX_REASON_UNSEEN);
	/* One that is evictable takes nothing back. */
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	assert_int_equal(newest_flags() & 0xff, GS_SLOT_EVICTABLE);
	finish_all();
	assert_int_equal(known()->why, PTX_REASON_COOPERATIVE);
}

static void test_of_an_attribute(void **unused)
{
	static const struct {
		CUlaunchAttributeID id;
		enum ptx_reason why;
	} attributes[] = {
		{ CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, PTX_REASON_CLUSTER },
		{ CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, PTX_REASON_PDL },
		{ CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, PTX_REASON_PDL },
		{ CU_LAUNCH_ATTRIBUTE_COOPERATIVE, PTX_REASON_COOPERATIVE },
		{ CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, PTX_REASON_LAUNCH_ATTRIBUTE },
	};
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n };

	(void)unused;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		/* The one that says most, wherever it stands. */
		CUlaunchAttribute attribute[2] = { { .id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN },
						   { .id = attributes[i].id } };
		CUlaunchConfig config = {
			.gridDimX = LONG_GRID,
			.gridDimY = 1,
			.gridDimZ = 1,
			.blockDimX = 32,
			.blockDimY = 1,
			.blockDimZ = 1,
			.hStream = STREAM,
			.attrs = attribute,
			.numAttrs = 2,
		};

		attribute[1].value.clusterDim.x = attribute[1].value.clusterDim.y =
			attribute[1].value.clusterDim.z = 2;
		assert_int_equal(cuLaunchKernelEx(&config, kernel, args, NULL), CUDA_SUCCESS);
		expect_why(known(), attributes[i].why);
	}
}

static unsigned int attributes_launched;

static CUresult launch_with(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	(void)params, (void)extra;
	fake_launched = f;
	attributes_launched = config->numAttrs;
	return CUDA_SUCCESS;
}

/* What the variant honours as well goes along, and what asks for nothing does not matter. */
static void test_of_an_attribute_that_holds(void **unused)
{
	CUlaunchAttribute attribute[] = {
		{ .id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN },
		{ .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE },
		{ .id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = { .priority = -1 } },
		{ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
		  .value = { .clusterDim = { 1, 1, 1 } } },
	};
	CUlaunchConfig config = {
		.gridDimX = LONG_GRID,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = STREAM,
		.attrs = attribute,
		.numAttrs = 4,
	};
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n }, *driver = shim_slot[SHIM_FN_cuLaunchKernelEx];

	(void)unused;
	shim_slot[SHIM_FN_cuLaunchKernelEx] = (void *)(uintptr_t)launch_with;
	assert_int_equal(cuLaunchKernelEx(&config, kernel, args, NULL), CUDA_SUCCESS);
	assert_ptr_equal(fake_launched, FAKE_VARIANT);
	assert_int_equal(attributes_launched, 2);
	assert_int_equal(newest_flags() & 0xff, GS_SLOT_EVICTABLE);
	finish_all();
	EVENTUALLY(all_prepared());
	shim_slot[SHIM_FN_cuLaunchKernelEx] = driver;
}

static CUresult refuse(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	(void)f, (void)params, (void)extra;
	return config->numAttrs && !config->attrs ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* A list that is said to be there and is not is the driver's to refuse. */
static void test_of_no_attributes(void **unused)
{
	CUlaunchConfig config = {
		.gridDimX = LONG_GRID,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = STREAM,
		.attrs = NULL,
		.numAttrs = 1,
	};
	void *driver = shim_slot[SHIM_FN_cuLaunchKernelEx];

	(void)unused;
	shim_slot[SHIM_FN_cuLaunchKernelEx] = (void *)(uintptr_t)refuse;
	assert_int_equal(cuLaunchKernelEx(&config, kernel, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	shim_slot[SHIM_FN_cuLaunchKernelEx] = driver;
	assert_true(all_prepared());
}

static CUresult no_room(int *blocks, CUfunction f, int threads, size_t shared)
{
	(void)f, (void)threads, (void)shared;
	*blocks = 0;
	return CUDA_SUCCESS;
}

static void test_of_the_moment(void **unused)
{
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n },
	     *occupancy = shim_slot[SHIM_FN_cuOccupancyMaxActiveBlocksPerMultiprocessor];
	struct shim_kernel *k = shim_kernel_find(kernel);
	struct shim_time *time =
		shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	uint64_t i = 0;

	(void)unused;
	shim_slot[SHIM_FN_cuOccupancyMaxActiveBlocksPerMultiprocessor] = (void *)(uintptr_t)no_room;
	assert_int_equal(
		cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, 7777, STREAM, args, NULL),
		CUDA_SUCCESS);
	shim_slot[SHIM_FN_cuOccupancyMaxActiveBlocksPerMultiprocessor] = occupancy;
	expect_why(k, PTX_REASON_OCCUPANCY);
	time->tpt_ps = 1000;
	gs_page_store(page->contended, 1);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	gs_page_store(page->contended, 0);
	time->tpt_ps = time->due = 0;
	expect_why(k, PTX_REASON_SHORT);
	/* Nobody waits: 1 ms is short, and is not slowed down for the sake of whoever comes after
	 * it. */
	time->tpt_ps = 1000ull * 1000 * 1000 / LONG_GRID;
	gs_page_store(page->contended, GS_CONTENDED_TRACKED);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	gs_page_store(page->contended, GS_CONTENDED_NOT);
	time->tpt_ps = time->due = 0;
	expect_why(k, PTX_REASON_SHORT);
	/* As many streams as may. */
	do
		assert_int_equal(
			launch_in(kernel, LONG_GRID, (CUstream)(uintptr_t)(0x10000 + 0x10 * i)),
			CUDA_SUCCESS);
	while ((newest_flags() & GS_SLOT_EVICTABLE) && ++i < 64);
	expect_why(k, PTX_REASON_STREAMS);
}

/* A graph is no function, and nobody is asked for its name. */
static void test_of_a_graph(void **unused)
{
	const CUgraphExec graph = (CUgraphExec)0x91000;
	const struct shim_kernel *k;

	(void)unused;
	assert_int_equal(cuGraphLaunch(graph, STREAM), CUDA_SUCCESS);
	k = shim_graph_find(graph);
	assert_string_equal(k->code->name, "(graph)");
	assert_ptr_equal(shim_graph_find(graph), k);
	expect_why(k, PTX_REASON_GRAPH);
}

static unsigned int requested;

static CUresult registers(int *value, CUfunction_attribute attribute, CUfunction f)
{
	(void)f;
	requested += attribute == CU_FUNC_ATTRIBUTE_NUM_REGS;
	*value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 42 : 0;
	return CUDA_SUCCESS;
}

/* Asked for when the kernel becomes known, and at no launch. */
static void test_registers(void **unused)
{
	const CUfunction unknown = (CUfunction)0x92000;
	void *attribute = shim_slot[SHIM_FN_cuFuncGetAttribute];

	(void)unused;
	shim_slot[SHIM_FN_cuFuncGetAttribute] = (void *)(uintptr_t)registers;
	requested = 0;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(launch(unknown, LONG_GRID), CUDA_SUCCESS);
		finish_all();
	}
	assert_int_equal(shim_kernel_find(unknown)->code->registers, 42);
	assert_int_equal(requested, 1);
	shim_slot[SHIM_FN_cuFuncGetAttribute] = attribute;
}

/* ---- variants and long launches ---- */

#define AT_ONCE (FAKE_SMS * FAKE_BLOCKS_PER_SM)
#define FACTS_GRID 24 /* 3 waves, and a size of its own: nothing else learns of it */

static void facts_of(const struct shim_kernel *k, struct gs_msg_variant *is)
{
	assert_int_equal(shim_facts_of(k->code, is), 1);
	assert_int_equal(is->number, k->code->number);
}

static struct shim_time *its_time(struct shim_kernel *k, unsigned int grid)
{
	return shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, grid);
}

/* Block time and waves are of the last launch that was long, as it was predicted... */
static void test_of_a_long_launch(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(kernel);
	struct shim_time *t = its_time(k, FACTS_GRID);
	uint64_t before = (uint64_t)time(NULL);
	struct gs_msg_variant is;

	(void)unused;
	not_compared(kernel);
	shim_session()->variant_min_ns = GS_NS_PER_MS;
	k->code->facts = (struct shim_facts) { 0 };
	t->tpt_ps = 9 * GS_NS_PER_MS * 1000 / FACTS_GRID;
	t->due = 0;
	assert_int_equal(launch(kernel, FACTS_GRID), CUDA_SUCCESS);
	assert_int_equal(newest_flags() & 0xff, GS_SLOT_EVICTABLE);
	finish_all();
	EVENTUALLY(all_prepared());
	facts_of(k, &is);
	assert_int_equal(is.blocks, FACTS_GRID);
	assert_int_equal(is.at_once, AT_ONCE);
	assert_in_range(is.block_ns, 2999000, 3000000);
	assert_int_equal(is.made_of, GS_MADE_OF_PTX);
	assert_in_range(is.since, before, before + 60);
	/* A short one changes nothing. */
	t->tpt_ps = GS_NS_PER_MS * 1000 / FACTS_GRID / 2;
	t->due = 0;
	assert_int_equal(launch(kernel, FACTS_GRID), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
	facts_of(k, &is);
	assert_in_range(is.block_ns, 2999000, 3000000);
	t->tpt_ps = t->due = 0;
	shim_session()->variant_min_ns = 0;
}

/* ...or, if nothing was known of it, as it was timed. */
static void test_of_a_first_launch(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(kernel);
	struct shim_time *t = its_time(k, 4);
	struct gs_msg_variant is;

	(void)unused;
	k->code->facts = (struct shim_facts) { 0 };
	t->tpt_ps = t->due = t->again = 0;
	assert_int_equal(launch(kernel, 4), CUDA_SUCCESS);
	assert_int_equal(k->code->facts.blocks, 0);
	fake_driver_takes(5);
	finish_all();
	EVENTUALLY(all_prepared());
	fake_driver_takes(0);
	EVENTUALLY(k->code->facts.blocks);
	facts_of(k, &is);
	assert_int_equal(is.blocks, 4);
	assert_int_equal(is.at_once, AT_ONCE);
	/* They do not fill the GPU, so each takes as long as all of them. */
	assert_int_equal(is.block_ns, 5 * GS_NS_PER_MS);
	t->tpt_ps = t->due = 0;
}

/* What both take is told as it is measured, and told once. */
static void test_of_the_cost(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(kernel);
	struct shim_context *c = shim_context_current(shim_session());
	struct gs_msg_variant is;

	(void)unused;
	k->code->facts.changed = 0;
	shim_variant_in(k->code, c)->cost = (struct shim_cost) { 0 };
	for (int i = 0; i < 4; i++) {
		facts_of(k, &is);
		assert_int_equal(is.written_ps, 0); /* not yet */
		shim_variant_timed(k->code, c, 1, 4711, 1000);
		shim_variant_timed(k->code, c, 0, 4711, 1200);
	}
	assert_int_equal(k->code->facts.changed, 1);
	facts_of(k, &is);
	assert_int_equal(is.written_ps, 1000);
	assert_int_equal(is.variant_ps, 1200);
	shim_variant_in(k->code, c)->cost.dims = 0;
}

/* A graph has neither blocks nor a variant. */
static void test_nothing_of_a_graph(void **unused)
{
	const CUgraphExec graph = (CUgraphExec)0x91000;
	struct gs_msg_variant is;

	(void)unused;
	assert_int_equal(cuGraphLaunch(graph, STREAM), CUDA_SUCCESS);
	finish_all();
	assert_int_equal(shim_facts_of(shim_graph_find(graph)->code, &is), 0);
}

int shim_reports(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_of_the_launch),
		SHIM(test_of_an_attribute),
		SHIM(test_of_an_attribute_that_holds),
		SHIM(test_of_no_attributes),
		SHIM(test_of_the_moment),
		SHIM(test_of_a_graph),
		SHIM(test_registers),
		SHIM(test_of_a_long_launch),
		SHIM(test_of_a_first_launch),
		SHIM(test_of_the_cost),
		SHIM(test_nothing_of_a_graph),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
