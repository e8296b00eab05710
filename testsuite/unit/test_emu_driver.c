/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver API on the emulated device: order of streams, memory operations, events, errors,
 * lookups. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu_util.h"

/* Polls [p] until it is 1, then stores 2 at [p+4]. */
#define POLL \
	HEAD ".visible .entry poll(.param .u64 p)\n{\n.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\n" \
	     "again:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.ne.u32 %p1, %r1, 1;\n@%p1 bra again;\nst.global.u32 [%rd1+4], 2;\nret;\n}\n"
/* [p] += v, after spinning a while */
#define SLOW \
	HEAD ".visible .entry slow(.param .u64 p, .param .u32 v, .param .u32 turns)\n{\n.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n" \
	     "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [v];\nld.param.u32 %r2, [turns];\nld.global.u32 %r4, [%rd1];\n" \
	     "again:\nsub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra again;\nmul.lo.u32 %r4, %r4, 10;\nadd.u32 %r4, %r4, %r1;\nst.global.u32 [%rd1], %r4;\nret;\n}\n"

static void slow(CUfunction f, CUdeviceptr p, uint32_t v, CUstream s)
{
	uint32_t rounds = 20000;
	void *params[] = { &p, &v, &rounds };

	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

/* A copy of another stream changes memory that a running kernel polls. */
static void copy_beside_kernel(void **state)
{
	CUfunction f = emu_test_kernel(POLL, "poll");
	CUdeviceptr p = emu_test_zeroed(64);
	uint32_t *one, result[2];
	void *params[] = { &p };
	CUstream a, b;

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocHost((void **)&one, 4));
	*one = 1;
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, a, params, NULL));
	emu_test_sleep_ms(20);
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	OK(cuMemcpyHtoDAsync(p, one, 4, b));
	OK(cuStreamSynchronize(a));
	OK(cuMemcpyDtoH(result, p, 8));
	assert_int_equal(result[1], 2);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuMemFreeHost(one));
	OK(cuMemFree(p));
}

/* A stream blocked in a wait blocks itself only, and what is behind it waits. */
static void wait_value(void **state)
{
	CUfunction f = emu_test_kernel(SLOW, "slow");
	CUdeviceptr p = emu_test_zeroed(64), q = emu_test_zeroed(64);
	uint32_t v;
	CUstream a, b;

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSynchronize());
	OK(cuStreamWaitValue32(a, p, 5, CU_STREAM_WAIT_VALUE_GEQ));
	slow(f, q, 1, a);
	slow(f, q + 4, 7, b);
	OK(cuStreamSynchronize(b));
	OK(cuMemcpyDtoHAsync(&v, q + 4, 4, b));
	assert_int_equal(v, 7);
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	OK(cuStreamWriteValue32(b, p, 4, 0));
	OK(cuStreamSynchronize(b));
	emu_test_sleep_ms(10);
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	OK(cuStreamWriteValue32(b, p, 6, 0));
	OK(cuStreamSynchronize(a));
	OK(cuMemcpyDtoH(&v, q, 4));
	assert_int_equal(v, 1);
	/* the other comparisons, and the wrap of GEQ */
	OK(cuStreamWriteValue64(a, p, 0x8000000000000001ull, 0));
	OK(cuStreamWaitValue64(a, p, 0x8000000000000001ull, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamWaitValue64(a, p, 1, CU_STREAM_WAIT_VALUE_AND));
	OK(cuStreamWaitValue64(a, p, 2, CU_STREAM_WAIT_VALUE_NOR));
	OK(cuStreamWaitValue32(a, p, 0xfffffff0u, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuStreamSynchronize(a));
	assert_int_equal(cuStreamWaitValue32(a, p + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamWriteValue32(a, 4096, 1, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

/* The wall clock as the device sees it, seconds ahead: who waited for a time of it would wait as
 * long as when it is set back. */
static _Atomic time_t wall_ahead;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long rc = syscall(SYS_clock_gettime, clock, ts);

	if (rc == 0 && clock == CLOCK_REALTIME)
		ts->tv_sec += wall_ahead;
	return (int)rc;
}

/* Nobody tells the device of what the host writes: it looks, whatever becomes of the wall clock. */
static void value_of_the_host(void **state)
{
	volatile uint32_t *value;
	CUresult rc = CUDA_ERROR_NOT_READY;
	CUstream a;

	(void)state;
	OK(cuMemHostAlloc((void **)&value, 4, 0));
	*value = 0;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	wall_ahead = 3600;
	OK(cuStreamWaitValue32(a, (CUdeviceptr)(uintptr_t)value, 1, 0));
	emu_test_sleep_ms(10);
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	*value = 1;
	for (int i = 0; i < 1000 && rc == CUDA_ERROR_NOT_READY; i++) {
		emu_test_sleep_ms(5);
		rc = cuStreamQuery(a);
	}
	wall_ahead = 0;
	assert_int_equal(rc, CUDA_SUCCESS);
	OK(cuStreamDestroy(a));
	OK(cuMemFreeHost((void *)(uintptr_t)value));
}

/* Work of blocking streams and of the legacy default stream keeps its order; a non-blocking stream
 * does not take part. */
static void legacy_order(void **state)
{
	CUfunction f = emu_test_kernel(SLOW, "slow");
	CUdeviceptr p = emu_test_zeroed(64), barrier = emu_test_zeroed(64);
	CUstream a, b, n;
	uint32_t v;

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&n, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSynchronize());
	OK(cuStreamWaitValue32(a, barrier, 1, 0));
	slow(f, p, 1, a);
	slow(f, p, 2, NULL); /* behind a */
	slow(f, p, 3, b);    /* behind the default stream */
	emu_test_sleep_ms(10);
	assert_int_equal(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	slow(f, p + 8, 9, n); /* free */
	OK(cuStreamSynchronize(n));
	OK(cuStreamWriteValue32(n, barrier, 1, 0));
	OK(cuStreamSynchronize(b));
	OK(cuMemcpyDtoH(&v, p, 4));
	assert_int_equal(v, 123);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuStreamDestroy(n));
}

static void count_host(void *data)
{
	(*(volatile int *)data)++;
}

static void events_and_host_functions(void **state)
{
	CUfunction f = emu_test_kernel(SLOW, "slow");
	CUdeviceptr p = emu_test_zeroed(64), barrier = emu_test_zeroed(64);
	CUevent start, end, quiet;
	CUstream a, b;
	uint32_t v;
	int calls = 0;
	float ms;

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreateWithPriority(&b, CU_STREAM_NON_BLOCKING, -3));
	OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
	OK(cuCtxSynchronize());
	OK(cuEventQuery(start)); /* never recorded: complete */
	OK(cuStreamWaitValue32(a, barrier, 1, 0));
	OK(cuEventRecord(start, a));
	slow(f, p, 1, a);
	OK(cuLaunchHostFunc(a, count_host, &calls));
	OK(cuEventRecord(end, a));
	OK(cuStreamWaitEvent(b, end, 0));
	slow(f, p, 2, b);
	emu_test_sleep_ms(10);
	assert_int_equal(cuEventQuery(end), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
	assert_int_equal(calls, 0);
	OK(cuMemcpyHtoD(barrier, &(uint32_t) { 1 }, 4));
	OK(cuStreamSynchronize(b));
	OK(cuEventSynchronize(end));
	assert_int_equal(calls, 1);
	OK(cuEventElapsedTime(&ms, start, end));
	assert_true(ms > 0 && ms < 10000);
	assert_int_equal(cuEventElapsedTime(&ms, quiet, end), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemcpyDtoH(&v, p, 4));
	assert_int_equal(v, 12);
	OK(cuEventDestroy(start));
	OK(cuEventDestroy(end));
	OK(cuEventDestroy(quiet));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

/* A kernel starts although the stream ahead has one waiting, and even beside one that is running.
 */
static void kernels_beside(void **state)
{
	CUfunction poll = emu_test_kernel(POLL, "poll"), f = emu_test_kernel(SLOW, "slow");
	CUdeviceptr p = emu_test_zeroed(64);
	void *params[] = { &p };
	CUstream a, b;
	uint32_t v[2];

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(poll, 1, 1, 1, 32, 1, 1, 0, a, params, NULL));
	slow(f, p, 1, b); /* what the poller waits for */
	OK(cuStreamSynchronize(a));
	OK(cuMemcpyDtoH(v, p, 8));
	assert_int_equal(v[1], 2);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void copies(void **state)
{
	CUdeviceptr p = emu_test_zeroed(4096), q = emu_test_zeroed(4096);
	uint32_t h[1024];
	CUDA_MEMCPY2D c = { 0 };
	size_t size;
	CUdeviceptr base;
	unsigned int type;

	(void)state;
	OK(cuMemsetD32(p, 0x01020304, 1024));
	OK(cuMemsetD16(p + 8, 0xabcd, 3));
	OK(cuMemcpyDtoD(q, p, 4096));
	OK(cuMemcpyDtoH(h, q, 4096));
	assert_int_equal(h[0], 0x01020304);
	assert_int_equal(h[2], 0xabcdabcd);
	assert_int_equal(h[3], 0x0102abcd);
	c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.srcDevice = p;
	c.srcPitch = 64;
	c.dstDevice = q;
	c.dstPitch = 128;
	c.WidthInBytes = 8;
	c.Height = 4;
	OK(cuMemsetD8(q, 0, 4096));
	OK(cuMemcpy2D(&c));
	OK(cuMemcpyDtoH(h, q, 4096));
	assert_int_equal(h[32], 0x01020304);
	assert_int_equal(h[34], 0);
	assert_int_equal(cuMemcpyHtoD(p + 4000, h, 200), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemsetD8(p + 4095, 0, 2), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetAddressRange(&base, &size, p + 100));
	assert_true(base == p && size == 4096);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)h),
		CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostRegister(h, sizeof(h), CU_MEMHOSTREGISTER_DEVICEMAP));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)h));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	OK(cuMemHostUnregister(h));
	assert_int_equal(cuMemHostUnregister(h), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	OK(cuMemFree(p));
	assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
}

static void memory_limit(void **state)
{
	size_t before, after, total;
	CUdeviceptr p, q;

	(void)state;
	OK(cuMemGetInfo(&before, &total));
	assert_int_equal(total, 64u << 20);
	OK(cuMemAlloc(&p, 40u << 20));
	OK(cuMemGetInfo(&after, &total));
	assert_int_equal(before - after, 40u << 20);
	assert_int_equal(cuMemAlloc(&q, 40u << 20), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree(p));
	OK(cuMemAlloc(&q, 40u << 20));
	OK(cuMemFree(q));
}

static void modules(void **state)
{
	static const char text[] = HEAD
		".visible .global .align 4 .u32 table[4] = {1, 2, 3, 4};\n.const .f32 c = 0f3f800000;\n"
		".global .u64 where = generic(table)+4;\n"
		".visible .entry k(.param .u64 o, .param .u8 b, .param .align 8 .b8 s[24])\n{\n.reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
		"ld.param.u64 %rd1, [o];\nld.global.u64 %rd2, [where];\nld.u32 %r1, [%rd2+4];\nld.param.u8 %r2, [b];\nadd.u32 %r1, %r1, %r2;\n"
		"ld.param.u32 %r2, [s+20];\nadd.u32 %r1, %r1, %r2;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
		".visible .entry bad()\n{\nfrobnicate.u32 5;\nret;\n}\n";
	struct {
		uint32_t v[6];
	} s = { { 0, 0, 0, 0, 0, 1000 } };
	struct {
		CUdeviceptr o;
		uint8_t b;
		uint8_t pad[7];
		uint32_t s[6];
	} packed;
	CUdeviceptr o = emu_test_zeroed(64), g;
	uint8_t b = 200;
	void *params[] = { &o, &b, &s };
	char log[256] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) };
	size_t size = sizeof(packed), offset;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			  &size, CU_LAUNCH_PARAM_END };
	CUmodule m;
	CUfunction f;
	CUlibrary lib;
	CUkernel kernel;
	const char *said;
	uint32_t v;
	int n;

	(void)state;
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetGlobal(&g, &size, m, "table"));
	assert_int_equal(size, 16);
	OK(cuModuleGetFunction(&f, m, "k"));
	assert_int_equal(cuModuleGetFunction(&f, m, "nosuch"), CUDA_ERROR_NOT_FOUND);
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuFuncGetParamInfo(f, 2, &offset, &size));
	assert_int_equal(offset, 16);
	assert_int_equal(size, 24);
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&v, o, 4));
	assert_int_equal(v, 3 + 200 + 1000);
	memset(&packed, 0, sizeof(packed));
	packed.o = o;
	packed.b = 1;
	packed.s[5] = 7;
	size = sizeof(packed);
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH(&v, o, 4));
	assert_int_equal(v, 3 + 1 + 7);
	/* another kernel of the module is beyond the device: said when it is used, with instruction
	 * and line */
	OK(cuModuleGetFunction(&f, m, "bad"));
	emu_test_log();
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_ERROR_INVALID_PTX);
	said = emu_test_log();
	if (!strstr(said, "line 22: unknown instruction frobnicate.u32"))
		print_message("%s", said);
	assert_non_null(strstr(said, "line 22: unknown instruction frobnicate.u32"));
	assert_int_equal(
		cuModuleLoadDataEx(&m, ".version 8.0\n.target sm_80\n.address_size 64\n.entry k( {",
				   2, options, values),
		CUDA_ERROR_INVALID_PTX);
	assert_non_null(strstr(log, "line 4"));
	emu_test_log();
	assert_int_equal(cuModuleLoadData(&m, "\x7f"
					      "ELF"),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	OK(cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, lib, "k"));
	OK(cuKernelGetFunction(&f, kernel));
	OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	assert_int_equal(n, 1024);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 256, 0));
	assert_int_equal(n, 2);
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	OK(cuLibraryUnload(lib));
}

#undef cuGetProcAddress
static void entry_points(void **state)
{
	CUdriverProcAddressQueryResult found;
	CUresult (*count)(int *) = NULL;
	const void *table;
	CUuuid id = { { 0 } };
	void *fn, *ptsz;
	int n = 0;

	(void)state;
	OK(cuGetProcAddress_v2("cuDeviceGetCount", (void **)&count, 12000, 0, &found));
	OK(count(&n));
	assert_int_equal(n, 1);
	OK(cuGetProcAddress_v2("cuCtxCreate", &fn, 11000, 0, &found));
	assert_ptr_equal(fn, (void *)cuCtxCreate_v2);
	OK(cuGetProcAddress_v2("cuCtxCreate", &fn, 13000, 0, &found));
	assert_ptr_equal(fn, (void *)cuCtxCreate_v4);
	OK(cuGetProcAddress_v2("cuLaunchKernel", &fn, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
	OK(cuGetProcAddress_v2("cuLaunchKernel", &ptsz, 13000,
			       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &found));
	assert_ptr_equal(ptsz, (void *)cuLaunchKernel_ptsz);
	assert_ptr_not_equal(fn, ptsz);
	OK(cuGetProcAddress_v2("cuKernelGetName", &fn, 12000, 0, &found));
	assert_int_equal(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_int_equal(cuGetProcAddress("cuNoSuchThing", &fn, 13000, 0), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
}

/* The per-thread default stream does not wait for the legacy one's neighbours that are
 * non-blocking, nor they for it. */
static void per_thread_stream(void **state)
{
	CUdeviceptr p = emu_test_zeroed(64);
	unsigned long long legacy, mine;
	uint32_t v = 0;

	(void)state;
	OK(cuStreamGetId(NULL, &legacy));
	OK(cuStreamGetId_ptsz(NULL, &mine));
	assert_true(legacy != mine);
	OK(cuMemsetD32Async_ptsz(p, 42, 1, NULL));
	OK(cuMemcpyDtoH_v2_ptds(&v, p, 4));
	assert_int_equal(v, 42);
}

static void bad_arguments(void **state)
{
	CUfunction f = emu_test_kernel(SLOW, "slow");
	CUdeviceptr p = emu_test_zeroed(64);
	uint32_t one = 1;
	void *params[] = { &p, &one, &one };
	CUstream s;
	int v;

	(void)state;
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 0, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 64 << 10, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuLaunchCooperativeKernel(f, 5, 1, 1, 1, 1, 1, 0, NULL, params),
			 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	OK(cuLaunchCooperativeKernel(f, 4, 1, 1, 1, 1, 1, 0, NULL, params));
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 64 << 10, NULL, params, NULL));
	assert_int_equal(cuDeviceGetAttribute(&v, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1),
			 CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_int_equal(v, 2);
	assert_int_equal(cuStreamCreate(&s, 77), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSynchronize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_beside_kernel),
		cmocka_unit_test(wait_value),
		cmocka_unit_test(value_of_the_host),
		cmocka_unit_test(legacy_order),
		cmocka_unit_test(events_and_host_functions),
		cmocka_unit_test(kernels_beside),
		cmocka_unit_test(copies),
		cmocka_unit_test(memory_limit),
		cmocka_unit_test(modules),
		cmocka_unit_test(entry_points),
		cmocka_unit_test(per_thread_stream),
		cmocka_unit_test(bad_arguments),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, emu_test_begin, emu_test_end);
}
