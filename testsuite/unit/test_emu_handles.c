/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles on the emulated device come again as the driver's do, and what is gone is noticed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "emu_util.h"

#define TWO \
	HEAD ".global .align 4 .b8 room[65536];\n.visible .entry one()\n{\nret;\n}\n.visible .entry two()\n{\nret;\n}\n"

struct all {
	CUcontext ctx;
	CUstream stream;
	CUevent event;
	CUmodule module;
	CUfunction function[2];
	CUdeviceptr memory;
};

static struct all make(void)
{
	struct all a;
	void *host;

	OK(cuCtxCreate(&a.ctx, NULL, 0, 0));
	OK(cuStreamCreate(&a.stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&a.event, 0));
	OK(cuModuleLoadData(&a.module, TWO));
	OK(cuModuleGetFunction(&a.function[0], a.module, "one"));
	OK(cuModuleGetFunction(&a.function[1], a.module, "two"));
	OK(cuMemAlloc(&a.memory, 1 << 20));
	OK(cuMemAllocHost(&host, 4096));
	OK(cuLaunchKernel(a.function[0], 1, 1, 1, 1, 1, 1, 0, a.stream, NULL, NULL));
	OK(cuEventRecord(a.event, a.stream));
	return a;
}

static void they_come_again(void **state)
{
	struct all a, b;

	(void)state;
	a = make();
	OK(cuCtxDestroy(a.ctx));
	b = make();
	assert_ptr_equal(a.ctx, b.ctx);
	assert_ptr_equal(a.stream, b.stream);
	assert_ptr_equal(a.event, b.event);
	assert_ptr_equal(a.module, b.module);
	/* The last freed first: one of them is the other now. */
	assert_true(a.function[0] == b.function[1] && a.function[1] == b.function[0]);
	OK(cuStreamCreate(&a.stream, 0));
	OK(cuStreamDestroy(a.stream));
	OK(cuStreamCreate(&b.stream, 0));
	assert_ptr_equal(a.stream, b.stream);
	OK(cuCtxDestroy(b.ctx));
}

static void what_is_gone_is_no_handle(void **state)
{
	struct all a = make();
	float ms;

	(void)state;
	OK(cuCtxDestroy(a.ctx));
	assert_int_equal(cuCtxSetCurrent(a.ctx), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuCtxDestroy(a.ctx), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuEventQuery(a.event), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuEventRecord(a.event, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuEventElapsedTime(&ms, a.event, a.event), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuEventDestroy(a.event), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuStreamQuery(a.stream), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuLaunchKernel(a.function[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuMemFree(a.memory), CUDA_ERROR_INVALID_VALUE);
}

/* An event is of one context, even if another has the current one's handle. */
static void an_event_of_another_context(void **state)
{
	struct all a = make(), b = make();

	(void)state;
	assert_int_equal(cuEventRecord(a.event, b.stream), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventRecord(b.event, b.stream));
	OK(cuCtxDestroy(a.ctx));
	OK(cuEventSynchronize(b.event));
	OK(cuCtxDestroy(b.ctx));
	OK(cuCtxPopCurrent(&a.ctx));
}

static atomic_int step;

static void *beside(void *ctx)
{
	CUstream s;

	OK(cuCtxSetCurrent(ctx));
	step = 1;
	while (step < 2)
		usleep(1000);
	assert_int_equal(cuStreamCreate(&s, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamCreate(&s, 0));
	return NULL;
}

/* What a thread had current is gone for it, too, although its handle is there again. */
static void current_in_a_thread(void **state)
{
	CUcontext first, second;
	pthread_t thread;

	(void)state;
	OK(cuCtxCreate(&first, NULL, 0, 0));
	assert_int_equal(pthread_create(&thread, NULL, beside, first), 0);
	while (step < 1)
		usleep(1000);
	OK(cuCtxDestroy(first));
	OK(cuCtxCreate(&second, NULL, 0, 0));
	assert_ptr_equal(first, second);
	step = 2;
	pthread_join(thread, NULL);
	OK(cuCtxDestroy(second));
}

static void count(void *n)
{
	usleep(5000);
	(*(atomic_int *)n)++;
}

static void work_is_done_first_and_memory_comes_back(void **state)
{
	static atomic_int ran;
	size_t before, after, total;

	(void)state;
	OK(cuMemGetInfo(&before, &total));
	for (int i = 0; i < 100; i++) { /* each has more than 1 of 64 MiB */
		struct all a = make();
		CUgraph graph;

		if (i % 10 == 0) {
			OK(cuLaunchHostFunc(a.stream, count, &ran));
			OK(cuLaunchHostFunc(NULL, count, &ran));
			OK(cuStreamDestroy(a.stream));
			OK(cuStreamCreate(&a.stream, 0));
			OK(cuStreamBeginCapture(a.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
			OK(cuEventRecord(a.event, a.stream));
			if (i % 20) {
				OK(cuStreamEndCapture(a.stream, &graph));
				OK(cuGraphDestroy(graph));
			}
		}
		OK(cuCtxDestroy(a.ctx));
		assert_int_equal(ran, 2 * (i / 10 + 1));
	}
	OK(cuMemGetInfo(&after, &total));
	assert_int_equal(before, after);
}

/* What strict() starts: an event that went with its context is asked about. */
static int request_about_what_is_gone(void)
{
	struct all a;

	alarm(30);
	OK(cuInit(0));
	a = make();
	OK(cuCtxDestroy(a.ctx));
	cuEventQuery(a.event);
	return 0;
}

/*
 * In a program of its own: a forked child of this one would inherit the locks of the allocator's
 * threads as they were, which the address sanitizer's does not put right.
 */
static void strict(void **state)
{
	char *argv[] = { "test_emu_handles", "strict", NULL };
	int status;
	pid_t child;

	(void)state;
	setenv("GPUSHARE_EMU_STRICT", "1", 1);
	assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
	unsetenv("GPUSHARE_EMU_STRICT");
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(emu_test_log(), "call with an event"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_come_again),
		cmocka_unit_test(what_is_gone_is_no_handle),
		cmocka_unit_test(an_event_of_another_context),
		cmocka_unit_test(current_in_a_thread),
		cmocka_unit_test(work_is_done_first_and_memory_comes_back),
		cmocka_unit_test(strict),
	};

	if (argc > 1 && strcmp(argv[1], "strict") == 0)
		return request_about_what_is_gone();
	alarm(60);
	return cmocka_run_group_tests(tests, emu_test_begin, emu_test_end);
}
