/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver, and how variant_cost launches; see variant_cost.h. */
#define _GNU_SOURCE
#include "variant_cost.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/ptx/guard.h"
#include "device/ptx/guard_end.h"
#include "device/ptx/slot_layout.h"
#include "device/ptx/transform.h"

/* Each block of `sum` reads n times what its threads load at once: four times 16 bytes each. */
#define LOADED_BYTES(threads) ((uint64_t)(threads)*64)
#define FILLER_WAVES 4

static const char text[] =
	".version 6.3\n.target sm_70\n.address_size 64\n\n"
	".visible .entry work(.param .u64 data, .param .u32 n)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %r<2>;\n\t.reg .f32 %f<2>;\n\t.reg .b64 %d<2>;\n"
	"\tld.param.u64 %d0, [data];\n\tld.param.u32 %r0, [n];\n\tmov.f32 %f0, 0f3F800000;\n"
	"$more:\n"
	"\tfma.rn.f32 %f0, %f0, 0f3F7FF000, 0f3A000000;\n"
	"\tsub.u32 %r0, %r0, 1;\n\tsetp.ne.u32 %p, %r0, 0;\n\t@%p bra $more;\n"
	"\tsetp.lt.f32 %p, %f0, 0f00000000;\n\t@%p st.global.f32 [%d0], %f0;\n\tret;\n}\n\n"
	".visible .entry sum(.param .u64 data, .param .u32 n)\n{\n"
	"\t.reg .pred %p;\n\t.reg .b32 %r<24>;\n\t.reg .b64 %d<6>;\n"
	"\tld.param.u64 %d0, [data];\n\tld.param.u32 %r0, [n];\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmul.lo.u32 %r4, %r1, %r0;\n\tshl.b32 %r5, %r2, 6;\n"
	"\tmul.wide.u32 %d1, %r4, %r5;\n\tmul.wide.u32 %d2, %r3, 16;\n"
	"\tadd.u64 %d1, %d1, %d2;\n\tadd.u64 %d1, %d1, %d0;\n"
	"\tmul.wide.u32 %d3, %r2, 16;\n\tmov.u32 %r6, 0;\n"
	"$more:\n"
	"\tld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d1];\n\tadd.u64 %d1, %d1, %d3;\n"
	"\tld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%d1];\n\tadd.u64 %d1, %d1, %d3;\n"
	"\tld.global.v4.u32 {%r16, %r17, %r18, %r19}, [%d1];\n\tadd.u64 %d1, %d1, %d3;\n"
	"\tld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%d1];\n\tadd.u64 %d1, %d1, %d3;\n"
	"\tor.b32 %r6, %r6, %r8;\n\tor.b32 %r6, %r6, %r9;\n"
	"\tor.b32 %r6, %r6, %r10;\n\tor.b32 %r6, %r6, %r11;\n"
	"\tor.b32 %r6, %r6, %r12;\n\tor.b32 %r6, %r6, %r13;\n"
	"\tor.b32 %r6, %r6, %r14;\n\tor.b32 %r6, %r6, %r15;\n"
	"\tor.b32 %r6, %r6, %r16;\n\tor.b32 %r6, %r6, %r17;\n"
	"\tor.b32 %r6, %r6, %r18;\n\tor.b32 %r6, %r6, %r19;\n"
	"\tor.b32 %r6, %r6, %r20;\n\tor.b32 %r6, %r6, %r21;\n"
	"\tor.b32 %r6, %r6, %r22;\n\tor.b32 %r6, %r6, %r23;\n"
	"\tsub.u32 %r0, %r0, 1;\n\tsetp.ne.u32 %p, %r0, 0;\n\t@%p bra $more;\n"
	"\tsetp.ne.u32 %p, %r6, 0;\n\t@%p st.global.u32 [%d0], %r6;\n\tret;\n}\n";

/* The driver's functions: F(name), which cuda.h maps to its symbol. */
#define FUNCTIONS \
	F(cuInit) \
	F(cuGetErrorName) \
	F(cuDeviceGet) \
	F(cuDeviceGetName) \
	F(cuDeviceGetAttribute) \
	F(cuDevicePrimaryCtxRetain) \
	F(cuCtxSetCurrent) \
	F(cuCtxGetStreamPriorityRange) \
	F(cuStreamCreateWithPriority) \
	F(cuStreamSynchronize) \
	F(cuMemAlloc) \
	F(cuMemHostAlloc) \
	F(cuMemHostGetDevicePointer) \
	F(cuMemsetD32Async) \
	F(cuEventCreate) \
	F(cuEventRecord) \
	F(cuEventElapsedTime) \
	F(cuModuleLoadData) \
	F(cuModuleGetFunction) \
	F(cuLaunchKernel) \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor)
static struct {
#define F(name) __typeof__(&name) name;
	FUNCTIONS
#undef F
} cu;

/* The words of a launch slot that the small kernels read and write. */
struct slot {
	volatile uint32_t state, started, done[2];
};

static struct {
	char name[100];
	int sms;
	uint64_t bytes;
	CUstream stream, watchers;
	CUevent begin, end;
	CUfunction written[2], guarded[2]; /* work, sum */
	CUfunction at_end, watch;
	CUdeviceptr data, word, done, slot_at;
	struct slot *slot;
	uint32_t ends;
} gpu;

static void must_be(CUresult rc, const char *what)
{
	const char *name = NULL;

	if (rc == CUDA_SUCCESS)
		return;
	cu.cuGetErrorName(rc, &name);
	fprintf(stderr, "variant_cost: %s: %s\n", what, name ? name : "?");
	exit(3);
}
#define MUST(call) must_be(cu.call, #call)

#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)

static void load_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *symbol;

	if (!driver) {
		fprintf(stderr, "variant_cost: no driver: %s\n", dlerror());
		exit(77);
	}
#define F(function) \
	symbol = dlsym(driver, SYMBOL(function)); \
	if (!symbol) { \
		fprintf(stderr, "variant_cost: the driver has no %s\n", SYMBOL(function)); \
		exit(3); \
	} \
	memcpy(&cu.function, &symbol, sizeof(symbol));
	FUNCTIONS
#undef F
}

static void load_kernels(void)
{
	struct gs_error err;
	struct ptx_transformed *t = ptx_transform_only(
		text, sizeof(text) - 1, PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED), 0, &err);
	CUmodule module, guard;

	if (!t) {
		fprintf(stderr, "variant_cost: %s\n", err.text);
		exit(3);
	}
	MUST(cuModuleLoadData(&module, t->text));
	ptx_transformed_free(t);
	MUST(cuModuleGetFunction(&gpu.written[0], module, "work"));
	MUST(cuModuleGetFunction(&gpu.written[1], module, "sum"));
	MUST(cuModuleGetFunction(&gpu.guarded[0], module, "work" PTX_GUARDED_SUFFIX));
	MUST(cuModuleGetFunction(&gpu.guarded[1], module, "sum" PTX_GUARDED_SUFFIX));
	MUST(cuModuleLoadData(&guard, ptx_guard_module));
	MUST(cuModuleGetFunction(&gpu.at_end, guard, PTX_GUARD_END));
	MUST(cuModuleGetFunction(&gpu.watch, guard, PTX_GUARD_WATCH));
}

void gpu_open(uint64_t bytes)
{
	int low, high;
	CUdevice device;
	CUcontext context;

	load_driver();
	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDeviceGetName(gpu.name, sizeof(gpu.name), device));
	MUST(cuDeviceGetAttribute(&gpu.sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	MUST(cuDevicePrimaryCtxRetain(&context, device));
	MUST(cuCtxSetCurrent(context));
	MUST(cuCtxGetStreamPriorityRange(&low, &high));
	MUST(cuStreamCreateWithPriority(&gpu.stream, CU_STREAM_NON_BLOCKING, low));
	MUST(cuStreamCreateWithPriority(&gpu.watchers, CU_STREAM_NON_BLOCKING, high));
	MUST(cuEventCreate(&gpu.begin, CU_EVENT_DEFAULT));
	MUST(cuEventCreate(&gpu.end, CU_EVENT_DEFAULT));
	gpu.bytes = bytes;
	MUST(cuMemAlloc(&gpu.data, bytes));
	MUST(cuMemsetD32Async(gpu.data, 0, bytes / 4, gpu.stream));
	MUST(cuMemAlloc(&gpu.word, GS_GUARD_BYTES));
	MUST(cuMemAlloc(&gpu.done, 4));
	MUST(cuMemsetD32Async(gpu.word, 0, GS_GUARD_BYTES / 4, gpu.stream));
	MUST(cuMemsetD32Async(gpu.done, 0, 1, gpu.stream));
	MUST(cuMemHostAlloc((void **)&gpu.slot, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer(&gpu.slot_at, gpu.slot, 0));
	load_kernels();
	MUST(cuStreamSynchronize(gpu.stream));
}

const char *gpu_name(void)
{
	return gpu.name;
}

static void launch_kernel(const struct subject *s, CUfunction f, unsigned int blocks)
{
	struct gs_guard guard = { gpu.word, 0, 0 };
	uint32_t n = s->n;
	void *params[] = { &gpu.data, &n, &guard }; /* as written it has only the first two */

	MUST(cuLaunchKernel(f, blocks, 1, 1, s->threads, 1, 1, 0, gpu.stream, params, NULL));
}

static void launch_watcher(void)
{
	void *params[] = { &gpu.word, &gpu.slot_at, &gpu.done, &gpu.ends };

	MUST(cuLaunchKernel(gpu.watch, 1, 1, 1, 1, 1, 1, 0, gpu.watchers, params, NULL));
}

static void launch_end(const struct subject *s)
{
	uint64_t total = s->blocks;
	uint32_t unit = 1, group = 0;
	void *params[] = { &gpu.word, &gpu.slot_at, &gpu.done, &total, &unit, &group };

	MUST(cuLaunchKernel(gpu.at_end, 1, 1, 1, 1, 1, 1, 0, gpu.stream, params, NULL));
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

struct times launch_once(const struct subject *s, enum way way, int queued)
{
	struct times t;
	double began;
	float ms;

	if (way == GUARD) /* nothing behind it does this */
		MUST(cuMemsetD32Async(gpu.word, 0, 2, gpu.stream));
	MUST(cuStreamSynchronize(gpu.stream));
	if (way >= END)
		gpu.ends++;
	gpu.slot->state = PTX_STATE_RUNNING;
	if (queued)
		launch_kernel(s, gpu.written[s->memory],
			      s->blocks < FILLER_WAVES * s->places ? s->blocks :
								     FILLER_WAVES * s->places);
	began = now_us();
	if (way == WATCH)
		launch_watcher();
	MUST(cuEventRecord(gpu.begin, gpu.stream));
	if (way == WATCH_TIMED)
		launch_watcher();
	launch_kernel(s, (way == WRITTEN ? gpu.written : gpu.guarded)[s->memory], s->blocks);
	if (way >= END)
		launch_end(s);
	MUST(cuEventRecord(gpu.end, gpu.stream));
	MUST(cuStreamSynchronize(gpu.stream));
	t.host_us = now_us() - began;
	MUST(cuStreamSynchronize(gpu.watchers));
	MUST(cuEventElapsedTime(&ms, gpu.begin, gpu.end));
	t.event_us = (double)ms * 1e3;
	if (way >= END && gpu.slot->state != PTX_STATE_DONE) {
		fprintf(stderr, "variant_cost: %s: not all blocks have run\n", s->name);
		exit(1);
	}
	return t;
}

/* Doubles what a block does until it takes long enough. */
static void calibrate(struct subject *s, double block_us)
{
	for (s->n = 1; s->n < 1u << 24; s->n *= 2) {
		double us = launch_once(s, WRITTEN, 0).event_us / s->waves;

		if (us >= block_us / 2) {
			s->n = (unsigned int)((double)s->n * block_us / us) + 1;
			return;
		}
	}
}

void subject_prepare(struct subject *s, double block_us)
{
	int blocks = 0;

	MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gpu.written[s->memory],
							 (int)s->threads, 0));
	s->places = (unsigned int)(blocks * gpu.sms);
	s->blocks = s->waves * s->places - s->places * s->free_percent / 100;
	if (s->memory) /* all of the memory, once */
		s->n = (unsigned int)(gpu.bytes / s->blocks / LOADED_BYTES(s->threads));
	else
		calibrate(s, block_us);
	if (!s->n)
		s->n = 1;
	launch_once(s, WATCH, 0); /* brings the code to the GPU */
	s->block_us = launch_once(s, WRITTEN, 0).event_us / ((double)s->blocks / s->places);
}
