/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lazy_loading [SUBJECT]: which calls of the driver wait for what runs, because they load code
 * (src/device/shim/kernel/loading.h).
 *
 * Each call is made in a process of its own, as the first of its kind, while a stream waits for a
 * word of memory that is written HELD_MS later; a call that has taken half as long or more has
 * waited.  CUDA_MODULE_LOADING is the caller's to set (LAZY, EAGER), as is
 * CUDA_DEVICE_MAX_CONNECTIONS; the driver is that of LD_LIBRARY_PATH.  Prints CSV.
 *
 *   function  of a module of PTX, another one of whose functions has run
 *   library   of PTX, of which nothing has been used
 *   kernel    of such a library
 *   after     the library's kernel has been asked for by cuKernelGetFunction
 *   code      the last of 24 kernels of 160 KB each has run; all others are launched
 *   any       what needs no code of the program
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The emulated device has none, nor its header. */
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction f, const CUlaunchConfig *config);

#define HELD_MS 1500
#define SETTLE_MS 20
#define AT_ONCE 12 /* processes */
#define KERNELS 24
#define STEPS 2500 /* of a kernel of `code`: four instructions of 16 bytes each */

struct at {
	CUdevice device;
	CUmodule module, module2;
	CUlibrary library, library2;
	CUkernel kernel, other;  /* of the library */
	CUfunction f, used, got; /* the module's; got: whatever a call gives */
	CUstream held, stream;
	CUdeviceptr d;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	CUDA_KERNEL_NODE_PARAMS of_kernel, of_function;
	CUlaunchConfig one;
	void *params[1], *host;
	const char *name;
	size_t n;
	int value, grid;
};

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 g;\n"
	".visible .entry k0(.param .u64 p)\n{\n\tret;\n}\n.visible .entry k1(.param .u64 p)\n{\n\tret;\n}\n";

static void check(CUresult rc, const char *what)
{
	const char *name = "?";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorName(rc, &name);
	fprintf(stderr, "lazy_loading: %s: %s\n", what, name);
	_exit(1);
}
#define CHECK(call) check(call, #call)

static CUresult launch(struct at *a, CUfunction f)
{
	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, a->stream, a->params, NULL);
}

static void node(struct at *a, int exec)
{
	CHECK(cuGraphCreate(&a->graph, 0));
	if (exec < 0)
		return;
	CHECK(cuGraphAddKernelNode(&a->node, a->graph, NULL, 0, &a->of_function));
	if (exec)
		CHECK(cuGraphInstantiate(&a->exec, a->graph, 0));
}

static void capture(struct at *a)
{
	CHECK(cuStreamBeginCapture(a->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void nothing(void)
{
}

#define K ((CUfunction)(uintptr_t)a->kernel)
/* subject, what it is called, what comes before it, the call */
#define CALLS(CALL) \
	CALL(function, "cuLaunchKernel", nothing(), launch(a, a->f)) \
	CALL(function, "cuFuncGetAttribute", nothing(), \
	     cuFuncGetAttribute(&a->value, CU_FUNC_ATTRIBUTE_NUM_REGS, a->f)) \
	CALL(function, "cuFuncSetAttribute", nothing(), \
	     cuFuncSetAttribute(a->f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 40000)) \
	CALL(function, "cuOccupancyMaxActiveBlocksPerMultiprocessor", nothing(), \
	     cuOccupancyMaxActiveBlocksPerMultiprocessor(&a->value, a->f, 128, 0)) \
	CALL(function, "cuGraphAddKernelNode", node(a, -1), \
	     cuGraphAddKernelNode(&a->node, a->graph, NULL, 0, &a->of_function)) \
	CALL(function, "cuGraphInstantiate", node(a, 0), \
	     cuGraphInstantiate(&a->exec, a->graph, 0)) \
	CALL(function, "cuLaunchKernel in a capture", capture(a), launch(a, a->f)) \
	CALL(function, "cuModuleGetGlobal", nothing(), \
	     cuModuleGetGlobal(&a->d, &a->n, a->module, "g")) \
	CALL(function, "cuModuleLoadData", nothing(), cuModuleLoadData(&a->module2, ptx)) \
	CALL(library, "cuLibraryLoadData", nothing(), \
	     cuLibraryLoadData(&a->library2, ptx, NULL, NULL, 0, NULL, NULL, 0)) \
	CALL(library, "cuLibraryGetKernel", nothing(), \
	     cuLibraryGetKernel(&a->other, a->library, "k0")) \
	CALL(library, "cuLibraryEnumerateKernels", nothing(), \
	     cuLibraryEnumerateKernels(&a->other, 1, a->library)) \
	CALL(library, "cuLibraryGetGlobal", nothing(), \
	     cuLibraryGetGlobal(&a->d, &a->n, a->library, "g")) \
	CALL(library, "cuLibraryGetModule", nothing(), \
	     cuLibraryGetModule(&a->module2, a->library)) \
	CALL(kernel, "cuKernelGetFunction", nothing(), cuKernelGetFunction(&a->got, a->kernel)) \
	CALL(kernel, "cuKernelGetFunction in a capture", capture(a), \
	     cuKernelGetFunction(&a->got, a->kernel)) \
	CALL(kernel, "cuKernelGetAttribute", nothing(), \
	     cuKernelGetAttribute(&a->value, CU_FUNC_ATTRIBUTE_NUM_REGS, a->kernel, a->device)) \
	CALL(kernel, "cuKernelSetAttribute", nothing(), \
	     cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 40000, \
				  a->kernel, a->device)) \
	CALL(kernel, "cuKernelGetName", nothing(), cuKernelGetName(&a->name, a->kernel)) \
	CALL(kernel, "cuKernelGetParamInfo", nothing(), \
	     cuKernelGetParamInfo(a->kernel, 0, &a->n, &a->n)) \
	CALL(kernel, "cuLaunchKernel", nothing(), launch(a, K)) \
	CALL(kernel, "cuLaunchKernel in a capture", capture(a), launch(a, K)) \
	CALL(kernel, "cuOccupancyMaxActiveBlocksPerMultiprocessor", nothing(), \
	     cuOccupancyMaxActiveBlocksPerMultiprocessor(&a->value, K, 128, 0)) \
	CALL(kernel, "cuOccupancyMaxPotentialBlockSize", nothing(), \
	     cuOccupancyMaxPotentialBlockSize(&a->grid, &a->value, K, NULL, 0, 0)) \
	CALL(kernel, "cuOccupancyMaxActiveClusters", nothing(), \
	     cuOccupancyMaxActiveClusters(&a->value, K, &a->one)) \
	CALL(kernel, "cuOccupancyAvailableDynamicSMemPerBlock", nothing(), \
	     cuOccupancyAvailableDynamicSMemPerBlock(&a->n, K, 1, 128)) \
	CALL(kernel, "cuGraphAddKernelNode", node(a, -1), \
	     cuGraphAddKernelNode(&a->node, a->graph, NULL, 0, &a->of_kernel)) \
	CALL(kernel, "cuGraphKernelNodeSetParams", node(a, 0), \
	     cuGraphKernelNodeSetParams(a->node, &a->of_kernel)) \
	CALL(kernel, "cuGraphExecKernelNodeSetParams", node(a, 1), \
	     cuGraphExecKernelNodeSetParams(a->exec, a->node, &a->of_kernel)) \
	CALL(after, "cuLaunchKernel of it", nothing(), launch(a, K)) \
	CALL(after, "cuKernelGetFunction of it", nothing(), \
	     cuKernelGetFunction(&a->got, a->kernel)) \
	CALL(after, "cuKernelGetFunction of another", nothing(), \
	     cuKernelGetFunction(&a->got, a->other)) \
	CALL(after, "cuLibraryGetGlobal", nothing(), \
	     cuLibraryGetGlobal(&a->d, &a->n, a->library, "g")) \
	CALL(after, "cuLibraryGetModule", nothing(), cuLibraryGetModule(&a->module2, a->library)) \
	CALL(code, "cuLaunchKernel of 23 others", nothing(), launch_others(a)) \
	CALL(any, "cuMemsetD8Async of 1000 bytes", nothing(), \
	     cuMemsetD8Async(a->d, 1, 1000, a->stream)) \
	CALL(any, "cuMemsetD8Async of 1 MiB", nothing(), \
	     cuMemsetD8Async(a->d, 1, 1 << 20, a->stream)) \
	CALL(any, "cuMemsetD16Async", nothing(), cuMemsetD16Async(a->d, 1, 1001, a->stream)) \
	CALL(any, "cuMemsetD32Async", nothing(), cuMemsetD32Async(a->d, 1, 100000, a->stream)) \
	CALL(any, "cuMemsetD2D8Async", nothing(), \
	     cuMemsetD2D8Async(a->d, 1024, 1, 100, 100, a->stream)) \
	CALL(any, "cuMemcpyDtoDAsync", nothing(), \
	     cuMemcpyDtoDAsync(a->d, a->d + 65536, 1000, a->stream)) \
	CALL(any, "cuMemcpyHtoDAsync of pageable memory", nothing(), \
	     cuMemcpyHtoDAsync(a->d, ptx, sizeof(ptx), a->stream)) \
	CALL(any, "cuLaunchHostFunc", nothing(), cuLaunchHostFunc(a->stream, free, NULL))

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Kernels whose code is too long to be beside the others' from the start. */
static char *long_text(void)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		exit(1);
	fputs(".version 7.0\n.target sm_70\n.address_size 64\n", to);
	for (int k = 0; k < KERNELS; k++) {
		fprintf(to,
			".visible .entry c%d(.param .u64 p)\n{\n\t.reg .u64 %%a;\n\t.reg .f32 %%x, %%y;\n\tld.param.u64 %%a, [p];\n"
			"\tld.global.f32 %%x, [%%a];\n\tld.global.f32 %%y, [%%a+4];\n",
			k);
		for (int i = 0; i < STEPS; i++)
			fprintf(to,
				"\tfma.rn.f32 %%x, %%x, 0f3FC00000, %%y;\n\tfma.rn.f32 %%y, %%y, %%x, 0f%08x;\n"
				"\tfma.rn.f32 %%x, %%y, %%y, %%x;\n\tfma.rn.f32 %%y, %%x, %%x, %%y;\n",
				0x3f800000 + 2 * i + k);
		fputs("\tst.global.f32 [%a], %y;\n\tret;\n}\n", to);
	}
	fclose(to);
	return text;
}

static CUkernel code_of(const struct at *a, int k)
{
	CUkernel kernel = NULL;
	char name[16];

	snprintf(name, sizeof(name), "c%d", k);
	CHECK(cuLibraryGetKernel(&kernel, a->library2, name));
	return kernel;
}

static void run_last(struct at *a)
{
	char *text = long_text();

	CHECK(cuLibraryLoadData(&a->library2, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(launch(a, (CUfunction)(uintptr_t)code_of(a, KERNELS - 1)));
	CHECK(cuStreamSynchronize(a->stream));
	free(text);
}

static CUresult launch_others(struct at *a)
{
	CUresult rc = CUDA_SUCCESS;

	for (int k = 0; k < KERNELS - 1 && rc == CUDA_SUCCESS; k++) {
		double from = now();

		rc = launch(a, (CUfunction)(uintptr_t)code_of(a, k));
		if (now() - from > HELD_MS / 2e3)
			fprintf(stderr,
				"lazy_loading: of %d kernels launched it is number %d that waits\n",
				KERNELS - 1, k + 1);
	}
	return rc;
}

static void *release(void *word)
{
	usleep(HELD_MS * 1000);
	*(volatile unsigned int *)word = 1;
	return NULL;
}

static void prepare(struct at *a, const char *subject)
{
	CUcontext ctx;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&a->device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, a->device));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuMemAlloc(&a->d, 1 << 20));
	CHECK(cuMemHostAlloc(&a->host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	memset(a->host, 0, 4096);
	CHECK(cuStreamCreate(&a->held, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&a->stream, CU_STREAM_NON_BLOCKING));
	a->params[0] = &a->d;
	CHECK(cuModuleLoadData(&a->module, ptx));
	CHECK(cuModuleGetFunction(&a->used, a->module, "k0"));
	CHECK(cuModuleGetFunction(&a->f, a->module, "k1"));
	CHECK(launch(a, a->used));
	CHECK(cuLibraryLoadData(&a->library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&a->other, a->library, "k0"));
	CHECK(cuLibraryGetKernel(&a->kernel, a->library, "k1"));
	if (strcmp(subject, "after") == 0)
		CHECK(cuKernelGetFunction(&a->got, a->kernel));
	if (strcmp(subject, "code") == 0)
		run_last(a);
	a->one = (CUlaunchConfig) { 1, 1, 1, 1, 1, 1, 0, a->stream, NULL, 0 };
	a->of_function = (CUDA_KERNEL_NODE_PARAMS) {
		.func = a->f,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = a->params,
	};
	a->of_kernel = a->of_function;
	a->of_kernel.func = NULL;
	a->of_kernel.kern = a->kernel;
	a->of_kernel.ctx = ctx;
	CHECK(cuCtxSynchronize());
}

#define CALL(subject, what, before, call) { #subject, what },
static const struct {
	const char *subject, *what;
} calls[] = { CALLS(CALL) };
#undef CALL
#define COUNT (sizeof(calls) / sizeof(calls[0]))

/* Which one is known by its place in the list. */
static void before_call(struct at *a, size_t number)
{
	size_t i = 0;

#define CALL(subject, what, before, call) \
	if (i++ == number) \
		before;
	CALLS(CALL)
#undef CALL
}

static CUresult make_call(struct at *a, size_t number)
{
	size_t i = 0;

#define CALL(subject, what, before, call) \
	if (i++ == number) \
		return call;
	CALLS(CALL)
#undef CALL
	return CUDA_ERROR_UNKNOWN;
}

/* In a process of its own: what is created is gone with it. */
static void measure(size_t number)
{
	const char *subject = calls[number].subject, *what = calls[number].what;
	struct at a = { 0 };
	pthread_t thread;
	CUdeviceptr word;
	double from, to;
	CUmoduleLoadingMode mode;

	prepare(&a, subject);
	before_call(&a, number);
	CHECK(cuModuleGetLoadingMode(&mode));
	CHECK(cuMemHostGetDevicePointer(&word, a.host, 0));
	CHECK(cuStreamWaitValue32(a.held, word, 1, CU_STREAM_WAIT_VALUE_GEQ));
	if (pthread_create(&thread, NULL, release, a.host) != 0)
		_exit(1);
	usleep(SETTLE_MS * 1000);
	from = now();
	check(make_call(&a, number), what);
	to = now();
	printf("%s,%s,%s,%s,%.6f\n", mode == CU_MODULE_LAZY_LOADING ? "lazy" : "eager", subject,
	       what, to - from >= HELD_MS / 2e3 ? "yes" : "no", to - from);
	fflush(stdout);
	pthread_join(thread, NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	int running = 0, failed = 0, status;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		fprintf(stderr, "usage: lazy_loading [SUBJECT]\n");
		return 2;
	}
	puts("loading,subject,call,waits,seconds");
	fflush(stdout);
	for (size_t number = 0; number < COUNT; number++) {
		if (argc == 2 && strcmp(argv[1], calls[number].subject) != 0)
			continue;
		if (running++ >= AT_ONCE && wait(&status) > 0)
			failed += status != 0;
		if (fork() == 0)
			measure(number);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed != 0;
}
