/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a request to an evictable launch; see request.h. */
#define _GNU_SOURCE
#include "device/shim/request.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/shim/channels.h"
#include "device/shim/force.h"
#include "device/shim/order.h"
#include "device/shim/queue.h"
#include "device/shim/untracked.h"
#include "device/shim/wraps.h"

/*
 * A shorter kernel is not worth evicting: it leaves by itself about as soon
 * as a hand-over takes (135 us between contexts on an H200, facts/h200.md).
 */
#define SHORT_PS (300ull * 1000 * 1000)
/*
 * While nobody else uses the GPU, what is over soon anyway goes out as the program wrote it; and
 * while no other client has come to the GPU, what adds little to the time that one that comes takes
 * for its context (untracked.h).
 */
#define SHORT_ALONE_PS (2000ull * 1000 * 1000)
#define SHORT_ONLY_PS (SHIM_ALONE_NS * 1000)
/* From TOEVICT until the workers see it, by a proxy (facts/h200.md). */
#define SIGNAL_NS 7000
/* A kernel of fewer waves of block-tasks might take one more for want of the proxy's worker. */
#define PROXY_WAVES 16

uint64_t shim_request_ps(const struct shim_request *r)
{
	return r->time->tpt_ps * r->tasks;
}

int shim_request_is_short(const struct shim_session *s, const struct shim_request *r)
{
	uint64_t ps = shim_request_ps(r), most = SHORT_ALONE_PS;

	/* Whoever forces evictions wants to see them. */
	if (s->alone)
		return ps && ps < SHORT_PS && !shim_force_counts(s);
	if (shim_queue_is_short(s->page) || gs_page_load(s->page->shared))
		most = SHORT_PS;
	else if (gs_page_load(s->page->only) &&
		 !shim_channels_several()) /* in many streams many would be out (queue.c) */
		most = SHORT_ONLY_PS;
	return ps && ps < most;
}

/* In the place of the blocks: the original is kept. */
#define KEPT 0xffff

/* How many blocks of `f` an SM holds; 0: none, or the driver does not say. */
static uint32_t fitting(CUfunction f, uint32_t threads, const struct shim_request *r)
{
	int blocks = 0;
	CUresult rc = REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, f, (int)threads,
									r->shared);

	return rc == CUDA_SUCCESS && blocks > 0 && blocks < KEPT ? (uint32_t)blocks : 0;
}

/* What an SM holds of the variant, or KEPT where that is too few; 0: not known. */
static uint32_t variants_blocks(const struct shim_kernel *k, const struct shim_variant *v,
				uint32_t threads, const struct shim_request *r)
{
	uint32_t variant = fitting(v->f, threads, r), own = fitting(k->original, threads, r);

	if (!ptx_variant_costs_blocks(own, variant))
		return variant;
	shim_log("kernel %s: of %u threads, %u blocks fit on an SM, but %u of its variant",
		 k->code->name, threads, own, variant);
	return KEPT;
}

/* Workers of the variant: as many blocks as the GPU holds at once; 0: it is not to be launched. */
static unsigned int workers_of(const struct shim_kernel *k, struct shim_variant *v,
			       const struct shim_request *r)
{
	uint32_t threads = r->block[0] * r->block[1] * r->block[2];
	uint64_t key = (uint64_t)threads << 44 | (uint64_t)r->shared << 16;
	uint64_t known = v->occupancy;
	uint32_t blocks = (uint32_t)(known & 0xffff);

	if ((known & ~UINT64_C(0xffff)) != key || !blocks) {
		blocks = variants_blocks(k, v, threads, r);
		v->occupancy = key | blocks;
	}
	return blocks == KEPT ? 0 : blocks * (unsigned int)v->ctx->sms;
}

/* The parameter block: the program's parameters, then the control block's address. */
static int pack_params(struct shim_launch *l, const struct shim_request *r)
{
	const struct shim_layout *p = &l->variant->params;
	size_t len = p->ctl_offset + sizeof(CUdeviceptr);
	CUdeviceptr ctl = shim_launch_ctl(l, 0);

	if (r->params && r->extra) /* an error of the program's */
		return -1;
	if (l->packed.room < len) {
		unsigned char *grown = realloc(l->packed.bytes, len);

		if (!grown)
			return -1;
		l->packed.bytes = grown;
		l->packed.room = len;
	}
	l->packed.len = len;
	memset(l->packed.bytes, 0, len);
	if (r->params) {
		for (uint32_t i = 0; i < p->nparam; i++)
			memcpy(l->packed.bytes + p->offset[i], r->params[i], p->size[i]);
	} else if (r->extra) {
		const void *from = NULL;
		size_t n = 0;

		for (void **e = r->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
			if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
				from = e[1];
			else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
				n = *(const size_t *)e[1];
		}
		/* One that is too short the driver refuses. */
		if (!from || (p->nparam && n < p->offset[p->nparam - 1] + p->size[p->nparam - 1]))
			return -1;
		memcpy(l->packed.bytes, from, n < p->ctl_offset ? n : p->ctl_offset);
	} else if (p->nparam) {
		return -1;
	}
	memcpy(l->packed.bytes + p->ctl_offset, &ctl, sizeof(ctl));
	return 0;
}

uint32_t shim_request_aim_ns(const struct shim_session *s)
{
	return gs_page_load(s->page->contended) || gs_page_load(s->page->shared) ?
		       SHIM_CHUNK_CONTENDED_NS :
		       SHIM_CHUNK_AIM_NS;
}

/*
 * The words of the control block that this launch needs otherwise than the
 * last one left them (mostly none), as memory operations of its stream: the
 * front end writes them in order, without a copy engine between two kernels.
 */
static unsigned int ctl_writes(const struct shim_session *s, struct shim_launch *l,
			       const struct shim_request *r, CUstreamBatchMemOpParams *op)
{
	uint32_t aim_ns = shim_request_aim_ns(s);
	struct gs_ctl *image = &l->ctx->image[l->index];
	unsigned int n = 0;

#define UPDATE(bits, field, v) \
	do { \
		if (image->field != (v)) { \
			image->field = (v); \
			memset(&op[n], 0, sizeof(op[n])); \
			op[n].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_##bits; \
			op[n].writeValue.address = \
				shim_launch_ctl(l, offsetof(struct gs_ctl, field)); \
			op[n].writeValue.value64 = (v); \
			n++; \
		} \
	} while (0)
	UPDATE(64, total, l->nt);
	UPDATE(32, nctaid[0], r->grid[0]);
	UPDATE(32, nctaid[1], r->grid[1]);
	UPDATE(32, nctaid[2], r->grid[2]);
	UPDATE(32, workers, l->workers);
	UPDATE(32, proxy, l->proxy);
	UPDATE(32, chunk_ns, aim_ns);
	/* The last launch of this block may have been told to leave as it ended. */
	UPDATE(32, limit, SHIM_NO_LIMIT);
#undef UPDATE
	return n;
}

/*
 * May worker 0 be the proxy?  That takes a worker away: one of several in its
 * SM, whose share the others get, and for one wave more of many at worst.
 */
static int has_proxy(const struct shim_session *s, const struct shim_launch *l)
{
	if (s->signal != GS_SIGNAL_AUTO)
		return s->signal == GS_SIGNAL_PROXY && l->workers > 1;
	return l->workers >= 2 * (unsigned int)l->ctx->sms && l->nt / l->workers >= PROXY_WAVES;
}

void shim_request_grown(struct shim_context *c, uint32_t local_bytes)
{
	uint32_t has = c->local_bytes;

	while (has < local_bytes &&
	       !atomic_compare_exchange_weak(&c->local_bytes, &has, local_bytes))
		;
}

/* None of these is a value that a launch wants: the block's next one writes them all. */
void shim_request_forget(struct shim_launch *l)
{
	struct gs_ctl *image = &l->ctx->image[l->index];

	image->total = 0;
	memset(image->nctaid, 0, sizeof(image->nctaid));
	image->workers = image->chunk_ns = 0;
	image->proxy = UINT32_MAX;
	__atomic_store_n(&image->limit, 0, __ATOMIC_RELEASE);
}

/* The per-thread default streams of two threads are two streams under one name; no stream's address
 * is odd. */
static CUstream own_name(CUstream stream)
{
	static _Atomic uintptr_t threads = 2;
	static __thread uintptr_t mine;

	if (stream != CU_STREAM_PER_THREAD)
		return stream;
	if (!mine)
		mine = atomic_fetch_add(&threads, 1) << 1 | 1;
	return (CUstream)mine;
}

/* Why it cannot go out as a variant whatever the moment; NONE: it can. */
static enum ptx_reason stays(const struct shim_session *s, const struct shim_kernel *k,
			     const struct shim_variant *v, const struct shim_request *r)
{
	if (r->graph)
		return PTX_REASON_GRAPH;
	if (!v)
		return k->code->transform == PTX_TRANSFORM_AS_IS ?
			       (enum ptx_reason)k->code->reason :
			       PTX_REASON_NOT_BUILT;
	if (r->cooperative)
		return PTX_REASON_COOPERATIVE;
	if (r->as_written)
		return PTX_REASON_ARGUMENTS;
	if (v->whole_warps && !(r->block[1] == 1 && r->block[2] == 1) && r->block[0] % 32)
		return PTX_REASON_BLOCK_DIMENSIONS;
	if (!shim_variant_pays(v, gs_page_waited_for(s->page)))
		return PTX_REASON_COSTS;
	return PTX_REASON_NONE;
}

/* The driver's bounds, on every GPU since compute capability 3.0 (CUDA C++ Programming Guide): the
 * variant's own grid is small. */
static int is_grid(const unsigned int grid[3])
{
	return grid[0] <= 0x7fffffff && grid[1] <= 0xffff && grid[2] <= 0xffff;
}

enum ptx_reason shim_request_block(struct shim_session *s, struct shim_launch *l,
				   const struct shim_request *r)
{
	struct shim_kernel *k = l->kernel;
	struct shim_variant *v = shim_variant_in(k->code, l->ctx);
	enum ptx_reason why = stays(s, k, v, r);
	int held;

	if (why == PTX_REASON_NONE)
		why = shim_attributes_take(&l->attributes, r->config);
	if (why != PTX_REASON_NONE)
		return why;
	if (shim_request_is_short(s, r))
		return PTX_REASON_SHORT;
	l->variant = v;
	l->workers = workers_of(k, v, r);
	if (l->workers == 0)
		return PTX_REASON_OCCUPANCY;
	if (l->nt <= l->workers)
		return PTX_REASON_ONE_WAVE;
	if (l->nt >> 62 || !is_grid(r->grid) || pack_params(l, r) < 0)
		return PTX_REASON_ARGUMENTS;
	l->legacy = (uint8_t)shim_stream_is_legacy(r->stream);
	l->stream = own_name(r->stream);
	if (shim_request_grows(l->ctx, v->local_bytes)) {
		l->in_barrier = 1;
		shim_barrier_enter(0);
	}
	held = shim_blocked_begin(l->stream, l->legacy);
	if (held <= 0)
		return held < 0 ? PTX_REASON_BARRIER_RULE : PTX_REASON_STREAMS;
	if (!shim_channel_blocks(s, r->stream, &l->in)) {
		shim_blocked_end(l->stream, l->legacy);
		return PTX_REASON_STREAMS;
	}
	memcpy(l->block, r->block, sizeof(l->block));
	l->shared = r->shared;
	l->proxy = (uint8_t)has_proxy(s, l);
	l->nwrite = ctl_writes(s, l, r, l->write);
	return PTX_REASON_NONE;
}

/* A claim of block-tasks, or one if that is longer, and the signal; 0: not known yet. */
uint64_t shim_request_leave_ns(const struct shim_launch *l)
{
	uint64_t task_ns = l->time->tpt_ps * l->workers / 1000;
	uint64_t claim_ns = 2 * (uint64_t)l->ctx->image[l->index].chunk_ns;

	if (!task_ns)
		return 0;
	return (task_ns > claim_ns ? task_ns : claim_ns) + SIGNAL_NS;
}
