/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measuring the eviction signals; see signal.h.  A kernel of two blocks: one
 * waits for the resident limit in device memory to become 0, as workers do, the
 * other, if asked to, watches host memory and then writes that limit, as a proxy
 * does (seed 000, section 6.3).  Both give up after LIMIT_NS, so whatever
 * goes wrong is over by then, and the rule of auto stays what it is unmeasured.
 */
#define _GNU_SOURCE
#include "device/shim/signal.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/shim/loading.h"
#include "device/shim/memory.h"
#include "device/shim/pool.h"
#include "device/shim/wraps.h"
#include "gpushare/proto/signal.h"

#define LIMIT_NS (10 * GS_NS_PER_MS) /* as in the kernel */
#define SETTLE_NS 20000              /* both blocks are polling by then */
#define SPIN_NS 200000               /* a GPU has answered by then; an emulated one may need our core */
#define WARM_ROUNDS 1
#define ROUNDS 5
#define FAILURES 8 /* of all rounds together: under load the answer may come late; 180 ms at most */

/* The words of page.probe: watched by the proxy; the worker has begun; it has left. */
enum { TOLD, BEGUN, LEFT };
/* LEFT: by the signal, or in vain. */
enum { LEFT_TOLD = 1, LEFT_IN_VAIN };

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry gpushare_signal(.param .u64 limit, .param .u64 words, .param .u32 proxy)\n"
	"{\n"
	"	.reg .pred %p<4>;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .b64 %rd<6>;\n"
	"	ld.param.u64 %rd1, [limit];\n"
	"	ld.param.u64 %rd2, [words];\n"
	"	ld.param.u32 %r1, [proxy];\n"
	"	mov.u64 %rd3, %globaltimer;\n"
	"	add.s64 %rd3, %rd3, 10000000;\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, 1;\n"
	"	setp.eq.u32 %p1, %r2, 0;\n"
	"	@%p1 bra PROXY;\n"
	"	st.volatile.global.u32 [%rd2+4], %r3;\n"
	"WORK:\n"
	"	ld.volatile.global.u32 %r4, [%rd1];\n"
	"	setp.eq.u32 %p2, %r4, 0;\n"
	"	@%p2 bra LEAVE;\n"
	"	mov.u64 %rd4, %globaltimer;\n"
	"	setp.lt.u64 %p3, %rd4, %rd3;\n"
	"	@%p3 bra WORK;\n"
	"	mov.u32 %r3, 2;\n"
	"LEAVE:\n"
	"	st.volatile.global.u32 [%rd2+8], %r3;\n"
	"	ret;\n"
	"PROXY:\n"
	"	setp.eq.u32 %p2, %r1, 0;\n"
	"	@%p2 bra END;\n"
	"WATCH:\n"
	"	ld.volatile.global.u32 %r4, [%rd2];\n"
	"	setp.ne.u32 %p2, %r4, 0;\n"
	"	@%p2 bra PASS_ON;\n"
	"	mov.u64 %rd4, %globaltimer;\n"
	"	setp.lt.u64 %p3, %rd4, %rd3;\n"
	"	@%p3 bra WATCH;\n"
	"	bra END;\n"
	"PASS_ON:\n"
	"	mov.u32 %r5, 0;\n"
	"	st.volatile.global.u32 [%rd1], %r5;\n"
	"END:\n"
	"	ret;\n"
	"}\n";

struct probe {
	struct shim_context *ctx;
	struct gs_page *page;
	_Atomic uint32_t *word;  /* its probe */
	CUdeviceptr limit;       /* behind the launches' control blocks */
	CUfunction kernel;
	int failures;            /* so many rounds may fail still */
};

/* Wait until the word is not 0; its value, or 0 when the kernel should long have given up. */
static uint32_t await(_Atomic uint32_t *word)
{
	uint64_t from = gs_clock_ns(), now = from;
	uint32_t v;

	while (!(v = gs_page_load(*word)) && now - from < 2 * LIMIT_NS) {
		if (now - from < SPIN_NS)
			__builtin_ia32_pause();
		else
			sched_yield();
		now = gs_clock_ns();
	}
	return v;
}

static CUresult give(const struct probe *p, enum gs_signal signal)
{
	CUstreamBatchMemOpParams op;

	switch (signal) {
	case GS_SIGNAL_PROXY:
		gs_page_store(p->word[TOLD], 1);
		return CUDA_SUCCESS;
	case GS_SIGNAL_DMA:
		return REAL(cuMemcpyHtoDAsync_v2)(p->limit, &p->ctx->word[0], sizeof(uint32_t),
						  p->ctx->control);
	default:
		memset(&op, 0, sizeof(op));
		op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
		op.writeValue.address = p->limit;
		return REAL(cuStreamBatchMemOp_v2)(p->ctx->control, 1, &op, 0);
	}
}

/* One round, ns; 0: it failed. */
static uint32_t measure_once(const struct probe *p, enum gs_signal signal)
{
	CUdeviceptr limit = p->limit, words = p->ctx->page + offsetof(struct gs_page, probe);
	unsigned int proxy = signal == GS_SIGNAL_PROXY;
	void *params[] = { &limit, &words, &proxy };
	uint64_t from, until;

	for (int i = 0; i <= LEFT; i++)
		gs_page_store(p->word[i], 0);
	if (REAL(cuStreamWriteValue32_v2)(p->ctx->relaunch, limit, 1, 0) != CUDA_SUCCESS ||
	    REAL(cuLaunchKernel)(p->kernel, 2, 1, 1, 1, 1, 1, 0, p->ctx->relaunch, params, NULL) != CUDA_SUCCESS ||
	    !await(&p->word[BEGUN]))
		return 0;
	until = gs_clock_ns() + SETTLE_NS;
	while ((from = gs_clock_ns()) < until)
		__builtin_ia32_pause();
	if (give(p, signal) != CUDA_SUCCESS || await(&p->word[LEFT]) != LEFT_TOLD)
		return 0;
	from = gs_clock_ns() - from;
	return from < GS_SIGNAL_NS_MIN ? GS_SIGNAL_NS_MIN : (uint32_t)from;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The median of the rounds, or 0. */
static uint32_t measure_signal(struct probe *p, enum gs_signal signal)
{
	uint32_t ns[ROUNDS + WARM_ROUNDS];

	for (int i = 0; i < ROUNDS + WARM_ROUNDS;) {
		ns[i] = measure_once(p, signal);
		if (ns[i]) {
			i++;
			continue;
		}
		if (p->failures-- == 0 || !gs_page_load(p->page->turn) || gs_page_waited_for(p->page))
			return 0;
		/* The kernel gives up by itself, and a signal that is late is not the next round's. */
		REAL(cuStreamSynchronize)(p->ctx->relaunch);
		REAL(cuStreamSynchronize)(p->ctx->control);
	}
	qsort(&ns[WARM_ROUNDS], ROUNDS, sizeof(ns[0]), by_size);
	return ns[WARM_ROUNDS + ROUNDS / 2];
}

static CUresult get_word(struct shim_context *c)
{
	uint32_t *word = NULL;
	CUresult rc;

	if (c->word)
		return CUDA_SUCCESS;
	rc = REAL(cuMemAllocHost_v2)((void **)&word, 2 * sizeof(*word));
	if (rc != CUDA_SUCCESS)
		return rc;
	word[0] = 0;
	word[1] = SHIM_NO_LIMIT;
	c->word = word;
	return CUDA_SUCCESS;
}

static int measure_all(struct shim_session *s, struct shim_context *c, struct gs_signal_times *t)
{
	struct probe p = { .ctx = c, .page = s->page, .word = s->page->probe,
			   .limit = c->ctl + GS_PAGE_STUBS * sizeof(struct gs_ctl),
			   .failures = FAILURES };
	CUmodule module = NULL;
	CUresult rc;

	shim_gate_enter(0);
	rc = REAL(cuModuleLoadData)(&module, ptx);
	if (rc == CUDA_SUCCESS)
		shim_load_module(module);
	shim_gate_leave(0);
	if (rc != CUDA_SUCCESS)
		return -1;
	if (REAL(cuModuleGetFunction)(&p.kernel, module, "gpushare_signal") == CUDA_SUCCESS &&
	    get_word(c) == CUDA_SUCCESS) {
		t->memop_ns = measure_signal(&p, GS_SIGNAL_MEMOP);
		t->dma_ns = t->memop_ns ? measure_signal(&p, GS_SIGNAL_DMA) : 0;
		t->proxy_ns = t->dma_ns ? measure_signal(&p, GS_SIGNAL_PROXY) : 0;
	}
	/* What gave up late has left before its code goes. */
	REAL(cuStreamSynchronize)(c->relaunch);
	SHIM_GATED(REAL(cuModuleUnload)(module));
	return t->proxy_ns ? 0 : -1;
}

void shim_signal_measure(struct shim_session *s, struct shim_context *c)
{
	struct gs_signal_times t = { 0 };
	uint64_t from;

	/* Never again: each launch would ask, and none ride at once. */
	if (shim_capture_used())
		s->measure = 0;
	if (!s->measure || !gs_page_load(s->page->turn) ||
	    gs_page_waited_for(s->page) || shim_launch_reap(s) ||
	    !atomic_exchange(&s->measure, 0))
		return;
	from = gs_clock_ns();
	if (measure_all(s, c, &t) < 0)
		t = (struct gs_signal_times){ 0 };
	s->signal_times = t;
	shim_log("eviction signals: proxy %u, memop %u, dma %u ns (0: failed), measured in %llu us",
		 t.proxy_ns, t.memop_ns, t.dma_ns,
		 (unsigned long long)((gs_clock_ns() - from) / GS_NS_PER_US));
	gs_client_signals(s->client, &t);
}

int shim_signal_by_copy(const struct shim_session *s, const struct shim_context *c)
{
	struct gs_signal_times t = s->signal_times;

	return c->word && (s->signal == GS_SIGNAL_DMA ||
			   (s->signal == GS_SIGNAL_AUTO && gs_signal_dma_pays(&t)));
}
