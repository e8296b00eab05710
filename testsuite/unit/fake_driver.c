/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording driver of the shim's unit tests; see fake_driver.h. */
#define _GNU_SOURCE
#include "device/shim/context/context.h"
#include "fake_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/emu_export.h"
#include "device/ptx/guard_end.h"
#include "device/ptx/transform.h"
#include "device/shim/base/shim.h"

extern void *shim_slot[SHIM_FN_COUNT];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[4096];
static char failing[64];
static CUresult failing_rc;
static unsigned char params[4096];
static unsigned int grid;
static _Atomic uintptr_t current = (uintptr_t)FAKE_CONTEXT;
static _Atomic int broken; /* CUresult */
static void (*_Atomic inside)(const char *call, CUstream stream);

static CUresult called(const char *name)
{
	CUresult rc = broken;

	pthread_mutex_lock(&lock);
	if (calls[0])
		strncat(calls, " ", sizeof(calls) - strlen(calls) - 1);
	strncat(calls, name, sizeof(calls) - strlen(calls) - 1);
	if (strcmp(failing, name) == 0) {
		rc = failing_rc;
		failing[0] = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static CUresult called_in(const char *name, CUstream stream)
{
	void (*hook)(const char *call, CUstream stream) = inside;

	if (hook)
		hook(name, stream);
	return called(name);
}

void fake_driver_inside(void (*hook)(const char *call, CUstream stream))
{
	inside = hook;
}

void fake_driver_calls(char *text, size_t size)
{
	pthread_mutex_lock(&lock);
	snprintf(text, size, "%s", calls);
	calls[0] = 0;
	pthread_mutex_unlock(&lock);
}

void fake_driver_fail(const char *call, CUresult rc)
{
	pthread_mutex_lock(&lock);
	snprintf(failing, sizeof(failing), "%s", call);
	failing_rc = rc;
	pthread_mutex_unlock(&lock);
}

void fake_driver_break(CUresult rc)
{
	broken = rc;
}

CUcontext fake_driver_renew(void)
{
	broken = CUDA_SUCCESS;
	shim_context_changes(); /* as what makes one says */
	return (CUcontext)(atomic_fetch_add(&current, 0x10) + 0x10);
}

const void *fake_driver_params(void)
{
	return params;
}

unsigned int fake_driver_grid(void)
{
	return grid;
}

static CUresult fake_current(CUcontext *ctx)
{
	*ctx = (CUcontext)current;
	return CUDA_SUCCESS;
}

static CUresult fake_set_current(CUcontext ctx)
{
	return (uintptr_t)ctx >= (uintptr_t)FAKE_CONTEXT && (uintptr_t)ctx <= current ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult fake_query(CUstream stream)
{
	(void)stream;
	return broken;
}

static CUresult fake_device(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

static CUresult fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? FAKE_SMS : 0;
	return CUDA_SUCCESS;
}

static CUresult fake_register(void *p, size_t bytes, unsigned int flags)
{
	void (*hook)(const char *call, CUstream stream) = inside;

	(void)p, (void)bytes, (void)flags;
	if (hook)
		hook("register", NULL);
	return CUDA_SUCCESS;
}

static CUresult fake_device_pointer(CUdeviceptr *device, void *host, unsigned int flags)
{
	(void)flags;
	*device = (CUdeviceptr)(uintptr_t)host;
	return CUDA_SUCCESS;
}

/* What is not released is the context's, and no leak: it stays within reach here. */
static _Atomic(void *) device_memory[1024];

static void keep(void *from, void *to)
{
	for (size_t i = 0; i < sizeof(device_memory) / sizeof(device_memory[0]); i++) {
		void *is = from;

		if (atomic_compare_exchange_strong(&device_memory[i], &is, to))
			return;
	}
}

static CUresult fake_alloc(CUdeviceptr *p, size_t bytes)
{
	CUresult rc = called("alloc");
	void *memory = calloc(1, bytes);

	keep(NULL, memory);
	*p = (CUdeviceptr)(uintptr_t)memory;
	return rc;
}

static CUresult fake_free(CUdeviceptr p)
{
	keep((void *)(uintptr_t)p, NULL);
	free((void *)(uintptr_t)p);
	return called("free");
}

static CUresult fake_host_alloc(void **p, size_t bytes, unsigned int flags)
{
	(void)flags;
	*p = calloc(1, bytes);
	return CUDA_SUCCESS;
}

static CUresult fake_alloc_host(void **p, size_t bytes)
{
	*p = calloc(1, bytes);
	return CUDA_SUCCESS;
}

static CUresult fake_range(int *least, int *greatest)
{
	*least = 0;
	*greatest = -1;
	return CUDA_SUCCESS;
}

static CUresult fake_stream(CUstream *stream, unsigned int flags, int priority)
{
	(void)flags;
	*stream = (CUstream)(uintptr_t)(priority < 0 ? 0x10 : 0x20);
	return CUDA_SUCCESS;
}

static CUresult fake_stream_flags(CUstream stream, unsigned int *flags)
{
	*flags = stream == FAKE_BLOCKING ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
	return CUDA_SUCCESS;
}

static CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult fake_load(CUmodule *module, const void *image, unsigned int n,
			  CUjit_option *options, void **values)
{
	int variant = strstr(image, "__gpushare_ctl") != NULL;

	(void)n, (void)options, (void)values;
	if (strcmp(image, ptx_guard_module) == 0) {
		*module = FAKE_GUARD_MODULE;
		return CUDA_SUCCESS;
	}
	if (strstr(image, "__gpushare_guard")) {
		*module = FAKE_GUARDED_MODULE;
		return called("load-guarded");
	}
	*module = variant ? FAKE_VARIANTS_MODULE : FAKE_MODULE;
	return called(variant ? "load-variant" : "load");
}

static CUresult fake_load_plain(CUmodule *module, const void *image)
{
	return fake_load(module, image, 0, NULL, NULL);
}

static CUresult fake_function(CUfunction *f, CUmodule module, const char *name)
{
	*f = module == FAKE_VARIANTS_MODULE     ? FAKE_VARIANT :
	     module == FAKE_GUARDED_MODULE      ? FAKE_GUARDED :
	     strcmp(name, "leaves") == 0        ? FAKE_LEAVES :
	     strcmp(name, PTX_GUARD_END) == 0   ? FAKE_END :
	     strcmp(name, PTX_GUARD_WATCH) == 0 ? FAKE_WATCH :
						  FAKE_ORIGINAL;
	return strstr(name, PTX_PERSISTENT_SUFFIX) ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

static CUresult fake_name(const char **name, CUfunction f)
{
	(void)f;
	*name = "machine_code";
	return CUDA_SUCCESS;
}

static CUfunction framed;
static int frame;

void fake_driver_frame(CUfunction f, int bytes)
{
	framed = f;
	frame = bytes;
}

static CUresult fake_function_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	*value = attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && f == framed ? frame : 0;
	return CUDA_SUCCESS;
}

static unsigned int fits_own = FAKE_BLOCKS_PER_SM, fits_variant = FAKE_BLOCKS_PER_SM;
static unsigned int fit_requested;

void fake_driver_fits(unsigned int own, unsigned int variant)
{
	fits_own = own;
	fits_variant = variant;
	fit_requested = 0;
}

unsigned int fake_driver_fit_requested(void)
{
	return fit_requested;
}

static CUresult fake_occupancy(int *blocks, CUfunction f, int threads, size_t shared)
{
	(void)threads, (void)shared;
	fit_requested++;
	*blocks = (int)(f == FAKE_VARIANT ? fits_variant : fits_own);
	return CUDA_SUCCESS;
}

static CUresult fake_htod(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	(void)stream;
	memcpy((void *)(uintptr_t)to, from, bytes);
	return called("copy");
}

static CUresult fake_dtoh(void *to, CUdeviceptr from, size_t bytes)
{
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return called("dtoh");
}

static _Atomic int busy;

void fake_driver_busy(int is)
{
	busy = is;
}

static CUresult fake_write(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags)
{
	char name[32];

	(void)flags;
	if (!busy)
		__atomic_store_n((uint32_t *)(uintptr_t)at, value, __ATOMIC_SEQ_CST);
	snprintf(name, sizeof(name), "write%s%u",
		 (uintptr_t)stream == 0x10 ? "-control-" :
		 (uintptr_t)stream == 0x20 ? "-relaunch-" :
					     "-",
		 value);
	return called_in(name, stream);
}

static CUresult fake_batch(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *op,
			   unsigned int flags)
{
	char name[32];

	(void)flags;
	for (unsigned int i = 0; i < n; i++) {
		void *at = (void *)(uintptr_t)op[i].writeValue.address;

		if (op[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
			*(uint64_t *)at = op[i].writeValue.value64;
		else
			*(uint32_t *)at = op[i].writeValue.value;
		if ((uintptr_t)stream != 0x10)
			continue;
		snprintf(name, sizeof(name), "write-control-%u", op[i].writeValue.value);
		called(name);
	}
	return (uintptr_t)stream == 0x10 ? CUDA_SUCCESS : called_in("batch", stream);
}

/* An event's handle is the number of its context among those that had this handle. */
static _Atomic uintptr_t generation = 1;
static _Atomic unsigned int stale;
static _Atomic int events;

void fake_driver_reuse(void)
{
	generation++;
	events = 0;
}

unsigned int fake_driver_stale(void)
{
	return stale;
}

int fake_driver_events(void)
{
	return events;
}

static CUresult with_event(CUevent event)
{
	stale += (uintptr_t)event != generation;
	return CUDA_SUCCESS;
}

static CUresult fake_event(CUevent *event, unsigned int flags)
{
	(void)flags;
	*event = (CUevent)generation;
	events++;
	return CUDA_SUCCESS;
}

static CUresult fake_event_destroy(CUevent event)
{
	events--;
	return with_event(event);
}

static _Atomic float takes_ms;
static _Atomic unsigned int timed;

void fake_driver_takes(float ms)
{
	takes_ms = ms;
}

unsigned int fake_driver_timed(void)
{
	return timed;
}

static _Atomic int late;

void fake_driver_late(int times)
{
	late = times;
}

static CUresult fake_elapsed(float *ms, CUevent begin, CUevent end)
{
	if (late > 0) {
		late--;
		return CUDA_ERROR_NOT_READY;
	}
	*ms = takes_ms;
	timed++;
	with_event(begin);
	return with_event(end);
}

static CUresult fake_record(CUevent event, CUstream stream)
{
	with_event(event);
	return (uintptr_t)stream == 0x10 ? called_in("record-control", stream) : CUDA_SUCCESS;
}

static _Atomic int before_events;

void fake_driver_before_events(int at_work)
{
	before_events = at_work;
}

static CUresult fake_event_query(CUevent event)
{
	with_event(event);
	return before_events ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult fake_wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	(void)event, (void)flags;
	return (uintptr_t)stream == 0x20 ? called_in("await-relaunch", stream) : CUDA_SUCCESS;
}

static CUresult fake_wait(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags)
{
	(void)at, (void)value, (void)flags;
	return called_in("wait", stream);
}

CUfunction fake_launched, fake_elsewhere;

static CUresult fake_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			    CUstream stream, void **kernel_params, void **extra)
{
	(void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)kernel_params;
	if (fake_elsewhere && f == fake_elsewhere)
		return CUDA_ERROR_INVALID_HANDLE;
	if (f == FAKE_END)
		return called_in((uintptr_t)stream == 0x20 ? "relaunch-end" : "launch-end", stream);
	if (f == FAKE_WATCH)
		return called_in("watch", stream);
	fake_launched = f;
	grid = gx;
	if (extra)
		memcpy(params, extra[1], *(size_t *)extra[3]);
	if (f == FAKE_GUARDED)
		return called_in((uintptr_t)stream == 0x20 ? "relaunch-guarded" : "launch-guarded",
				 stream);
	if (f == FAKE_VARIANT)
		return called_in((uintptr_t)stream == 0x20 ? "relaunch-variant" : "launch-variant",
				 stream);
	return called_in("launch-original", stream);
}

static CUresult fake_launch_ex(const CUlaunchConfig *config, CUfunction f, void **kernel_params,
			       void **extra)
{
	called(config->numAttrs == 1 ? "attribute" : "attributes");
	return fake_launch(f, config->gridDimX, config->gridDimY, config->gridDimZ,
			   config->blockDimX, config->blockDimY, config->blockDimZ,
			   config->sharedMemBytes, config->hStream, kernel_params, extra);
}

static CUresult fake_graph_launch(CUgraphExec graph, CUstream stream)
{
	(void)graph;
	return called_in("launch-graph", stream);
}

static CUresult fake_launch_old(CUfunction f)
{
	(void)f;
	return called("launch-old");
}

static CUresult fake_launch_grid(CUfunction f, int width, int height)
{
	(void)f;
	grid = (unsigned int)(width * height);
	return called("launch-grid");
}

static CUresult fake_launch_grid_async(CUfunction f, int width, int height, CUstream stream)
{
	(void)f;
	grid = (unsigned int)(width * height);
	return called_in("launch-async", stream);
}

static CUresult fake_launch_devices(CUDA_LAUNCH_PARAMS *list, unsigned int n, unsigned int flags)
{
	(void)flags;
	grid = n * list->gridDimX;
	return called_in("launch-devices", list->hStream);
}

static CUresult fake_stream_context(CUstream stream, CUcontext *ctx)
{
	(void)stream;
	return fake_current(ctx);
}

static CUresult fake_instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)graph, (void)flags;
	*exec = FAKE_GRAPH;
	return CUDA_SUCCESS;
}

static CUresult fake_ok(void)
{
	return CUDA_SUCCESS;
}

static CUresult fake_not_found(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* As of the emulated device, which takes a variant as PTX: no compiler is called. */
static CUresult fake_table(const void **table, const CUuuid *id)
{
	static const struct gs_emu_export emulated = { .size = sizeof(emulated) };

	(void)id;
	*table = &emulated;
	return CUDA_SUCCESS;
}

static int eager;

static CUresult fake_loading_mode(CUmoduleLoadingMode *mode)
{
	*mode = eager ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

void fake_driver_loads_eagerly(void)
{
	eager = 1;
}

#define PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

void fake_driver_install(void)
{
	for (int i = 0; i < SHIM_FN_COUNT; i++)
		shim_slot[i] = (void *)(uintptr_t)fake_ok;
	PUT(cuCtxGetCurrent, fake_current);
	PUT(cuCtxSetCurrent, fake_set_current);
	PUT(cuCtxGetDevice, fake_device);
	PUT(cuDeviceGetAttribute, fake_attribute);
	PUT(cuMemHostRegister_v2, fake_register);
	PUT(cuMemHostGetDevicePointer_v2, fake_device_pointer);
	PUT(cuMemAlloc_v2, fake_alloc);
	PUT(cuMemFree_v2, fake_free);
	PUT(cuMemHostAlloc, fake_host_alloc);
	PUT(cuMemAllocHost_v2, fake_alloc_host);
	PUT(cuCtxGetStreamPriorityRange, fake_range);
	PUT(cuStreamCreateWithPriority, fake_stream);
	PUT(cuStreamGetFlags, fake_stream_flags);
	PUT(cuStreamQuery, fake_query);
	PUT(cuStreamIsCapturing, fake_capturing);
	PUT(cuModuleGetLoadingMode, fake_loading_mode);
	PUT(cuModuleLoadDataEx, fake_load);
	PUT(cuModuleLoadData, fake_load_plain);
	PUT(cuLibraryGetKernel, fake_not_found);
	PUT(cuGetExportTable, fake_table);
	PUT(cuModuleGetFunction, fake_function);
	PUT(cuFuncGetName, fake_name);
	PUT(cuFuncGetAttribute, fake_function_attribute);
	PUT(cuOccupancyMaxActiveBlocksPerMultiprocessor, fake_occupancy);
	PUT(cuMemcpyHtoDAsync_v2, fake_htod);
	PUT(cuMemcpyDtoH_v2, fake_dtoh);
	PUT(cuStreamWriteValue32_v2, fake_write);
	PUT(cuStreamBatchMemOp_v2, fake_batch);
	PUT(cuStreamWaitValue32_v2, fake_wait);
	PUT(cuEventCreate, fake_event);
	PUT(cuEventDestroy_v2, fake_event_destroy);
	PUT(cuEventElapsedTime_v2, fake_elapsed);
	PUT(cuEventRecord, fake_record);
	PUT(cuEventQuery, fake_event_query);
	PUT(cuStreamWaitEvent, fake_wait_event);
	PUT(cuLaunchKernel, fake_launch);
	PUT(cuLaunchKernelEx, fake_launch_ex);
	PUT(cuGraphLaunch, fake_graph_launch);
	PUT(cuLaunch, fake_launch_old);
	PUT(cuLaunchGrid, fake_launch_grid);
	PUT(cuLaunchGridAsync, fake_launch_grid_async);
	PUT(cuLaunchCooperativeKernelMultiDevice, fake_launch_devices);
	PUT(cuStreamGetCtx, fake_stream_context);
	PUT(cuGraphInstantiateWithFlags, fake_instantiate);
}
