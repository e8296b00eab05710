/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies in chunks; see chunks.h. */
#define _GNU_SOURCE
#include "device/shim/copy/chunks.h"

#include <pthread.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/channels.h"
#include "device/shim/context/context.h"
#include "device/shim/context/copy_barrier.h"
#include "device/shim/context/order.h"

/* Smaller ones are nobody's concern: they take no longer than the driver needs for the call. */
#define RUN_LEAST (UINT64_C(64) << 10)
/* Copies between such addresses are the fastest. */
#define ALIGNED_BYTES 4096

static size_t bytes_of(const struct shim_copy *c)
{
	return c->units * c->unit_bytes;
}

/* ---- how it may go ------------------------------------------------------------- */

struct memory {
	unsigned int type; /* 0: the driver does not know it: it is pageable */
	CUdeviceptr start;
	size_t size;
	unsigned int managed;
};

static struct memory memory_at(CUdeviceptr at)
{
	CUpointer_attribute what[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
				       CU_POINTER_ATTRIBUTE_RANGE_SIZE,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED };
	struct memory m = { 0 };
	void *to[] = { &m.type, &m.start, &m.size, &m.managed };

	if (REAL(cuPointerGetAttributes)(4, what, to, at) != CUDA_SUCCESS)
		m.type = 0;
	return m;
}

static int is_within(const struct shim_copy_end *end, const struct memory *m)
{
	return end->at >= m->start && end->bytes <= m->size &&
	       end->at - m->start <= m->size - end->bytes;
}

enum going { AS_IT_IS, BY_THREAD, BY_STREAM };

/*
 * What the driver would refuse it is to refuse as a whole, so that nothing is copied: all of a
 * copy that is cut lies in memory that the driver knows, or in pageable memory, which it cannot
 * check either.
 */
static enum going going(const struct shim_copy *c)
{
	struct shim_copy_end dst = { c->dst, c->units }, src = { c->src, c->units };
	int there = c->way == GS_COPY_TO_DEVICE;
	const struct shim_copy_end *host = c->box ? &c->host : there ? &src : &dst;
	const struct shim_copy_end *device = c->box ? &c->device : there ? &dst : &src;
	struct memory m;
	int pinned = 0;

	if (device->bytes) {
		m = memory_at(device->at);
		if (m.type != CU_MEMORYTYPE_DEVICE || m.managed || !is_within(device, &m))
			return AS_IT_IS;
	}
	m = memory_at(host->at);
	if (m.type) {
		pinned = m.type == CU_MEMORYTYPE_HOST && !m.managed && is_within(host, &m);
		if (!pinned)
			return AS_IT_IS;
	}
	return pinned && !c->waits ? BY_STREAM : BY_THREAD;
}

/* ---- making it ------------------------------------------------------------------- */

static CUresult part(const struct shim_copy *c, size_t from, size_t n)
{
	CUresult rc;

	shim_barrier_enter(c->legacy);
	rc = c->part(c, from, n);
	shim_barrier_leave(c->legacy);
	return rc;
}

/* Of the chunk that begins there; of one chunk that is all there is no group ends. */
static size_t units_at(const struct shim_copy *c, size_t from, size_t most)
{
	size_t n = c->units - from < most ? c->units - from : most;

	return c->group && n < c->units && n > c->group - from % c->group ?
		       c->group - from % c->group :
		       n;
}

/* Of each of so many chunks, which are about the same. */
static size_t chunk_units(const struct shim_copy *c, uint32_t chunks)
{
	size_t units = (c->units + chunks - 1) / chunks;

	return c->unit_bytes > 1 ? units :
				   (units + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES;
}

/* So many chunks of at most so many units. */
static uint32_t count_chunks(const struct shim_copy *c, size_t units)
{
	size_t group = c->group ? c->group : c->units, n = (group + units - 1) / units;

	n *= c->units / group;
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* One operation of a batch: write that value there, or wait until it is at least that. */
static void add_op(CUstreamBatchMemOpParams *op, unsigned int *n, int wait, CUdeviceptr at,
		   uint32_t value)
{
	memset(&op[*n], 0, sizeof(op[*n]));
	op[*n].waitValue.operation =
		wait ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
	op[*n].waitValue.address = at;
	op[*n].waitValue.value = value;
	op[*n].waitValue.flags = wait ? CU_STREAM_WAIT_VALUE_GEQ : 0;
	++*n;
}

/*
 * Where nothing is left in its stream before it, a copy waits only for the engine. It is marked as
 * begun at once: the GPU's own mark would come with the engine, up to a time slice of the driver
 * later, and until then the others would not be held back.
 */
static void say_begun_if_first(struct shim_session *s, const struct shim_copy *c, int i)
{
	CUstreamCaptureMode mode;
	CUresult rc;

	shim_capture_relax(&mode);
	rc = REAL(cuStreamQuery)(c->stream);
	shim_capture_restore(mode);
	if (rc == CUDA_SUCCESS)
		gs_page_store(s->page->copies.run[i].state, GS_COPY_BEGUN);
}

/* A run whose marks the GPU writes; each chunk after a wait for the barrier, if the run waits. */
static CUresult by_stream(struct shim_session *s, const struct shim_copy *c,
			  const struct shim_context *ctx, int i, const struct shim_copy_run *run,
			  size_t units)
{
	CUdeviceptr copies = ctx->page + offsetof(struct gs_page, copies);
	CUdeviceptr at =
		copies + offsetof(struct gs_copies, run) + sizeof(struct gs_copy_run) * (size_t)i;
	CUdeviceptr barrier = copies + offsetof(struct gs_copies, open) + 4 * (size_t)c->way;
	CUstreamBatchMemOpParams op[2];
	CUresult rc = CUDA_SUCCESS;
	unsigned int n = 0;
	uint32_t done = 0;

	add_op(op, &n, 0, at + offsetof(struct gs_copy_run, state), GS_COPY_BEGUN);
	for (size_t from = 0, len; from < c->units && rc == CUDA_SUCCESS; from += len) {
		len = units_at(c, from, units);
		shim_barrier_enter_with_copies(c->legacy);
		if (run->waits)
			add_op(op, &n, 1, barrier, 1);
		if (n)
			rc = REAL(cuStreamBatchMemOp_v2)(c->stream, n, op, 0);
		/* A stream that takes no such operations, or no stream: as without us. */
		if (rc != CUDA_SUCCESS && !from) {
			len = c->units;
			rc = CUDA_SUCCESS;
		}
		if (rc == CUDA_SUCCESS)
			rc = c->part(c, from, len);
		shim_barrier_leave(c->legacy);
		n = 0;
		if (++done < run->chunks)
			add_op(op, &n, 0, at + offsetof(struct gs_copy_run, done), done);
	}
	n = 0;
	add_op(op, &n, 0, at + offsetof(struct gs_copy_run, done), run->chunks);
	/* Without its marks it is over as far as anybody knows. */
	if (REAL(cuStreamBatchMemOp_v2)(c->stream, n, op, 0) != CUDA_SUCCESS)
		shim_copy_run_end(s, i);
	return rc;
}

static CUresult by_thread(struct shim_session *s, const struct shim_copy *c, int i, int waits,
			  size_t units)
{
	struct gs_copy_run *run = &s->page->copies.run[i];
	CUresult rc = CUDA_SUCCESS;
	uint32_t done = 0;

	gs_page_store(run->state, GS_COPY_BEGUN);
	for (size_t from = 0, len; from < c->units && rc == CUDA_SUCCESS; from += len) {
		len = units_at(c, from, units);
		if (waits)
			shim_copy_barrier_wait(s, c->way);
		rc = part(c, from, len);
		/* The driver may only have put it aside for the GPU: then the next one would wait
		 * for nothing. */
		if (rc == CUDA_SUCCESS && waits && !c->waits && from + len < c->units)
			rc = REAL(cuStreamSynchronize)(c->stream);
		/* Not the last one: a run that is done may be another's at once. */
		if (++done < gs_page_load(run->chunks))
			gs_page_store(run->done, done);
	}
	shim_copy_run_end(s, i);
	return rc;
}

/* Once: how many there are the reports say. */
static void say(const struct shim_copy *c, uint32_t chunks, enum going go)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		shim_log("others copy, too: a copy of %zu KiB goes out in chunks, %u of them, by "
			 "the %s; so do those after it",
			 bytes_of(c) >> 10, chunks, go == BY_STREAM ? "GPU" : "program's thread");
}

/*
 * Makes a copy as the rule says, with a run in the page. Under GS_COPY_FIRST no other client
 * copies, so nobody waits for this copy: the GPU need not mark it, and the driver is not asked
 * about its stream and its memory.
 */
static CUresult run(struct shim_session *s, struct shim_copy *c, enum gs_copy_rule rule,
		    size_t chunk)
{
	int cut = rule == GS_COPY_CUT && bytes_of(c) > 2 * chunk;
	enum going go = rule == GS_COPY_FIRST ? BY_THREAD : going(c);
	struct shim_context *ctx = go == BY_STREAM ? shim_context_known(s) : NULL;
	size_t units = !cut || !chunk        ? c->units :
		       chunk / c->unit_bytes ? chunk / c->unit_bytes :
					       1;
	struct shim_copy_run r = { .chunks = units < c->units ? count_chunks(c, units) : 1 };
	struct shim_stream *in;
	CUresult rc;
	int i;

	/* With few connections a stream that waits at the barrier would hold up all others. */
	if (go == AS_IT_IS ||
	    (go == BY_STREAM && !(ctx && ctx->may_preenqueue && shim_channels_busy())))
		return part(c, 0, c->units);
	if (go == BY_STREAM) {
		r.ctx = ctx->ctx;
		r.waits = cut;
		r.legacy = cut && shim_stream_is_legacy(c->stream);
	}
	i = shim_copy_run_begin(s, c->way, bytes_of(c), c->group ? r.chunks : 1, &r);
	if (i < 0)
		return part(c, 0, c->units);
	if (go == BY_STREAM)
		say_begun_if_first(s, c, i);
	gs_page_request(s->page);
	if (cut)
		say(c, r.chunks, go);
	if (go == BY_THREAD)
		return by_thread(s, c, i, cut, units);
	if (!c->group)
		units = chunk_units(c, r.chunks);
	if (c->stream == CU_STREAM_PER_THREAD)
		shim_channels_thread();
	in = shim_channel_enter(s, c->stream);
	rc = by_stream(s, c, ctx, i, &r, units);
	shim_channel_leave(in);
	return rc;
}

CUresult shim_copy_make(struct shim_copy *c)
{
	struct shim_session *s = shim_session_peek();
	const struct gs_copies *copies = s ? &s->page->copies : NULL;
	uint64_t since = c->waits ? gs_clock_ns() : 0;
	size_t bytes = bytes_of(c);
	enum gs_copy_rule rule = GS_COPY_FREE;
	CUresult rc;
	int cancels;

	if (s && c->way < GS_COPY_ENGINES && bytes >= RUN_LEAST)
		rule = (enum gs_copy_rule)gs_page_load(copies->rule[c->way]);
	if (rule != GS_COPY_FREE && !shim_capturing(c->stream)) {
		size_t chunk = (size_t)gs_page_load(copies->chunk_kib[c->way]) << 10;

		/* A thread that was cancelled meanwhile would never end its run. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
		rc = run(s, c, rule, chunk);
		pthread_setcancelstate(cancels, NULL);
	} else {
		rc = part(c, 0, c->units);
	}
	if (rc == CUDA_SUCCESS)
		shim_copy_count(c->way, bytes, since);
	return rc;
}
