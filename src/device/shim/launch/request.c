/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns a request into an evictable launch; see request.h. */
#define _GNU_SOURCE
#include "device/shim/launch/request.h"

#include <stddef.h>
#include <string.h>

#include "device/shim/base/origin.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/channels.h"
#include "device/shim/launch/facts.h"
#include "device/shim/launch/force.h"
#include "device/shim/launch/packed.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/variant/build.h"
#include "device/shim/context/order.h"
#include "device/shim/launch/queue.h"
#include "device/shim/launch/untracked.h"
#include "device/shim/session/own_priority.h"
#include "device/shim/base/wraps.h"

_Static_assert(PTX_REASON_COUNT <= GS_SLOT_WHY_MAX + 1, "a slot's flags have room for it");

/* A shorter kernel is not worth evicting: it ends about as soon as a hand-over is done (135 us
 * between contexts on an H200). */
#define SHORT_PS (300ull * 1000 * 1000)
/*
 * SHORT_ALONE_PS holds while nobody else uses the GPU: such a launch ends soon anyway, so it goes
 * out as written. SHORT_ONLY_PS holds while no other client has come to the GPU: it adds little to
 * the time that a new client needs for its context (untracked.h).
 */
#define SHORT_ALONE_PS (2000ull * 1000 * 1000)
#define SHORT_ONLY_PS (SHIM_ALONE_NS * 1000)
/* From TOEVICT until a proxy has told the workers (H200). */
#define SIGNAL_NS 7000

uint64_t shim_request_tasks(const struct shim_request *r)
{
	return r->graph ? 1 : (uint64_t)r->grid[0] * r->grid[1] * r->grid[2];
}

struct shim_seen shim_request_seen(const struct shim_request *r)
{
	struct shim_seen seen = { r->block[0] * r->block[1] * r->block[2], r->shared, 0 };

	for (unsigned int i = 0; r->config && r->config->attrs && i < r->config->numAttrs; i++) {
		const CUlaunchAttributeValue *v = &r->config->attrs[i].value;

		if (r->config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			seen.cluster = v->clusterDim.x * v->clusterDim.y * v->clusterDim.z;
	}
	return seen;
}

/* Is it so short that it goes out as the program wrote it? */
static int is_short(const struct shim_session *s, const struct shim_request *r)
{
	uint64_t ps = r->time->tpt_ps * r->tasks, most = SHORT_ALONE_PS;

	/* A user who forces evictions wants to see them. */
	if (s->alone)
		return ps && ps < SHORT_PS && !shim_force_counts(s);
	if (shim_queue_is_short(s->page) || gs_page_load(s->page->shared))
		most = SHORT_PS;
	/* with many streams many kernels would be out (queue.c) */
	else if (gs_page_load(s->page->only) && !shim_channels_several())
		most = SHORT_ONLY_PS;
	return ps && ps < most;
}

/* Kernels that take longer are not compared with their variants. */
#define COMPARED_MOST_NS (20 * GS_NS_PER_MS)

/* Stands for a number of blocks: keep the original. */
#define KEPT 0xffff

/* How many blocks of `f` fit on an SM; 0: none, or the driver does not say. */
static uint32_t fitting(CUfunction f, uint32_t threads, const struct shim_request *r)
{
	int blocks = 0;
	CUresult rc = REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, f, (int)threads,
									r->shared);

	return rc == CUDA_SUCCESS && blocks > 0 && blocks < KEPT ? (uint32_t)blocks : 0;
}

/* How many blocks of the variant fit on an SM, or KEPT if these are too few; 0: not known. */
static uint32_t variants_blocks(const struct shim_kernel *k, const struct shim_variant *v,
				uint32_t threads, const struct shim_request *r)
{
	uint32_t variant = fitting(v->f, threads, r),
		 own = shim_facts_blocks(k, threads, r->shared);

	if (!ptx_variant_costs_blocks(own, variant))
		return variant;
	shim_log("kernel %s: of %u threads, %u blocks fit on an SM, but %u of its variant",
		 k->code->name, threads, own, variant);
	return KEPT;
}

/* The workers of the variant: as many blocks as the GPU holds at once; 0: do not launch the
 * variant. */
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

void shim_request_grown(struct shim_context *c, uint32_t local_bytes)
{
	uint32_t has = c->local_bytes;

	while (has < local_bytes &&
	       !atomic_compare_exchange_weak(&c->local_bytes, &has, local_bytes))
		;
}

/* Two threads' per-thread default streams have the same handle, so each thread gets an odd number
 * as its name; no stream's address is odd. */
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

/* Why the launch cannot go out as a variant at all; PTX_REASON_NONE: it can. */
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
	if (v->whole_warps && v->transform == PTX_TRANSFORM_PERSISTENT &&
	    !(r->block[1] == 1 && r->block[2] == 1) && r->block[0] % 32)
		return PTX_REASON_BLOCK_DIMENSIONS;
	/* The emulated device's times are those of an interpreter, and say nothing of a GPU's. */
	if (!shim_variant_pays(v, gs_page_waited_for(s->page)) && !shim_emulated())
		return PTX_REASON_COSTS;
	return PTX_REASON_NONE;
}

/* The driver's bounds for a grid since compute capability 3.0 (CUDA C++ Programming Guide). The
 * variant's own grid may be small, so they must be checked here. */
static int is_grid(const unsigned int grid[3])
{
	return grid[0] <= 0x7fffffff && grid[1] <= 0xffff && grid[2] <= 0xffff;
}

/* Loads what the transform needs; closes the barrier if something must be loaded or local memory
 * must grow first. Returns 0 if the context cannot have it. */
static int is_equipped(struct shim_launch *l)
{
	int is = l->as.transform->equip(l->ctx, 0);

	if (is && !shim_request_grows(l->ctx, l->as.variant->local_bytes))
		return is > 0;
	l->in_barrier = 1;
	shim_barrier_enter(0);
	return (is ? is : l->as.transform->equip(l->ctx, 1)) > 0;
}

/*
 * May the launch go out as written to compare the variant with it? It then stays on the GPU until
 * it ends. So it may only if no client waits that is as urgent or more, if no more urgent one uses
 * the GPU now and then, and if it is short, in case one comes nevertheless.
 */
static int may_compare(const struct shim_session *s, const struct shim_request *r)
{
	uint32_t contended = gs_page_load(s->page->contended);
	uint64_t ns = r->time->tpt_ps * r->tasks / 1000;

	/* beside others it would tell nothing */
	return contended != GS_CONTENDED && contended != GS_CONTENDED_QUEUE &&
	       gs_page_load(s->page->beside) == GS_BESIDE_NOBODY && ns && ns < COMPARED_MOST_NS;
}

/*
 * Does the launch go out as written, to be compared with the variant? Only timed launches take part
 * in the comparison. If this one could, the next one is timed, so that the comparison is over soon,
 * and no client that comes later finds the GPU with a kernel that cannot leave.
 */
static int compares(const struct shim_session *s, const struct shim_launch *l,
		    const struct shim_request *r, struct shim_variant *v)
{
	if (!shim_variant_is_being_compared(v, l->time->dims) || !may_compare(s, r))
		return 0;
	shim_time_next(r->time);
	return l->watch.sampled && shim_variant_compares(v, l->time->dims);
}

/*
 * Would the launch leave too late? Beside a more urgent client that uses the GPU only briefly, the
 * driver's time slices serve that client as well as an eviction does, and a preemptible kernel's
 * own client loses some of its time slices (doc/policies.md).
 */
static int leaves_late(const struct shim_session *s, const struct shim_launch *l)
{
	uint64_t most_us = gs_page_load(s->page->priorities.leave_most_us);

	return most_us && shim_request_leave_ns(l) > most_us * GS_NS_PER_US;
}

/*
 * Tries to make the launch evictable. On PTX_REASON_NONE it is packed, l->as.write has what its
 * control block needs, and its stream is blocked. Otherwise it goes out as written, and the slot
 * says why.
 */
static enum ptx_reason block(struct shim_session *s, struct shim_launch *l,
			     const struct shim_request *r)
{
	struct shim_kernel *k = l->kernel;
	struct shim_variant *v = shim_variant_in(k->code, l->ctx);
	enum ptx_reason why = stays(s, k, v, r);
	int held;

	if (why == PTX_REASON_NONE && compares(s, l, r, v))
		why = PTX_REASON_COMPARED;
	if (why == PTX_REASON_NONE)
		why = shim_attributes_take(&l->as.attributes, r->config, v && v->by_cluster);
	if (why != PTX_REASON_NONE)
		return why;
	if (is_short(s, r))
		return PTX_REASON_SHORT;
	l->as.variant = v;
	l->as.transform = shim_transform_of(v->transform);
	l->as.dims.workers = workers_of(k, v, r);
	if (l->as.dims.workers == 0)
		return PTX_REASON_OCCUPANCY;
	if (l->nt <= l->as.dims.workers)
		return PTX_REASON_ONE_WAVE;
	/* ptxas finds a cluster's index in single precision (device/ptx/guard.h). */
	if (v->by_cluster && r->grid[0] > 1u << 24)
		return PTX_REASON_ARGUMENTS;
	if (!is_grid(r->grid) || shim_pack_params(l, r) < 0 || !l->as.transform->fits(l))
		return PTX_REASON_ARGUMENTS;
	l->streams.legacy = (uint8_t)shim_stream_is_legacy(r->stream);
	l->streams.blocked = own_name(r->stream);
	l->streams.destroyed = atomic_load(&shim_streams_destroyed);
	if (leaves_late(s, l))
		return PTX_REASON_LEAVES_LATE;
	if (!is_equipped(l))
		return PTX_REASON_NO_VARIANT;
	held = shim_blocked_begin(l->streams.blocked, l->streams.legacy);
	if (held <= 0)
		return held < 0 ? PTX_REASON_BARRIER_RULE : PTX_REASON_STREAMS;
	if (!shim_channel_blocks(s, r->stream, &l->streams.in)) {
		shim_blocked_end(l->streams.blocked, l->streams.legacy);
		return PTX_REASON_STREAMS;
	}
	memcpy(l->as.dims.grid, r->grid, sizeof(l->as.dims.grid));
	memcpy(l->as.dims.block, r->block, sizeof(l->as.dims.block));
	l->as.dims.shared = r->shared;
	l->as.transform->prepare(s, l);
	return PTX_REASON_NONE;
}

/* The time of one block, or the time for which it ignores orders if that is longer, and the time of
 * the signal; 0: not known yet. */
uint64_t shim_request_leave_ns(const struct shim_launch *l)
{
	uint64_t task_ns = l->time->tpt_ps * l->as.dims.workers / 1000;

	return task_ns ? l->as.transform->leave_ns(l, task_ns) + SIGNAL_NS : 0;
}

/* Notes for the reports how many waves a launch has, if it is long or may be. */
static void note(const struct shim_session *s, struct shim_launch *l, const struct shim_request *r,
		 uint64_t takes_ns)
{
	l->at_once = 0;
	if (r->graph || (takes_ns && takes_ns <= s->variant_min_ns))
		return;
	l->at_once =
		(uint32_t)l->ctx->sms *
		shim_facts_blocks(l->kernel, r->block[0] * r->block[1] * r->block[2], r->shared);
	shim_facts_launch(s, l->kernel->code, l->nt, l->at_once, takes_ns);
}

static uint32_t divides(const struct shim_launch *l)
{
	return l->evictable && l->as.transform->divides ? GS_SLOT_DIVIDES : 0;
}

/* Others need not wait for the end of such a kernel, which may be a collective's. A graph's blocks
 * are not known. */
static uint32_t few(const struct shim_request *r, const struct shim_context *c)
{
	return !r->graph && 2 * shim_request_tasks(r) <= (uint64_t)c->sms ? GS_SLOT_FEW : 0;
}

void shim_request_prepare(struct shim_session *s, struct shim_launch *l, struct shim_context *c,
			  struct shim_kernel *k, const struct shim_request *r)
{
	uint64_t n = atomic_fetch_add(&r->time->tracked, 1) + shim_time_untracked(r->time);
	uint64_t takes_ns = r->time->tpt_ps * r->tasks / 1000;
	uint32_t dims = r->graph ? 0 :
				   gs_slot_dims(r->block[0], r->block[1], r->block[2],
						shim_size(shim_request_tasks(r)));
	enum ptx_reason why;
	uint64_t untracked_ns, seq;

	l->ctx = c;
	l->kernel = k;
	l->time = r->time;
	l->nt = shim_request_tasks(r);
	l->tasks = r->tasks;
	l->watch.sampled = shim_time_take(r->time, n, takes_ns, gs_page_load(s->page->shared) != 0);
	note(s, l, r, takes_ns);
	why = block(s, l, r);
	l->evictable = why == PTX_REASON_NONE;
	if (why == PTX_REASON_NOT_BUILT) {
		struct shim_seen seen = shim_request_seen(r);

		shim_build_consider(s, k, c, r->time, &seen, takes_ns);
	}
	if (l->evictable) {
		atomic_fetch_add(&k->evictable_launches, 1);
		shim_facts_used(k->code);
	} else {
		l->as.variant = NULL;
		atomic_store_explicit(&k->why, why, memory_order_relaxed);
	}
	gs_page_store(l->slot->started, 0);
	/* Write the flags first, since that clears GS_SLOT_TIMED. */
	gs_page_store(l->slot->flags,
		      (l->evictable ? GS_SLOT_EVICTABLE : (uint32_t)why << GS_SLOT_WHY_SHIFT) |
			      few(r, c) | divides(l) | dims << GS_SLOT_DIMS_SHIFT);
	shim_own_priority_say(s->page, l->index, r->priority);
	gs_page_store(l->slot->kernel, k->code->number);
	gs_page_store(l->slot->nt, l->nt);
	gs_page_store(l->slot->done, 0);
	gs_page_store(l->slot->alone_ns, takes_ns);
	gs_page_store(l->slot->evictions, 0);
	seq = shim_untracked_number(l->evictable, &untracked_ns);
	/* An evictable launch uses this field for its time to leave, so the next launch as written
	 * reports the time of the untracked ones. */
	gs_page_store(l->slot->leave_ns, l->evictable ? shim_request_leave_ns(l) : untracked_ns);
	gs_page_store(l->slot->seq, seq);
}
