/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every allocation door of the shim over a driver that grants everything: a
 * hundred times at the limit each, to the byte, and all of it back afterwards.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "device/shim/agent.h"
#include "device/shim/memory.h"
#include "device/shim/module_size.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"
#include "fake_driver.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define RESERVATION (64 * MIB)
#define TIMES 100

extern void *shim_slot[SHIM_FN_COUNT];
#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

static struct shim_session *s;

/* ---- a driver that grants everything --------------------------------------- */

static uint64_t next_handle = 0x100000;
static CUresult answer = CUDA_SUCCESS; /* of the calls that allocate */
static uint64_t pool_has;              /* what the pool reports as reserved */
static CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
static uint64_t graph_node_bytes;
static size_t limit_value = 1024;

static CUresult give(uint64_t *handle)
{
	*handle = next_handle += 0x1000;
	return answer;
}

static CUresult give_pitched(CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
			     unsigned int element)
{
	(void)height, (void)element;
	*pitch = (width + 511) & ~(size_t)511;
	return give((uint64_t *)p);
}

static CUresult context(CUcontext *ctx)
{
	*ctx = FAKE_CONTEXT;
	return CUDA_SUCCESS;
}

static CUresult attribute(int *value, CUdevice_attribute a, CUdevice dev)
{
	(void)dev;
	*value = a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? FAKE_SMS :
		 a == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR ? 2048 : 0;
	return CUDA_SUCCESS;
}

static CUresult pool_of_device(CUmemoryPool *pool, CUdevice dev)
{
	(void)dev;
	*pool = (CUmemoryPool)0x77;
	return CUDA_SUCCESS;
}

static CUresult pool_attribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	(void)pool;
	*(uint64_t *)value = pool_has;
	return a == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult pool_trim(CUmemoryPool pool, size_t keep)
{
	(void)pool;
	pool_has = keep;
	return CUDA_SUCCESS;
}

static CUresult capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = capture;
	return CUDA_SUCCESS;
}

static CUresult retain(CUmemGenericAllocationHandle *handle, void *addr)
{
	(void)addr;
	return give((uint64_t *)handle);
}

static CUresult nodes(CUgraph graph, CUgraphNode *node, size_t *n)
{
	(void)graph;
	if (node)
		node[0] = (CUgraphNode)0x10;
	*n = 1;
	return CUDA_SUCCESS;
}

static CUresult node_type(CUgraphNode node, CUgraphNodeType *type)
{
	(void)node;
	*type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	return CUDA_SUCCESS;
}

static CUresult node_params(CUgraphNode node, void *params)
{
	(void)node;
	/* bytesize: behind the pool's properties, the access descriptors and their count. */
	memcpy((char *)params + sizeof(CUmemPoolProps) + 2 * sizeof(void *), &graph_node_bytes,
	       sizeof(graph_node_bytes));
	return CUDA_SUCCESS;
}

static CUresult get_limit(size_t *value, CUlimit limit)
{
	(void)limit;
	*value = limit_value;
	return CUDA_SUCCESS;
}

static CUresult set_limit(CUlimit limit, size_t value)
{
	(void)limit;
	if (answer == CUDA_SUCCESS)
		limit_value = value;
	return answer;
}

static CUresult inactive(CUdevice dev, unsigned int *flags, int *active)
{
	(void)dev;
	*flags = 0;
	*active = 0;
	return CUDA_SUCCESS;
}

static CUresult whole_device(size_t *free_bytes, size_t *total)
{
	*free_bytes = *total = 1024 * MIB;
	return CUDA_SUCCESS;
}

static CUresult whole_total(size_t *bytes, CUdevice dev)
{
	(void)dev;
	*bytes = 1024 * MIB;
	return CUDA_SUCCESS;
}

static CUresult load(CUmodule *module, const void *image, unsigned int n, CUjit_option *o,
		     void **v)
{
	(void)image, (void)n, (void)o, (void)v;
	return give((uint64_t *)module);
}

static CUresult fine(void)
{
	return CUDA_SUCCESS;
}

static void install(void)
{
	fake_driver_install();
	PUT(cuCtxGetCurrent, context);
	PUT(cuDeviceGetAttribute, attribute);
	PUT(cuMemAlloc_v2, give);
	PUT(cuMemAllocPitch_v2, give_pitched);
	PUT(cuMemAllocManaged, give);
	PUT(cuMemAllocAsync, give);
	PUT(cuMemAllocFromPoolAsync, give);
	PUT(cuMemCreate, give);
	PUT(cuArrayCreate_v2, give);
	PUT(cuArray3DCreate_v2, give);
	PUT(cuMipmappedArrayCreate, give);
	PUT(cuImportExternalMemory, give);
	PUT(cuMemRetainAllocationHandle, retain);
	PUT(cuDeviceGetMemPool, pool_of_device);
	PUT(cuMemPoolGetAttribute, pool_attribute);
	PUT(cuMemPoolTrimTo, pool_trim);
	PUT(cuStreamIsCapturing, capturing);
	PUT(cuGraphGetNodes, nodes);
	PUT(cuGraphNodeGetType, node_type);
	PUT(cuGraphMemAllocNodeGetParams, node_params);
	PUT(cuGraphInstantiateWithFlags, give);
	PUT(cuCtxGetLimit, get_limit);
	PUT(cuCtxSetLimit, set_limit);
	PUT(cuCtxCreate_v4, give);
	PUT(cuDevicePrimaryCtxRetain, give);
	PUT(cuDevicePrimaryCtxGetState, inactive);
	PUT(cuMemGetInfo_v2, whole_device);
	PUT(cuDeviceTotalMem_v2, whole_total);
	PUT(cuModuleLoadDataEx, load);
	PUT(cuMemFree_v2, fine);
}

/* ---- the doors --------------------------------------------------------------- */

/* Allocate so many MiB through a door; free what it gave. */
struct door {
	const char *name;
	CUresult (*alloc)(uint64_t mib, uint64_t *handle);
	CUresult (*free)(uint64_t handle);
};

static CUresult linear(uint64_t mib, uint64_t *h)
{
	return cuMemAlloc_v2((CUdeviceptr *)h, mib * MIB);
}

static CUresult free_pointer(uint64_t h)
{
	return cuMemFree_v2(h);
}

static CUresult pitched(uint64_t mib, uint64_t *h)
{
	size_t pitch;

	return cuMemAllocPitch_v2((CUdeviceptr *)h, &pitch, 1024 - 100, mib * 1024, 4);
}

static CUresult managed(uint64_t mib, uint64_t *h)
{
	return cuMemAllocManaged((CUdeviceptr *)h, mib * MIB, CU_MEM_ATTACH_GLOBAL);
}

static CUresult async(uint64_t mib, uint64_t *h)
{
	CUresult rc = cuMemAllocAsync((CUdeviceptr *)h, mib * MIB, NULL);

	return rc;
}

static CUresult from_pool(uint64_t mib, uint64_t *h)
{
	return cuMemAllocFromPoolAsync((CUdeviceptr *)h, mib * MIB, (CUmemoryPool)0x99, NULL);
}

static CUresult free_async(uint64_t h)
{
	return cuMemFreeAsync(h, NULL);
}

static CUresult created(uint64_t mib, uint64_t *h)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	return cuMemCreate((CUmemGenericAllocationHandle *)h, mib * MIB, &prop, 0);
}

static CUresult release_created(uint64_t h)
{
	return cuMemRelease(h);
}

static CUresult array2d(uint64_t mib, uint64_t *h)
{
	CUDA_ARRAY_DESCRIPTOR d = { 256, mib * 1024, CU_AD_FORMAT_FLOAT, 1 };

	return cuArrayCreate_v2((CUarray *)h, &d);
}

static CUresult array3d(uint64_t mib, uint64_t *h)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 256, 256, mib * 4, CU_AD_FORMAT_FLOAT, 1, 0 };

	return cuArray3DCreate_v2((CUarray *)h, &d);
}

static CUresult destroy_array(uint64_t h)
{
	return cuArrayDestroy((CUarray)(uintptr_t)h);
}

static CUresult mipmapped(uint64_t mib, uint64_t *h)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 256, mib * 1024, 0, CU_AD_FORMAT_FLOAT, 1, 0 };

	return cuMipmappedArrayCreate((CUmipmappedArray *)h, &d, 1);
}

static CUresult destroy_mipmapped(uint64_t h)
{
	return cuMipmappedArrayDestroy((CUmipmappedArray)(uintptr_t)h);
}

static CUresult external(uint64_t mib, uint64_t *h)
{
	struct shim_external_memory d = { .size = mib * MIB };

	return cuImportExternalMemory((CUexternalMemory *)h, &d);
}

static CUresult destroy_external(uint64_t h)
{
	return cuDestroyExternalMemory((CUexternalMemory)(uintptr_t)h);
}

static CUresult graph(uint64_t mib, uint64_t *h)
{
	graph_node_bytes = mib * MIB;
	return cuGraphInstantiateWithFlags((CUgraphExec *)h, NULL, 0);
}

static CUresult destroy_graph(uint64_t h)
{
	return cuGraphExecDestroy((CUgraphExec)(uintptr_t)h);
}

static CUresult module(uint64_t mib, uint64_t *h)
{
	char ptx[256];

	snprintf(ptx, sizeof(ptx), ".version 7.0\n.target sm_75\n.address_size 64\n"
		 ".visible .global .align 4 .u32 big[%llu];\n.extern .global .u32 other[7];\n",
		 (unsigned long long)(mib * MIB / 4));
	return cuModuleLoadData((CUmodule *)h, ptx);
}

static CUresult unload(uint64_t h)
{
	return cuModuleUnload((CUmodule)(uintptr_t)h);
}

static CUresult a_context(uint64_t mib, uint64_t *h)
{
	s->context_memory = mib * MIB;
	return cuCtxCreate_v4((CUcontext *)h, NULL, 0, 0);
}

static CUresult destroy_context(uint64_t h)
{
	return cuCtxDestroy_v2((CUcontext)(uintptr_t)h);
}

static CUresult heap(uint64_t mib, uint64_t *h)
{
	size_t now;

	get_limit(&now, CU_LIMIT_MALLOC_HEAP_SIZE);
	*h = 1;
	return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, now + mib * MIB);
}

static CUresult heap_back(uint64_t h)
{
	(void)h;
	return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1024);
}

static const struct door doors[] = {
	{ "linear", linear, free_pointer },      { "pitched", pitched, free_pointer },
	{ "managed", managed, free_pointer },    { "async", async, free_async },
	{ "pool", from_pool, free_async },       { "vmm", created, release_created },
	{ "array", array2d, destroy_array },     { "array3d", array3d, destroy_array },
	{ "mipmapped", mipmapped, destroy_mipmapped },
	{ "external", external, destroy_external },
	{ "graph", graph, destroy_graph },       { "module", module, unload },
	{ "context", a_context, destroy_context }, { "heap", heap, heap_back },
};

#define DOORS (sizeof(doors) / sizeof(doors[0]))

static int setup(void **state)
{
	(void)state;
	install();
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	s = shim_session();
	assert_non_null(s);
	shim_agent_stop(s); /* the tests say whether there is a daemon */
	s->reservation = RESERVATION;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	install();
	answer = CUDA_SUCCESS;
	pool_has = 0;
	limit_value = 1024;
	s->context_memory = 0;
	assert_int_equal(s->used, 0);
	return 0;
}

/* A quarter through the door, the rest through another; then not a byte more, a hundred times. */
static void every_door_ends_at_the_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < DOORS; i++) {
		const struct door *d = &doors[i];
		uint64_t rest = 0, h = 0, more = 0;

		print_message("%s\n", d->name);
		assert_int_equal(linear(48, &rest), CUDA_SUCCESS);
		for (int k = 0; k < TIMES; k++) {
			assert_int_equal(d->alloc(16, &h), CUDA_SUCCESS);
			assert_int_equal(s->used, RESERVATION);
			assert_int_equal(d->alloc(1, &more), CUDA_ERROR_OUT_OF_MEMORY);
			assert_int_equal(cuMemAlloc_v2((CUdeviceptr *)&more, 1),
					 CUDA_ERROR_OUT_OF_MEMORY);
			assert_int_equal(d->free(h), CUDA_SUCCESS);
			assert_int_equal(s->used, 48 * MIB);
			assert_int_equal(d->alloc(17, &h), CUDA_ERROR_OUT_OF_MEMORY);
			assert_int_equal(s->used, 48 * MIB);
		}
		free_pointer(rest);
		assert_int_equal(s->used, 0);
	}
}

/* What the driver refuses is not charged. */
static void refused_by_the_driver(void **state)
{
	(void)state;
	answer = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < DOORS; i++) {
		uint64_t h;

		assert_int_equal(doors[i].alloc(1, &h), CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(s->used, 0);
	}
}

/* Sizes whose product overflows are beyond any reservation. */
static void overflows(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { SIZE_MAX / 2, 7, 9, CU_AD_FORMAT_FLOAT, 4, 0 };
	size_t pitch;
	uint64_t h;

	(void)state;
	assert_int_equal(cuMemAlloc_v2((CUdeviceptr *)&h, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAllocPitch_v2((CUdeviceptr *)&h, &pitch, SIZE_MAX - 1, 4, 4),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAllocPitch_v2((CUdeviceptr *)&h, &pitch, SIZE_MAX / 2, 4, 4),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuArray3DCreate_v2((CUarray *)&h, &d), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMipmappedArrayCreate((CUmipmappedArray *)&h, &d, 9),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, SIZE_MAX / 2),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(s->used, 0);
}

/* Stacks of all resident threads: 4 SMs of 2048. */
static void the_stack_limit_costs_per_thread(void **state)
{
	(void)state;
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 1024), CUDA_SUCCESS);
	assert_int_equal(s->used, 4 * 2048 * 1024);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 512), CUDA_SUCCESS);
	assert_int_equal(s->used, 4 * 2048 * 512);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512), CUDA_SUCCESS);
	assert_int_equal(s->used, 0);
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 20), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(s->used, 0);
}

/* Released as soon as it is mapped, as PyTorch does: it is there until it is unmapped. */
static void a_mapping_keeps_the_memory(void **state)
{
	CUmemAllocationProp host = { .location = { CU_MEM_LOCATION_TYPE_HOST, 0 } };
	CUmemGenericAllocationHandle h, again;

	(void)state;
	assert_int_equal(created(8, (uint64_t *)&h), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(0x10000000, 4 * MIB, 0, h, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemMap(0x20000000, 8 * MIB, 0, h, 0), CUDA_SUCCESS);
	assert_int_equal(cuMemRelease(h), CUDA_SUCCESS);
	assert_int_equal(s->used, 8 * MIB);
	assert_int_equal(cuMemRetainAllocationHandle(&again, (void *)0x20000100), CUDA_SUCCESS);
	assert_int_equal(cuMemUnmap(0x10000000, 4 * MIB), CUDA_SUCCESS);
	assert_int_equal(cuMemUnmap(0x20000000, 8 * MIB), CUDA_SUCCESS);
	assert_int_equal(s->used, 8 * MIB);
	assert_int_equal(cuMemRelease(again), CUDA_SUCCESS);
	assert_int_equal(s->used, 0);
	assert_int_equal(cuMemRelease(again), CUDA_SUCCESS); /* nobody's: no underflow */
	assert_int_equal(s->used, 0);
	assert_int_equal(cuMemCreate(&h, 128 * MIB, &host, 0), CUDA_SUCCESS);
	assert_int_equal(s->used, 0);
}

/* What a pool keeps stays charged; at the limit the pool must give it back. */
static void pools_keep_and_give_back(void **state)
{
	uint64_t a, b;

	(void)state;
	assert_int_equal(async(40, &a), CUDA_SUCCESS);
	pool_has = 40 * MIB;
	assert_int_equal(free_async(a), CUDA_SUCCESS);
	assert_int_equal(s->used, 40 * MIB);
	assert_int_equal(async(30, &a), CUDA_SUCCESS); /* out of what it kept */
	assert_int_equal(s->used, 40 * MIB);
	assert_int_equal(free_async(a), CUDA_SUCCESS);
	assert_int_equal(linear(60, &b), CUDA_SUCCESS); /* trimmed */
	assert_int_equal(pool_has, 0);
	assert_int_equal(s->used, 60 * MIB);
	free_pointer(b);
	assert_int_equal(async(40, &a), CUDA_SUCCESS);
	pool_has = 40 * MIB;
	assert_int_equal(linear(60, &b), CUDA_ERROR_OUT_OF_MEMORY); /* in use: nothing to trim */
	assert_int_equal(free_async(a), CUDA_SUCCESS);
	assert_int_equal(cuMemPoolTrimTo((CUmemoryPool)0x77, 10 * MIB), CUDA_SUCCESS);
	assert_int_equal(s->used, 10 * MIB);
	assert_int_equal(cuMemPoolTrimTo((CUmemoryPool)0x77, 0), CUDA_SUCCESS);
}

/* In a capture nothing is allocated: the graph is counted when it is instantiated. */
static void captured_allocations_are_the_graphs(void **state)
{
	uint64_t a;

	(void)state;
	capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	assert_int_equal(async(1000, &a), CUDA_SUCCESS);
	assert_int_equal(s->used, 0);
	capture = CU_STREAM_CAPTURE_STATUS_NONE;
}

/* All that a context had goes with it, once; the others' stays. */
static void a_context_takes_its_own_along(void **state)
{
	uint64_t a, b, vmm;

	(void)state;
	assert_int_equal(linear(8, &a), CUDA_SUCCESS);
	assert_int_equal(array2d(8, &b), CUDA_SUCCESS);
	assert_int_equal(created(4, &vmm), CUDA_SUCCESS);
	assert_int_equal(cuCtxDestroy_v2((CUcontext)0x4444), CUDA_SUCCESS);
	assert_int_equal(s->used, 20 * MIB);
	assert_int_equal(cuCtxDestroy_v2(FAKE_CONTEXT), CUDA_SUCCESS);
	assert_int_equal(s->used, 4 * MIB);
	free_pointer(a);
	assert_int_equal(s->used, 4 * MIB);
	release_created(vmm);
}

static void what_the_program_is_told(void **state)
{
	size_t left, total;
	uint64_t a;

	(void)state;
	assert_int_equal(linear(14, &a), CUDA_SUCCESS);
	assert_int_equal(cuMemGetInfo_v2(&left, &total), CUDA_SUCCESS);
	assert_int_equal(total, RESERVATION);
	assert_int_equal(left, 50 * MIB);
	assert_int_equal(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
	assert_int_equal(total, RESERVATION);
	free_pointer(a);
}

static void the_old_doors_are_shut(void **state)
{
	unsigned int p, pitch;
	CUarray a;

	(void)state;
	assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuMemAllocPitch(&p, &pitch, 4, 4, 4), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuArrayCreate(&a, NULL), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuArray3DCreate(&a, NULL), CUDA_ERROR_NOT_SUPPORTED);
}

static uint64_t variables(const char *ptx)
{
	return shim_ptx_variable_bytes(ptx, strlen(ptx));
}

static void sizes_of_modules(void **state)
{
	(void)state;
	assert_int_equal(variables(".global .u32 a;\n.const .align 8 .f64 b[4][3];"), 100);
	assert_int_equal(variables(".visible .global .align 16 .v4 .f32 v[2];"), 32);
	assert_int_equal(variables(".extern .global .b8 e[100];\n.weak .global .b8 w[3] = {1,2,3};"), 3);
	assert_int_equal(variables("// .global .u32 a;\n.entry k() { ld.global.u32 %r1, [%rd1]; }"), 0);
	assert_int_equal(variables(".global .attribute(.managed) .align 4 .b32 m[10];"), 40);
	assert_int_equal(variables(".global .b8 x[0xffffffffffffffff][16];"), 0);
	assert_int_equal(variables(""), 0);
	assert_int_equal(shim_cubin_bytes("\177ELF", 4), 0);
}

/* ---- many threads, and the price of a call ----------------------------------- */

#define THREADS 8
#define ROUNDS 20000

static void *take_and_return(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uint64_t held[16] = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		int k = rand_r(&seed) % 16;

		if (held[k]) {
			shim_uncharge(s, held[k]);
			held[k] = 0;
		} else {
			uint64_t bytes = (uint64_t)(rand_r(&seed) % 3000) * KIB + 1;

			if (shim_charge(s, bytes))
				held[k] = bytes;
		}
		if (s->used > RESERVATION + THREADS * 3000 * KIB)
			abort(); /* only what a thread is about to give back may be above */
	}
	for (int k = 0; k < 16; k++)
		shim_uncharge(s, held[k]);
	return NULL;
}

static void threads_never_exceed_the_limit(void **state)
{
	pthread_t t[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, take_and_return, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(s->used, 0);
}

/* An accounted pair of calls with a lease, as with a daemon. */
static void the_price_of_a_call(void **state)
{
	const int n = 200000;
	uint64_t t0, h;
	double ns;

	(void)state;
	s->connected = 1;
	atomic_store(&s->page->lease, RESERVATION);
	t0 = gs_clock_ns();
	for (int i = 0; i < n; i++) {
		cuMemAlloc_v2((CUdeviceptr *)&h, 4096);
		free_pointer(h);
	}
	ns = (double)(gs_clock_ns() - t0) / (2 * n);
	print_message("%.0f ns per accounted call\n", ns);
	assert_int_equal(atomic_load(&s->page->lease), RESERVATION);
	atomic_store(&s->page->lease, 0);
	s->connected = 0;
	assert_true(ns < 20000); /* the bar of 1 us is measured where nothing else runs */
}

#define DOOR(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOOR(every_door_ends_at_the_limit),
		DOOR(refused_by_the_driver),
		DOOR(overflows),
		DOOR(the_stack_limit_costs_per_thread),
		DOOR(a_mapping_keeps_the_memory),
		DOOR(pools_keep_and_give_back),
		DOOR(captured_allocations_are_the_graphs),
		DOOR(a_context_takes_its_own_along),
		DOOR(what_the_program_is_told),
		DOOR(the_old_doors_are_shut),
		DOOR(sizes_of_modules),
		DOOR(threads_never_exceed_the_limit),
		DOOR(the_price_of_a_call),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
