/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A driver that grants everything, and the shim's entries to it; see entries_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/launch/agent.h"
#include "device/shim/base/wraps.h"
#include "entries_rig.h"
#include "fake_driver.h"

#define KIB UINT64_C(1024)

extern void *shim_slot[SHIM_FN_COUNT];
#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

struct rig rig;

/* ---- a driver that grants everything --------------------------------------- */

static uint64_t next_handle = 0x100000;
static uint64_t graph_node_bytes;

static CUresult give(uint64_t *handle)
{
	*handle = rig.again ? rig.again : (next_handle += 0x1000);
	rig.again = 0;
	return rig.answer;
}

static void meanwhile(void (**once)(void))
{
	void (*hook)(void) = *once;

	*once = NULL;
	if (hook)
		hook();
}

static CUresult may_refuse(void)
{
	meanwhile(&rig.inside);
	return rig.refusal;
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
	rig.requests++;
	*ctx = FAKE_CONTEXT;
	return CUDA_SUCCESS;
}

static CUresult attribute(int *value, CUdevice_attribute a, CUdevice dev)
{
	(void)dev;
	*value = a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT           ? FAKE_SMS :
		 a == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR ? 2048 :
		 a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR       ? 9 :
									   0;
	return CUDA_SUCCESS;
}

static CUmemoryPool current_pool;

static CUresult pool_of_device(CUmemoryPool *pool, CUdevice dev)
{
	(void)dev;
	rig.requests++;
	*pool = current_pool;
	return CUDA_SUCCESS;
}

static CUresult set_pool_of_device(CUdevice dev, CUmemoryPool pool)
{
	(void)dev;
	current_pool = pool;
	return CUDA_SUCCESS;
}

static CUresult device_of_context(CUdevice *dev)
{
	rig.requests++;
	*dev = 0;
	return CUDA_SUCCESS;
}

static CUresult pool_attribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	(void)pool;
	rig.requests++;
	meanwhile(&rig.requested);
	*(uint64_t *)value = rig.pool_has;
	return a == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult pool_trim(CUmemoryPool pool, size_t keep)
{
	(void)pool;
	rig.pool_has = keep;
	return CUDA_SUCCESS;
}

static CUresult capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	rig.requests++;
	*status = rig.capture;
	return CUDA_SUCCESS;
}

static CUresult retain(CUmemGenericAllocationHandle *handle, void *addr)
{
	(void)addr;
	meanwhile(&rig.inside);
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
	*value = rig.limit;
	return CUDA_SUCCESS;
}

static CUresult set_limit(CUlimit limit, size_t value)
{
	(void)limit;
	if (rig.answer == CUDA_SUCCESS)
		rig.limit = value;
	return rig.answer;
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
	if (free_bytes)
		*free_bytes = 1024 * MIB;
	if (total)
		*total = 1024 * MIB;
	return CUDA_SUCCESS;
}

static CUresult whole_total(size_t *bytes, CUdevice dev)
{
	(void)dev;
	*bytes = 1024 * MIB;
	return CUDA_SUCCESS;
}

static CUresult load(CUmodule *module, const void *image, unsigned int n, CUjit_option *o, void **v)
{
	(void)image, (void)n, (void)o, (void)v;
	return give((uint64_t *)module);
}

static CUresult load_file(CUmodule *module, const char *path)
{
	(void)path;
	return give((uint64_t *)module);
}

static CUresult load_library(CUlibrary *library, const char *path, CUjit_option *o, void **v,
			     unsigned int n, CUlibraryOption *lo, void **lv, unsigned int ln)
{
	(void)path, (void)o, (void)v, (void)n, (void)lo, (void)lv, (void)ln;
	return give((uint64_t *)library);
}

static CUresult function(int *value, CUfunction_attribute a, CUfunction f)
{
	(void)f;
	*value = rig.frame;
	return a == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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
	PUT(cuDeviceSetMemPool, set_pool_of_device);
	PUT(cuCtxGetDevice, device_of_context);
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
	PUT(cuModuleLoadData, load);
	PUT(cuModuleLoad, load_file);
	PUT(cuLibraryLoadFromFile, load_library);
	PUT(cuFuncGetAttribute, function);
	PUT(cuMemFree_v2, fine);
	PUT(cuMemRelease, may_refuse);
	PUT(cuMemMap, may_refuse);
	PUT(cuMemUnmap, may_refuse);
	PUT(cuMemPoolDestroy, may_refuse);
}

/* ---- the entries --------------------------------------------------------------- */

CUresult entry_linear(uint64_t mib, uint64_t *h)
{
	return cuMemAlloc_v2((CUdeviceptr *)h, mib * MIB);
}

CUresult entry_free_pointer(uint64_t h)
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

CUresult entry_async(uint64_t mib, uint64_t *h)
{
	CUresult rc = cuMemAllocAsync((CUdeviceptr *)h, mib * MIB, NULL);

	return rc;
}

CUresult entry_from_pool(uint64_t mib, uint64_t *h)
{
	return cuMemAllocFromPoolAsync((CUdeviceptr *)h, mib * MIB, RIG_POOL, NULL);
}

CUresult entry_free_async(uint64_t h)
{
	return cuMemFreeAsync(h, NULL);
}

CUresult entry_created(uint64_t mib, uint64_t *h)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	return cuMemCreate((CUmemGenericAllocationHandle *)h, mib * MIB, &prop, 0);
}

CUresult entry_release_created(uint64_t h)
{
	return cuMemRelease(h);
}

CUresult entry_array2d(uint64_t mib, uint64_t *h)
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

static CUresult a_context(uint64_t mib, uint64_t *h)
{
	rig.s->context_memory = mib * MIB;
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

const struct entry entries[] = {
	{ "linear", entry_linear, entry_free_pointer },
	{ "pitched", pitched, entry_free_pointer },
	{ "managed", managed, entry_free_pointer },
	{ "async", entry_async, entry_free_async },
	{ "pool", entry_from_pool, entry_free_async },
	{ "vmm", entry_created, entry_release_created },
	{ "array", entry_array2d, destroy_array },
	{ "array3d", array3d, destroy_array },
	{ "mipmapped", mipmapped, destroy_mipmapped },
	{ "external", external, destroy_external },
	{ "graph", graph, destroy_graph },
	{ "module", entry_module, entry_unload },
	{ "module file", entry_module_file, entry_unload },
	{ "cubin", entry_cubin, entry_unload },
	{ "cubin file", entry_cubin_file, entry_unload },
	{ "machine code", entry_machine_code, entry_unload },
	{ "library file", entry_library_file, entry_unload_library },
	{ "context", a_context, destroy_context },
	{ "heap", heap, heap_back },
};

const size_t ndoors = sizeof(entries) / sizeof(entries[0]);

int rig_setup(void **state)
{
	(void)state;
	install();
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	rig.s = shim_session();
	assert_non_null(rig.s);
	shim_agent_stop(rig.s); /* the tests say whether there is a daemon */
	rig.s->reservation = RESERVATION;
	return 0;
}

int rig_begin(void **state)
{
	(void)state;
	install();
	rig.answer = rig.refusal = CUDA_SUCCESS;
	rig.pool_has = 0;
	assert_int_equal(cuDeviceSetMemPool(0, RIG_DEVICE_POOL), CUDA_SUCCESS);
	rig.limit = 1024;
	rig.frame = 0;
	rig.capture = CU_STREAM_CAPTURE_STATUS_NONE;
	rig.s->context_memory = 0;
	assert_int_equal(rig.s->used, 0);
	return 0;
}
