/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every way to allocate device memory, each as one call and its opposite; see entries.h. */
#define _GNU_SOURCE
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static CUresult linear(size_t bytes, uint64_t *h)
{
	return cuMemAlloc((CUdeviceptr *)h, bytes);
}

static CUresult linear_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuMemFree(h);
}

static CUresult pitched(size_t bytes, uint64_t *h)
{
	size_t pitch;

	return cuMemAllocPitch((CUdeviceptr *)h, &pitch, 512, (bytes + 511) / 512, 4);
}

static CUresult managed(size_t bytes, uint64_t *h)
{
	return cuMemAllocManaged((CUdeviceptr *)h, bytes, CU_MEM_ATTACH_GLOBAL);
}

/* ---- stream-ordered ------------------------------------------------------- */

static CUresult ordered(size_t bytes, uint64_t *h)
{
	return cuMemAllocAsync((CUdeviceptr *)h, bytes, NULL);
}

static CUresult ordered_free(uint64_t h, size_t bytes)
{
	CUresult rc = cuMemFreeAsync(h, NULL);

	(void)bytes;
	return rc == CUDA_SUCCESS ? cuStreamSynchronize(NULL) : rc;
}

static CUmemoryPool pool;

static CUresult from_pool(size_t bytes, uint64_t *h)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, dev },
	};
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate, CUmemoryPool *, const CUmemPoolProps *);
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemAllocFromPoolAsync, CUdeviceptr *, size_t,
		 CUmemoryPool, CUstream);
	CUresult rc = CUDA_SUCCESS;

	if (!pool)
		rc = cuMemPoolCreate_(&pool, &props);
	return rc == CUDA_SUCCESS ? cuMemAllocFromPoolAsync_((CUdeviceptr *)h, bytes, pool, NULL) :
				    rc;
}

/* ---- virtual memory management ---------------------------------------------- */

static const CUmemAllocationProp *prop(void)
{
	static CUmemAllocationProp p;

	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = dev;
	return &p;
}

static size_t granularity(void)
{
	size_t g = 0;
	OPTIONAL(0, cuMemGetAllocationGranularity, size_t *, const CUmemAllocationProp *,
		 CUmemAllocationGranularity_flags);

	return cuMemGetAllocationGranularity_(&g, prop(), CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
			       CUDA_SUCCESS ?
		       g :
		       0;
}

static size_t whole(size_t bytes)
{
	size_t g = granularity();

	return g ? (bytes + g - 1) / g * g : 0;
}

static CUresult vmm(size_t bytes, uint64_t *h)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate, CUmemGenericAllocationHandle *, size_t,
		 const CUmemAllocationProp *, unsigned long long);

	if (!whole(bytes))
		return CUDA_ERROR_NOT_SUPPORTED;
	return cuMemCreate_((CUmemGenericAllocationHandle *)h, whole(bytes), prop(), 0);
}

static CUresult vmm_free(uint64_t h, size_t bytes)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemRelease, CUmemGenericAllocationHandle);

	(void)bytes;
	return cuMemRelease_(h);
}

/* The handle is released at once: the mapping alone keeps the memory. */
static CUresult mapped(size_t bytes, uint64_t *h)
{
	uint64_t memory;
	CUdeviceptr at;
	CUresult rc;
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemAddressReserve, CUdeviceptr *, size_t, size_t,
		 CUdeviceptr, unsigned long long);
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemMap, CUdeviceptr, size_t, size_t,
		 CUmemGenericAllocationHandle, unsigned long long);

	rc = vmm(bytes, &memory);
	if (rc != CUDA_SUCCESS)
		return rc;
	CHECK(cuMemAddressReserve_(&at, whole(bytes), 0, 0, 0));
	CHECK(cuMemMap_(at, whole(bytes), 0, memory, 0));
	CHECK(vmm_free(memory, bytes));
	*h = at;
	return CUDA_SUCCESS;
}

static CUresult mapped_free(uint64_t h, size_t bytes)
{
	CUresult rc;
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemUnmap, CUdeviceptr, size_t);
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemAddressFree, CUdeviceptr, size_t);

	rc = cuMemUnmap_(h, whole(bytes));
	return rc == CUDA_SUCCESS ? cuMemAddressFree_(h, whole(bytes)) : rc;
}

/* ---- arrays ----------------------------------------------------------------- */

static CUresult array(size_t bytes, uint64_t *h)
{
	CUDA_ARRAY_DESCRIPTOR d = { 1024, (bytes + 4095) / 4096, CU_AD_FORMAT_FLOAT, 1 };
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate_v2, CUarray *,
		 const CUDA_ARRAY_DESCRIPTOR *);

	return cuArrayCreate_v2_((CUarray *)h, &d);
}

static CUresult array3d(size_t bytes, uint64_t *h)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 64, 64, (bytes + 16383) / 16384, CU_AD_FORMAT_FLOAT, 1, 0 };
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate_v2, CUarray *,
		 const CUDA_ARRAY3D_DESCRIPTOR *);

	return cuArray3DCreate_v2_((CUarray *)h, &d);
}

static CUresult array_free(uint64_t h, size_t bytes)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuArrayDestroy, CUarray);

	(void)bytes;
	return cuArrayDestroy_((CUarray)(uintptr_t)h);
}

/* The levels below the first are a third of it together. */
static CUresult mipmap(size_t bytes, uint64_t *h)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 1024, (bytes + 4095) / 4096, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMipmappedArrayCreate, CUmipmappedArray *,
		 const CUDA_ARRAY3D_DESCRIPTOR *, unsigned int);

	return cuMipmappedArrayCreate_((CUmipmappedArray *)h, &d, 4);
}

static CUresult mipmap_free(uint64_t h, size_t bytes)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMipmappedArrayDestroy, CUmipmappedArray);

	(void)bytes;
	return cuMipmappedArrayDestroy_((CUmipmappedArray)(uintptr_t)h);
}

/* ---- a context's limits, and itself ------------------------------------------- */

static CUresult grow(CUlimit limit, size_t more, uint64_t *h)
{
	size_t value;

	CHECK(cuCtxGetLimit(&value, limit));
	*h = value;
	return cuCtxSetLimit(limit, value + more);
}

static CUresult heap(size_t bytes, uint64_t *h)
{
	return grow(CU_LIMIT_MALLOC_HEAP_SIZE, bytes, h);
}

static CUresult heap_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, h);
}

static CUresult fifo(size_t bytes, uint64_t *h)
{
	return grow(CU_LIMIT_PRINTF_FIFO_SIZE, bytes, h);
}

static CUresult fifo_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, h);
}

/* Each thread that may be resident has a stack, a multiple of 16 bytes. */
static CUresult stack(size_t bytes, uint64_t *h)
{
	int sms, threads;
	size_t each;

	CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
	CHECK(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
				   dev));
	each = (bytes / ((size_t)sms * (size_t)threads) + 16) & ~(size_t)15;
	return grow(CU_LIMIT_STACK_SIZE, each, h);
}

static CUresult stack_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, h);
}

/* ---- modules ------------------------------------------------------------------- */

static const char *text(size_t bytes)
{
	static char ptx[256];

	snprintf(ptx, sizeof(ptx),
		 ".version 7.0\n.target sm_70\n.address_size 64\n"
		 ".visible .global .align 4 .b8 big[%zu];\n"
		 ".visible .entry nothing()\n{\n\tret;\n}\n",
		 bytes);
	return ptx;
}

static CUresult module(size_t bytes, uint64_t *h)
{
	return cuModuleLoadData((CUmodule *)h, text(bytes));
}

static CUresult module_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuModuleUnload((CUmodule)(uintptr_t)h);
}

static CUresult library(size_t bytes, uint64_t *h)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuLibraryLoadData, void **, const void *, void *,
		 void **, unsigned int, void *, void **, unsigned int);

	return cuLibraryLoadData_((void **)h, text(bytes), NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult library_free(uint64_t h, size_t bytes)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuLibraryUnload, void *);

	(void)bytes;
	return cuLibraryUnload_((void *)(uintptr_t)h);
}

/* The same out of a file, which is no reason to be given more. */
static const char *file_of(size_t bytes)
{
	static char path[64];
	const char *ptx = text(bytes);
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/gpushare-entries.%d.XXXXXX", (int)getpid());
	f = fdopen(mkstemp(path), "w");
	if (!f || fputs(ptx, f) < 0 || fclose(f) != 0) {
		fprintf(stderr, "entries: %s: cannot be written\n", path);
		exit(1);
	}
	return path;
}

static CUresult module_file(size_t bytes, uint64_t *h)
{
	const char *path = file_of(bytes);
	CUresult rc = cuModuleLoad((CUmodule *)h, path);

	unlink(path);
	return rc;
}

static CUresult library_file(size_t bytes, uint64_t *h)
{
	const char *path;
	CUresult rc;
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuLibraryLoadFromFile, void **, const char *, void *,
		 void **, unsigned int, void *, void **, unsigned int);

	path = file_of(bytes);
	rc = cuLibraryLoadFromFile_((void **)h, path, NULL, NULL, 0, NULL, NULL, 0);
	unlink(path);
	return rc;
}

/* ---- graphs ---------------------------------------------------------------------- */

struct graph {
	CUgraph graph;
	CUgraphExec exec;
};

static CUresult graph_done(struct graph *g, CUresult rc, uint64_t *h)
{
	if (rc == CUDA_SUCCESS)
		rc = cuGraphInstantiate(&g->exec, g->graph, 0);
	if (rc != CUDA_SUCCESS) {
		if (g->graph)
			cuGraphDestroy(g->graph);
		free(g);
		return rc;
	}
	*h = (uintptr_t)g;
	return rc;
}

static CUresult graph_free(uint64_t h, size_t bytes)
{
	struct graph *g = (struct graph *)(uintptr_t)h;
	CUresult rc = cuGraphExecDestroy(g->exec);

	(void)bytes;
	cuGraphDestroy(g->graph);
	free(g);
	return rc;
}

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct alloc_node {
	CUmemPoolProps pool;
	const void *access;
	size_t naccess, bytes;
	CUdeviceptr ptr;
};

static CUresult graph_node(size_t bytes, uint64_t *h)
{
	struct alloc_node a = {
		.pool = {
			.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { CU_MEM_LOCATION_TYPE_DEVICE, dev },
		},
		.bytes = bytes,
	};
	CUgraphNode node;
	struct graph *g;
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddMemAllocNode, CUgraphNode *, CUgraph,
		 const CUgraphNode *, size_t, struct alloc_node *);

	g = calloc(1, sizeof(*g));
	CHECK(cuGraphCreate(&g->graph, 0));
	return graph_done(g, cuGraphAddMemAllocNode_(&node, g->graph, NULL, 0, &a), h);
}

static CUresult captured(size_t bytes, uint64_t *h)
{
	struct graph *g = calloc(1, sizeof(*g));
	CUresult rc, end;
	CUstream stream;
	CUdeviceptr p;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	rc = cuMemAllocAsync(&p, bytes, stream);
	end = cuStreamEndCapture(stream, &g->graph);
	cuStreamDestroy(stream);
	return graph_done(g, rc == CUDA_SUCCESS ? end : rc, h);
}

/* ---- a kernel's frames ------------------------------------------------------------- */

/*
 * The frame of one thread, so that those of all that may be resident take so much more than the
 * limit of the stack; they stay until the context goes, so the entry is a context.  No case of
 * `limit`: a context takes long to make.
 */
static CUresult frames(size_t bytes, uint64_t *h)
{
	static char ptx[1024];
	int sms, threads;
	size_t each, stack;
	CUmodule m;
	CUfunction f;
	CUcontext ctx;
	CUresult rc;

	CHECK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
	CHECK(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
				   dev));
	CHECK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
	each = (stack + bytes / ((size_t)sms * (size_t)threads) + 16) & ~(size_t)15;
	/* Which word is read is not known beforehand, or the frame would not be. */
	snprintf(ptx, sizeof(ptx),
		 ".version 7.0\n.target sm_70\n.address_size 64\n"
		 ".visible .entry frame(.param .u64 out, .param .u32 at)\n{\n"
		 "\t.local .align 16 .b8 f[%zu];\n\t.reg .b32 %%r<3>;\n\t.reg .b64 %%rd<6>;\n"
		 "\tld.param.u64 %%rd1, [out];\n\tld.param.u32 %%r1, [at];\n"
		 "\tmov.u64 %%rd2, f;\n\tcvt.u64.u32 %%rd3, %%r1;\n\tadd.s64 %%rd4, %%rd2, %%rd3;\n"
		 "\tst.local.u32 [%%rd4], %%r1;\n\tst.local.u32 [f+%zu], %%r1;\n"
		 "\tld.local.u32 %%r2, [f];\n\tcvta.to.global.u64 %%rd5, %%rd1;\n"
		 "\tst.global.u32 [%%rd5], %%r2;\n\tret;\n}\n",
		 each, each - 4);
	rc = cuCtxCreate(&ctx, NULL, 0, dev);
	if (rc != CUDA_SUCCESS)
		return rc;
	CHECK(cuModuleLoadData(&m, ptx));
	CHECK(cuModuleGetFunction(&f, m, "frame"));
	{
		unsigned int at = 0;
		CUdeviceptr out;
		void *params[] = { &out, &at };

		CHECK(cuMemAlloc(&out, 4));
		rc = cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
		if (rc == CUDA_SUCCESS)
			rc = cuCtxSynchronize();
	}
	if (rc != CUDA_SUCCESS)
		CHECK(cuCtxDestroy(ctx));
	*h = (uintptr_t)ctx;
	return rc;
}

static CUresult frames_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuCtxDestroy((CUcontext)(uintptr_t)h);
}

const struct entry frames_entry = { "frames", frames, frames_free, 0 };

const struct entry entries[] = {
	{ "linear", linear, linear_free, 16 },
	{ "pitched", pitched, linear_free, 4 },
	{ "managed", managed, linear_free, 1 },
	{ "ordered", ordered, ordered_free, 4 },
	{ "pool", from_pool, ordered_free, 4 },
	{ "vmm", vmm, vmm_free, 1 },
	{ "mapped", mapped, mapped_free, 0 },
	{ "array", array, array_free, 1 },
	{ "array3d", array3d, array_free, 1 },
	{ "mipmap", mipmap, mipmap_free, 0 },
	{ "heap", heap, heap_free, 0 },
	{ "stack", stack, stack_free, 0 },
	{ "printf", fifo, fifo_free, 0 },
	{ "module", module, module_free, 0 },
	{ "library", library, library_free, 0 },
	{ "graph", graph_node, graph_free, 0 },
	{ "captured", captured, graph_free, 0 },
	{ "module file", module_file, module_free, 0 },
	{ "library file", library_file, library_free, 0 },
};

const size_t ndoors = sizeof(entries) / sizeof(entries[0]);

int entry_is_there(const struct entry *d)
{
	uint64_t h;

	if (d->alloc(4096, &h) != CUDA_SUCCESS)
		return 0;
	CHECK(d->release(h, 4096));
	return 1;
}
