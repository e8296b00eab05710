/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * churn CASE [ROUNDS]: contexts and modules one after another and side by side.
 *
 * The driver gives the handle of what is destroyed to the next of its kind, so
 * whoever keeps something by a handle takes one object for another: here everything comes
 * and goes, with kernels that are evicted meanwhile.  The kernels are steps of
 * generators, whose words tell how often and in which order they ran.  Cases: turns,
 * alternate, pending, primary, threads, modules; exit status 1 when something is not as it must be.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define WORDS 4096
#define BYTES (WORDS * sizeof(uint32_t))
#define THREADS 32
#define SPIN 300u
#define LIMIT_S 100

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
#define KERNEL(name, mul, add) \
	".visible .entry " name "(.param .u64 p, .param .u32 spin)\n" \
	"{\n" \
	"	.reg .pred %p1;\n" \
	"	.reg .b32 %r<8>;\n" \
	"	.reg .b64 %rd<4>;\n" \
	"	ld.param.u64 %rd1, [p];\n" \
	"	ld.param.u32 %r1, [spin];\n" \
	"	mov.u32 %r2, %ctaid.x;\n" \
	"	mov.u32 %r3, %ntid.x;\n" \
	"	mov.u32 %r4, %tid.x;\n" \
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n" \
	"	cvta.to.global.u64 %rd2, %rd1;\n" \
	"	mul.wide.u32 %rd3, %r5, 4;\n" \
	"	add.s64 %rd2, %rd2, %rd3;\n" \
	"	ld.global.u32 %r6, [%rd2];\n" \
	"	mov.u32 %r7, 0;\n" \
	"AGAIN:\n" \
	"	mad.lo.s32 %r6, %r6, " mul ", " add ";\n" \
	"	add.s32 %r7, %r7, 1;\n" \
	"	setp.lt.u32 %p1, %r7, %r1;\n" \
	"	@%p1 bra AGAIN;\n" \
	"	st.global.u32 [%rd2], %r6;\n" \
	"	ret;\n" \
	"}\n"

/* The same names for other kernels, in another order: what is known of a handle, even by its name,
 * may not hold. */
static const char *const ptx[2] = {
	HEAD ".visible .global .align 4 .b8 room[65536];\n" KERNEL("lcg", "1664525", "1013904223")
		KERNEL("other", "22695477", "1"),
	HEAD KERNEL("other", "1103515245", "12345") KERNEL("lcg", "69069", "5"),
};
static const uint32_t step[2][2][2] = {
	/* module, kernel (lcg, other): mul, add */
	{ { 1664525u, 1013904223u }, { 22695477u, 1u } },
	{ { 69069u, 5u }, { 1103515245u, 12345u } },
};

struct work {
	int which; /* module */
	int count; /* launches so far */
	CUcontext ctx;
	CUmodule module;
	CUfunction kernel[2]; /* lcg, other */
	CUstream stream[4];   /* the default one, a blocking one, two that are not */
	CUevent event[2];
	CUgraphExec exec;
	CUdeviceptr d;
	uint32_t *host;    /* page-locked: goes with the context */
	uint32_t mul, add; /* what all launches so far make of a word */
};

static void count(struct work *w, int kernel, uint32_t spin)
{
	for (uint32_t i = 0; i < spin; i++) {
		w->mul *= step[w->which][kernel][0];
		w->add = w->add * step[w->which][kernel][0] + step[w->which][kernel][1];
	}
	w->count++;
}

/* kernel 0 takes long enough to be evicted, the other one goes as it is. */
static void launch(struct work *w, int kernel, CUstream stream)
{
	uint32_t spin = kernel ? 1 : SPIN;
	void *params[] = { &w->d, &spin };

	CHECK(cuLaunchKernel(w->kernel[kernel], WORDS / THREADS, 1, 1, THREADS, 1, 1, 0, stream,
			     params, NULL));
}

/* A handle from a list: no call has told the shim which kernel it is of. */
static void from_list(struct work *w)
{
	CUfunction f[2];
	const char *name;

	CHECK(cuModuleEnumerateFunctions(f, 2, w->module));
	for (int i = 0; i < 2; i++) {
		CHECK(cuFuncGetName(&name, f[i]));
		w->kernel[strcmp(name, "other") == 0] = f[i];
	}
}

/* In the current context. */
static void begin(struct work *w, int which)
{
	memset(w, 0, sizeof(*w));
	w->which = which & 1;
	w->mul = 1;
	CHECK(cuCtxGetCurrent(&w->ctx));
	CHECK(cuModuleLoadData(&w->module, ptx[w->which]));
	if (which & 4)
		from_list(w);
	for (int i = 0; i < 2 && !(which & 4); i++) /* their order, too */
		CHECK(cuModuleGetFunction(&w->kernel[i ^ (which >> 1 & 1)], w->module,
					  i ^ (which >> 1 & 1) ? "other" : "lcg"));
	CHECK(cuStreamCreate(&w->stream[1], CU_STREAM_DEFAULT));
	CHECK(cuStreamCreate(&w->stream[2], CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&w->stream[3], CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&w->event[0], CU_EVENT_DEFAULT));
	CHECK(cuEventCreate(&w->event[1], CU_EVENT_DEFAULT));
	CHECK(cuMemAlloc(&w->d, BYTES));
	CHECK(cuMemAllocHost((void **)&w->host, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		w->host[i] = i;
	CHECK(cuMemcpyHtoD(w->d, w->host, BYTES));
}

static void begin_new(struct work *w, int which)
{
	CUcontext ctx;

	CHECK(cuCtxCreate(&ctx, NULL, 0, 0));
	begin(w, which);
	expect(ctx == w->ctx, "the context that was made is current");
}

/* Launches of both kinds in one stream after another, each behind the last one's event. */
static void compute(struct work *w, int launches)
{
	CUstream last = w->stream[w->count % 4];

	for (int i = 0; i < launches; i++) {
		CUstream stream = w->stream[w->count % 4];
		int kernel = w->count % 3 != 0;

		if (stream != last) {
			CHECK(cuEventRecord(w->event[i & 1], last));
			CHECK(cuStreamWaitEvent(stream, w->event[i & 1], 0));
		}
		launch(w, kernel, stream);
		count(w, kernel, kernel ? 1 : SPIN);
		last = stream;
	}
	CHECK(cuCtxSynchronize());
}

static void graph(struct work *w)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture(w->stream[2], CU_STREAM_CAPTURE_MODE_RELAXED));
	launch(w, 1, w->stream[2]);
	launch(w, 0, w->stream[2]);
	CHECK(cuStreamEndCapture(w->stream[2], &graph));
	CHECK(cuGraphInstantiate(&w->exec, graph, 0));
	CHECK(cuGraphDestroy(graph));
	for (int i = 0; i < 2; i++) {
		CHECK(cuGraphLaunch(w->exec, w->stream[2]));
		count(w, 1, 1);
		count(w, 0, SPIN);
	}
	CHECK(cuStreamSynchronize(w->stream[2]));
}

static void verify(struct work *w, const char *what)
{
	int wrong = 0;

	CHECK(cuMemcpyDtoH(w->host, w->d, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		wrong += w->host[i] != w->mul * i + w->add;
	expect(!wrong, what);
}

/* What the program gives back before its context; the rest goes with that. */
static void put_back(struct work *w, int order)
{
	if (w->exec && order & 1)
		CHECK(cuGraphExecDestroy(w->exec));
	for (int i = 0; i < 2 && order & 2; i++)
		CHECK(cuEventDestroy(w->event[i ^ (order & 1)]));
	for (int i = 1; i < 4 && order & 4; i++)
		CHECK(cuStreamDestroy(w->stream[order & 1 ? i : 4 - i]));
	if (order & 8)
		CHECK(cuModuleUnload(w->module));
	if (order & 16) {
		CHECK(cuMemFree(w->d));
		CHECK(cuMemFreeHost(w->host));
	}
}

static void own_rounds(int from, int rounds)
{
	struct work w;

	for (int i = from; i < from + rounds; i++) {
		begin_new(&w, i);
		compute(&w, i % 5 == 4 ? 70 : 6 + i % 3);
		if (i & 1)
			graph(&w);
		verify(&w, "kernels in a context of their own");
		put_back(&w, i);
		CHECK(cuCtxDestroy(w.ctx));
	}
}

/* Up to four at a time; each is destroyed while the others are used, and replaced. */
static void alternate(int rounds)
{
	struct work w[4];
	CUcontext popped;

	for (int i = 0; i < 4; i++) {
		begin_new(&w[i], i);
		CHECK(cuCtxPopCurrent(&popped));
	}
	for (int i = 0; i < rounds; i++) {
		int gone = i * 7 % 4;

		for (int k = 0; k < 4; k++) {
			CHECK(cuCtxPushCurrent(w[k].ctx));
			compute(&w[k], 3);
			CHECK(cuCtxPopCurrent(&popped));
		}
		CHECK(cuCtxPushCurrent(w[gone].ctx));
		verify(&w[gone], "kernels of one context between those of others");
		put_back(&w[gone], i * 5);
		if (i & 1)
			CHECK(cuCtxPopCurrent(&popped));
		CHECK(cuCtxDestroy(w[gone].ctx));
		begin_new(&w[gone], i + 1);
		CHECK(cuCtxPopCurrent(&popped));
	}
	for (int k = 0; k < 4; k++)
		CHECK(cuCtxDestroy(w[k].ctx));
}

/* Nobody waits for the kernels before their context goes. */
static void pending(int rounds)
{
	struct work w;

	for (int i = 0; i < rounds; i++) {
		begin_new(&w, i);
		compute(&w, 2);
		verify(&w, "kernels behind a context that went with its kernels");
		for (int k = 0; k < 1 + i % 7; k++)
			launch(&w, (i + k) % 3 == 0, w.stream[(i + k) % 4]);
		if (i % 4 == 3)
			usleep(2000);
		put_back(&w, i & 7);
		CHECK(cuCtxDestroy(w.ctx));
	}
}

/* The primary context, which is reset or released; one of the program's own may get its handle. */
static void primary(int rounds)
{
	struct work w, own;
	CUcontext ctx;

	for (int i = 0; i < rounds; i++) {
		CHECK(cuDevicePrimaryCtxRetain(&ctx, 0));
		CHECK(cuCtxSetCurrent(ctx));
		begin(&w, i);
		compute(&w, 5);
		verify(&w, "kernels in the primary context");
		put_back(&w, i * 3);
		CHECK(cuCtxSetCurrent(NULL));
		if (i & 1)
			CHECK(cuDevicePrimaryCtxReset(0));
		else
			CHECK(cuDevicePrimaryCtxRelease(0));
		begin_new(&own, i);
		compute(&own, 3);
		/* There is no primary one any more: this is none of the other's business. */
		if (i & 2)
			CHECK(cuDevicePrimaryCtxReset(0));
		compute(&own, 3);
		verify(&own, "kernels in a context with the handle of the primary one");
		CHECK(cuCtxDestroy(own.ctx));
	}
}

/* What is added is a variable of the module, which is elsewhere each time that it is loaded. */
static const char variable[] = HEAD ".visible .global .align 4 .u32 plus;\n"
				    ".visible .entry lcg(.param .u64 p, .param .u32 spin)\n"
				    "{\n"
				    "	.reg .pred %p1;\n"
				    "	.reg .b32 %r<9>;\n"
				    "	.reg .b64 %rd<5>;\n"
				    "	ld.param.u64 %rd1, [p];\n"
				    "	ld.param.u32 %r1, [spin];\n"
				    "	mov.u32 %r2, %ctaid.x;\n"
				    "	mov.u32 %r3, %ntid.x;\n"
				    "	mov.u32 %r4, %tid.x;\n"
				    "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
				    "	cvta.to.global.u64 %rd2, %rd1;\n"
				    "	mul.wide.u32 %rd3, %r5, 4;\n"
				    "	add.s64 %rd2, %rd2, %rd3;\n"
				    "	ld.global.u32 %r6, [%rd2];\n"
				    "	mov.u64 %rd4, plus;\n"
				    "	mov.u32 %r7, 0;\n"
				    "AGAIN:\n"
				    "	ld.global.u32 %r8, [%rd4];\n"
				    "	mad.lo.s32 %r6, %r6, 69069, %r8;\n"
				    "	add.s32 %r7, %r7, 1;\n"
				    "	setp.lt.u32 %p1, %r7, %r1;\n"
				    "	@%p1 bra AGAIN;\n"
				    "	st.global.u32 [%rd2], %r6;\n"
				    "	ret;\n"
				    "}\n";

/* One module is loaded and unloaded again and again. */
static void modules(int rounds)
{
	struct work w;

	begin_new(&w, 0);
	for (int i = 0; i < 4 * rounds; i++) {
		uint32_t plus = 2 * (uint32_t)i + 1, spin = SPIN;
		void *params[] = { &w.d, &spin };
		CUdeviceptr moves, address;
		CUmodule module;
		CUfunction f;
		size_t bytes;

		CHECK(cuMemAlloc(&moves, 4096 * (size_t)(1 + i % 5)));
		CHECK(cuModuleLoadData(&module, variable));
		CHECK(cuModuleGetFunction(&f, module, "lcg"));
		CHECK(cuModuleGetGlobal(&address, &bytes, module, "plus"));
		CHECK(cuMemcpyHtoD(address, &plus, sizeof(plus)));
		for (int k = 0; k < 1 + i % 3; k++) {
			CHECK(cuLaunchKernel(f, WORDS / THREADS, 1, 1, THREADS, 1, 1, 0,
					     w.stream[i % 4], params, NULL));
			for (uint32_t n = 0; n < spin; n++) {
				w.mul *= 69069u;
				w.add = w.add * 69069u + plus;
			}
		}
		CHECK(cuCtxSynchronize());
		verify(&w, "kernels of a module that is loaded again and again");
		CHECK(cuModuleUnload(module));
		CHECK(cuMemFree(moves));
	}
	CHECK(cuCtxDestroy(w.ctx));
}

struct half {
	int from, rounds;
};

static void *half(void *arg)
{
	const struct half *h = arg;

	own_rounds(h->from, h->rounds);
	pending(h->rounds / 2);
	return NULL;
}

static void threads(int rounds)
{
	struct half h[2] = { { 0, rounds / 2 }, { 1001, rounds / 2 } };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, half, &h[i]))
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* What a context may still allocate, in one of its own. */
static size_t room(void)
{
	size_t free_bytes, total;
	CUcontext ctx;

	CHECK(cuCtxCreate(&ctx, NULL, 0, 0));
	CHECK(cuMemGetInfo(&free_bytes, &total));
	CHECK(cuCtxDestroy(ctx));
	return free_bytes;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int rounds = argc > 2 ? atoi(argv[2]) : 12;
	size_t before, after;

	alarm(LIMIT_S); /* a deadlock is a failure too */
	CHECK(cuInit(0));
	before = room();
	if (strcmp(name, "turns") == 0)
		own_rounds(0, rounds);
	else if (strcmp(name, "alternate") == 0)
		alternate(rounds);
	else if (strcmp(name, "pending") == 0)
		pending(rounds);
	else if (strcmp(name, "primary") == 0)
		primary(rounds);
	else if (strcmp(name, "threads") == 0)
		threads(rounds);
	else if (strcmp(name, "modules") == 0)
		modules(rounds);
	else
		return 2;
	after = room();
	if (before != after)
		fprintf(stderr, "free before: %zu, after: %zu\n", before, after);
	expect(before == after, "all memory is back");
	printf("%s: %s\n", name, failures ? "FAILED" : "right");
	return failures != 0;
}
