/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order CASE: what a program may rely on while its kernels are evicted.
 *
 * The kernel maps each word to the next of a linear congruential generator,
 * many times over: a block-task that ran twice, not at all, or after what was
 * enqueued behind it leaves a wrong word.  Most of its time it sleeps, so that the programs of one
 * machine's tests take their time on the emulated device and not the machine's.  Cases: streams,
 * crowd, order, legacy, calls, many, short, one, graphs, fork, orphan, stay; exit status 1 when one
 * is not as it must be.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define WORDS 16384
#define BYTES (WORDS * sizeof(uint32_t))
#define THREADS 64
#define STEPS 40u /* of the generator, for each time that a block-task sleeps */
#define LIMIT_S 100

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry lcg(.param .u64 p, .param .u32 times, .param .u32 steps)\n"
	"{\n"
	"	.reg .pred %p1;\n"
	"	.reg .b32 %r<10>;\n"
	"	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [times];\n"
	"	ld.param.u32 %r8, [steps];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	cvta.to.global.u64 %rd2, %rd1;\n"
	"	mul.wide.u32 %rd3, %r5, 4;\n"
	"	add.s64 %rd2, %rd2, %rd3;\n"
	"	ld.global.u32 %r6, [%rd2];\n"
	"TIMES:\n"
	"	setp.eq.u32 %p1, %r1, 0;\n"
	"	@%p1 bra STEPS;\n"
	"	nanosleep.u32 100000;\n"
	"	sub.u32 %r1, %r1, 1;\n"
	"STEPS:\n"
	"	mov.u32 %r7, 0;\n"
	"AGAIN:\n"
	"	mad.lo.s32 %r6, %r6, 1664525, 1013904223;\n"
	"	add.s32 %r7, %r7, 1;\n"
	"	setp.lt.u32 %p1, %r7, %r8;\n"
	"	@%p1 bra AGAIN;\n"
	"	setp.ne.u32 %p1, %r1, 0;\n"
	"	@%p1 bra TIMES;\n"
	"	st.global.u32 [%rd2], %r6;\n"
	"	ret;\n"
	"}\n";

static CUcontext ctx;
static CUfunction kernel;
static uint32_t mul = 1, add; /* STEPS steps of the generator in one */
static void start(void)
{
	CUmodule module;

	for (unsigned int i = 0; i < STEPS; i++) {
		mul *= 1664525u;
		add = add * 1664525u + 1013904223u;
	}
	kernel = start_with(ptx, "lcg", &module);
	CHECK(cuCtxGetCurrent(&ctx));
}

/* As long as so many, and with the same result. */
static void launch_long(CUdeviceptr p, CUstream stream, int times)
{
	uint32_t n = (uint32_t)times, steps = STEPS;
	void *params[] = { &p, &n, &steps };

	CHECK(cuLaunchKernel(kernel, WORDS / THREADS, 1, 1, THREADS, 1, 1, 0, stream, params,
			     NULL));
}

static void launch(CUdeviceptr p, CUstream stream)
{
	launch_long(p, stream, 1);
}

static uint32_t *words(uint32_t seed)
{
	void *p;

	CHECK(cuMemAllocHost(&p, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		((uint32_t *)p)[i] = seed + i;
	return p;
}

static CUdeviceptr device_words(void)
{
	CUdeviceptr p;

	CHECK(cuMemAlloc(&p, BYTES));
	return p;
}

/* Is every word what `times` kernels make of it? */
static int right(const uint32_t *w, uint32_t seed, int times)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		uint32_t x = seed + i;

		for (int t = 0; t < times; t++)
			x = mul * x + add;
		if (w[i] != x)
			return 0;
	}
	return 1;
}

/*
 * Threads, each with a stream of another kind.  They launch once all have what they need, and
 * release it when nobody launches any more: what is launched beside a call that must not meet a
 * blocked kernel cannot leave, and meanwhile nothing of the program does.
 */
static pthread_barrier_t together;

static void *one_stream(void *arg)
{
	int which = (int)(intptr_t)arg;
	uint32_t *in, *out;
	CUstream stream = NULL;
	CUdeviceptr d;

	CHECK(cuCtxSetCurrent(ctx));
	in = words((uint32_t)which);
	out = words(0);
	d = device_words();
	if (which == 1)
		CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	else if (which == 2)
		CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	else if (which == 3)
		stream = CU_STREAM_PER_THREAD;
	pthread_barrier_wait(&together);
	for (int i = 0; i < 3; i++) {
		memset(out, 0, BYTES);
		CHECK(cuMemcpyHtoDAsync(d, in, BYTES, stream));
		launch(d, stream);
		launch(d, stream);
		CHECK(cuMemcpyDtoHAsync(out, d, BYTES, stream));
		CHECK(cuStreamSynchronize(stream));
		expect(right(out, (uint32_t)which, 2),
		       "two kernels and a copy in each of four streams");
	}
	pthread_barrier_wait(&together);
	CHECK(cuMemFree(d));
	return NULL;
}

static void streams(int n)
{
	pthread_t thread[4];

	pthread_barrier_init(&together, NULL, (unsigned int)n);
	for (intptr_t i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, one_stream, (void *)i))
			exit(1);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

/* What is behind a kernel: a copy, a host function, an event, another stream. */
static uint32_t *seen_by_host;
static atomic_int host_ran;

static void host(void *unused)
{
	(void)unused;
	expect(right(seen_by_host, 5, 1), "a host function runs after the kernel before it");
	host_ran++;
}

static void CUDAAPI callback(CUstream stream, CUresult rc, void *arg)
{
	(void)stream;
	(void)rc;
	host(arg);
}

static void behind(int i, CUstream stream, CUstream other, const uint32_t *in, uint32_t *late)
{
	static CUdeviceptr a, b;
	static CUevent event;

	if (!a) {
		a = device_words();
		b = device_words();
		CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	}
	CHECK(cuMemcpyHtoDAsync(a, in, BYTES, stream));
	launch(a, stream);
	CHECK(cuMemcpyDtoHAsync(seen_by_host, a, BYTES, stream));
	if (i & 2)
		CHECK(cuLaunchHostFunc(stream, host, NULL));
	else
		CHECK(cuStreamAddCallback(stream, callback, NULL, 0));
	CHECK(cuMemcpyDtoDAsync(b, a, BYTES, stream));
	CHECK(cuEventRecord(event, stream));
	CHECK(cuMemsetD8Async(a, 0xff, BYTES, stream));
	CHECK(cuStreamWaitEvent(other, event, 0));
	launch(b, other);
	CHECK(cuMemcpyDtoHAsync(late, b, BYTES, other));
	CHECK(cuStreamSynchronize(other));
	expect(right(late, 5, 2), "a kernel behind another stream's event");
	expect(cuEventQuery(event) == CUDA_SUCCESS, "the event is over by then");
	CHECK(cuStreamSynchronize(stream));
	expect(host_ran == i + 1, "every host function has run");
}

static void order(void)
{
	uint32_t *in = words(5), *late = words(0);
	CUstream free_running, blocking, other;

	seen_by_host = words(0);
	CHECK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 8; i++)
		behind(i, i & 1 ? blocking : free_running, other, in, late);
}

/*
 * More streams at work than a context has channels: if the one in which evicted kernels go on
 * shared one with a stream that waits for them, nothing would end
 * (src/device/shim/context/channels.h).
 */
#define CROWD 14
static void crowd(void)
{
	CUstream stream[CROWD];
	CUdeviceptr d[CROWD];
	uint32_t *w[CROWD];

	for (uint32_t i = 0; i < CROWD; i++) {
		w[i] = words(i);
		d[i] = device_words();
		CHECK(cuStreamCreate(&stream[i],
				     i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		CHECK(cuMemcpyHtoD(d[i], w[i], BYTES));
	}
	for (int n = 0; n < 2; n++)
		for (int i = 0; i < CROWD; i++)
			launch_long(d[i], stream[i], 2);
	for (uint32_t i = 0; i < CROWD; i++) {
		CHECK(cuMemcpyDtoHAsync(w[i], d[i], BYTES, stream[i]));
		CHECK(cuStreamSynchronize(stream[i]));
		expect(right(w[i], i, 4), "two long kernels in each of many streams");
	}
}

/* Blocking streams and the legacy default stream wait for each other. */
static void legacy(void)
{
	uint32_t *w = words(9);
	CUdeviceptr d = device_words();
	CUstream a, b;

	CHECK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	CHECK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
	for (int i = 0; i < 5; i++) {
		for (uint32_t k = 0; k < WORDS; k++)
			w[k] = 9 + k;
		CHECK(cuMemcpyHtoD(d, w, BYTES));
		launch(d, a);
		launch(d, NULL);
		launch(d, b);
		launch(d, NULL);
		CHECK(cuMemcpyDtoH(w, d, BYTES));
		expect(right(w, 9, 4), "four kernels in three streams, in order");
	}
}

/* Calls that may block inside the driver, from threads beside the kernels. */
static atomic_int calls_over;

static void *calls_beside(void *unused)
{
	(void)unused;
	CHECK(cuCtxSetCurrent(ctx));
	for (int i = 0; !calls_over; i++) {
		size_t free_bytes, total;
		uint32_t back[16];
		CUmodule module;
		CUstream stream;
		CUevent event;
		CUdeviceptr d;
		void *h;

		CHECK(cuMemAlloc(&d, 4096));
		CHECK(cuMemsetD32(d, 7, 16));
		CHECK(cuMemcpyDtoH(back, d, sizeof(back)));
		expect(back[15] == 7, "a small buffer of a thread beside");
		CHECK(cuMemFree(d));
		CHECK(cuModuleLoadData(&module, ptx));
		CHECK(cuModuleUnload(module));
		CHECK(cuStreamCreate(&stream, i & 1));
		CHECK(cuEventCreate(&event, 0));
		CHECK(cuEventRecord(event, stream));
		CHECK(cuEventSynchronize(event));
		CHECK(cuEventDestroy(event));
		CHECK(cuStreamDestroy(stream));
		CHECK(cuMemGetInfo(&free_bytes, &total));
		CHECK(cuMemAllocHost(&h, 4096));
		CHECK(cuMemFreeHost(h));
		CHECK(cuCtxSynchronize());
	}
	return NULL;
}

static void calls(void)
{
	pthread_t beside[2];

	pthread_barrier_init(&together, NULL, 1);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&beside[i], NULL, calls_beside, NULL))
			exit(1);
	one_stream((void *)(intptr_t)1);
	one_stream((void *)(intptr_t)0);
	calls_over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(beside[i], NULL);
}

static void many(int n)
{
	uint32_t *w = words(1);
	CUdeviceptr d = device_words();

	CHECK(cuMemcpyHtoD(d, w, BYTES));
	for (int i = 0; i < n; i++)
		launch(d, NULL);
	CHECK(cuMemcpyDtoH(w, d, BYTES));
	expect(right(w, 1, n), "a long queue of kernels");
}

/* So short that most of them go without marks; it stays as long as the file is there. */
static void briefly(int n, const char *file)
{
	uint32_t *w = words(1), times = 0, steps = 1, x = 1;
	CUdeviceptr d = device_words();
	void *params[] = { &d, &times, &steps };

	CHECK(cuMemcpyHtoD(d, w, BYTES));
	for (int i = 0; i < n; i++) {
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
		x = x * 1664525u + 1013904223u;
	}
	CHECK(cuMemcpyDtoH(w, d, BYTES));
	expect(w[0] == x, "a long queue of short kernels");
	while (file && access(file, F_OK) == 0)
		usleep(5000);
}

/* One long kernel, which is waited for in the driver, and another one. */
static void one(int n)
{
	uint32_t *in = words(1), *out = words(0);
	CUdeviceptr d = device_words();
	CUstream stream;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemcpyHtoDAsync(d, in, BYTES, stream));
	launch_long(d, stream, n);
	CHECK(cuMemcpyDtoHAsync(out, d, BYTES, stream));
	CHECK(cuStreamSynchronize(stream));
	expect(right(out, 1, n), "a long kernel");
	printf("the long one: %s\n", failures ? "FAILED" : "right");
	fflush(stdout);
	launch(d, stream);
	CHECK(cuMemcpyDtoHAsync(out, d, BYTES, stream));
	CHECK(cuStreamSynchronize(stream));
	expect(right(out, 1, n + 1), "a kernel after a long one");
}

/* A graph again and again: it is left as it is. */
static void graphs(int n)
{
	uint32_t *w = words(7);
	CUdeviceptr d = device_words();
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	CHECK(cuMemcpyHtoD(d, w, BYTES));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(d, stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < n; i++)
		CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemcpyDtoH(w, d, BYTES));
	expect(right(w, 7, n), "a long queue of graphs");
}

/* Children that exit and that run another program, while kernels are out. */
static void forks(void)
{
	uint32_t *w = words(3);
	CUdeviceptr d = device_words();
	int status;

	CHECK(cuMemcpyHtoD(d, w, BYTES));
	for (int i = 0; i < 4; i++) {
		pid_t child;

		launch(d, NULL);
		launch(d, NULL);
		child = fork();
		if (child == 0 && i & 1)
			exit(3);
		if (child == 0) {
			execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
			_exit(4);
		}
		waitpid(child, &status, 0);
		expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the child ends as it wants");
	}
	CHECK(cuMemcpyDtoH(w, d, BYTES));
	expect(right(w, 3, 8), "the parent's kernels do not mind");
}

/* It is killed in the middle of its kernels; a child that it forked lives on. */
static void orphan(void)
{
	CUdeviceptr d = device_words();

	for (int i = 0; i < 60; i++)
		launch(d, NULL);
	if (fork() == 0) {
		sleep(4);
		_exit(0);
	}
	usleep(300 * 1000);
	kill(getpid(), SIGKILL);
}

/* Block-tasks that take minutes: nothing makes it leave. busy: of the machine's time, too. */
static void stay(int busy)
{
	CUdeviceptr d = device_words();
	uint32_t times = busy ? 0 : UINT32_MAX, steps = busy ? UINT32_MAX : 1;
	void *params[] = { &d, &times, &steps };

	CHECK(cuLaunchKernel(kernel, WORDS / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	alarm(LIMIT_S); /* a deadlock is a failure too */
	start();
	if (strcmp(name, "streams") == 0)
		streams(4);
	else if (strcmp(name, "crowd") == 0)
		crowd();
	else if (strcmp(name, "order") == 0)
		order();
	else if (strcmp(name, "legacy") == 0)
		legacy();
	else if (strcmp(name, "calls") == 0)
		calls();
	else if (strcmp(name, "many") == 0)
		many(argc > 2 ? atoi(argv[2]) : 60);
	else if (strcmp(name, "short") == 0)
		briefly(argc > 2 ? atoi(argv[2]) : 3000, argc > 3 ? argv[3] : NULL);
	else if (strcmp(name, "one") == 0)
		one(argc > 2 ? atoi(argv[2]) : 60);
	else if (strcmp(name, "graphs") == 0)
		graphs(argc > 2 ? atoi(argv[2]) : 40);
	else if (strcmp(name, "fork") == 0)
		forks();
	else if (strcmp(name, "stay") == 0)
		stay(argc > 2 && strcmp(argv[2], "busy") == 0);
	else if (strcmp(name, "orphan") == 0)
		orphan();
	else
		return 2;
	printf("%s: %s\n", name, failures ? "FAILED" : "right");
	return failures != 0;
}
