/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to look again; see polling.h. */
#include "gpushare/arbiter/polling.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/usage.h"

/* Polls do not follow each other sooner than gpu->loop.poll_ns, whatever is said here. */
#define POLL_LEAVING_NS (1 * GS_NS_PER_US)
#define POLL_STARTING_NS (1 * GS_NS_PER_US)
/* A holder, while others wait: each poll takes its page's cache lines from its processor. */
#define POLL_CONTENDED_NS (5 * GS_NS_PER_US)
#define POLL_CONTENDED_TIMES \
	3 /* so many of the shortest ones at least: kernels are long, ways out are short */
/* What has not left after so long is not about to. */
#define DRAIN_FAST_NS (20 * GS_NS_PER_MS)
#define POLL_LEFT_BEHIND_NS (500 * GS_NS_PER_US)
/* Whether a pinned client has settled is seen soon enough so: nobody is woken by it. */
#define POLL_PINNED_NS (500 * GS_NS_PER_US)
/* Nobody waits: only the figures need it. */
#define POLL_ALONE_NS (20 * GS_NS_PER_MS)
/* An eviction that was asked for is due, and nothing there to evict: a part of the period. */
#define FORCE_PART 4
/* A decision whose time has come although nothing may be done yet. */
#define POLL_DECISION_NS (50 * GS_NS_PER_US)
/* Beyond the gap that is expected. */
#define GRACE_MORE_NS (20 * GS_NS_PER_US)

int gs_polling_contended(const struct gs_gpu *gpu)
{
	size_t others = gs_sched_count(gpu->sched);

	return others > (gpu->holder && gpu->holder->task ? 1u : 0u);
}

/* ---- what is known of a client ---------------------------------------- */

uint64_t gs_polling_grace(const struct gs_gpu_client *t)
{
	/*
	 * One that launches beside the others without asking loses little if they go on in its
	 * pauses: a program that launches more slowly than the GPU computes pauses all the time,
	 * and the driver's time slices fill its pauses, too.
	 */
	uint64_t most = t->gpu->o.idle_grace_ns / (gs_gpu_client_stays_on(t) ? 8 : 1), wait;
	/* The first kernel after a pause may begin a chain as the one before the pause did. */
	uint64_t gap = t->pauses.gap_before_ns && t->pauses.gap_before_ns < t->pauses.gap_ns ?
			       t->pauses.gap_before_ns :
			       t->pauses.gap_ns;

	if (!gap)
		return most / 8;
	if (gap > most)
		return 0;
	wait = gap + gap / 2 + GRACE_MORE_NS;
	return wait < most ? wait : most;
}

void gs_polling_idle(struct gs_gpu_client *t, uint64_t now)
{
	t->pauses.ended_ns = now;
}

void gs_polling_busy(struct gs_gpu_client *t, uint64_t now)
{
	struct gs_pauses *p = &t->pauses;

	if (p->ended_ns) {
		p->gap_before_ns = p->gap_ns;
		p->gap_ns = now > p->ended_ns ? now - p->ended_ns : 1;
	}
}

/* ---- when to look ------------------------------------------------------ */

uint64_t gs_polling_poll(const struct gs_gpu *gpu, uint64_t ns)
{
	return ns > gpu->loop.poll_ns ? ns : gpu->loop.poll_ns;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t poll_contended(const struct gs_gpu *gpu)
{
	uint64_t least = POLL_CONTENDED_TIMES * gpu->loop.poll_ns;

	return least > POLL_CONTENDED_NS ? least : POLL_CONTENDED_NS;
}

/* A client on its way out, and when the next one may have the GPU (gs_handover_overlap()). */
static uint64_t leaving(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t since = now - gpu->leave.since, leave = gpu->leave.takes_ns, lead;
	uint64_t next = now + gs_polling_poll(gpu, since < DRAIN_FAST_NS ? POLL_LEAVING_NS :
									   POLL_LEFT_BEHIND_NS);

	lead = gpu->o.overlap_ns < leave ? leave - gpu->o.overlap_ns : 0;
	if (!gpu->holder && leave < DRAIN_FAST_NS && since < lead)
		next = sooner(next, gpu->leave.since + lead);
	return next;
}

uint64_t gs_polling_waiting(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link)
		if (t->task && !t->stopped && t->phase == GS_WAITING)
			return now + poll_contended(gpu);
	return UINT64_MAX;
}

/* The holder while others wait: its end is seen by looking only. */
static uint64_t contended(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *holder = gpu->holder;
	uint64_t next = now + poll_contended(gpu);

	if (holder && holder->task && holder->slice.idle_since)
		next = sooner(next, holder->slice.idle_since + gs_polling_grace(holder));
	return next;
}

/* When a client is to be evicted that has asked for it (force.c). */
static uint64_t force_due(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t = gpu->holder;
	uint64_t again;

	if (!t || !t->p.force_ns)
		return UINT64_MAX;
	if (now - t->slice.since < t->p.force_ns)
		return t->slice.since + t->p.force_ns;
	again = t->p.force_ns / FORCE_PART;
	return now + gs_polling_poll(gpu, again);
}

uint64_t gs_polling_next(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t;
	uint64_t next;

	if (gpu->leaving)
		return leaving(gpu, now);
	if (gs_gpu_is_starting(gpu))
		return now + gs_polling_poll(gpu, POLL_STARTING_NS);
	if (gpu->pin.client) /* nothing is decided */
		return now + gs_polling_poll(gpu, POLL_PINNED_NS);
	next = sooner(gpu->deadline > now ? gpu->deadline : now + POLL_DECISION_NS,
		      force_due(gpu, now));
	if (gs_polling_contended(gpu))
		return sooner(next, contended(gpu, now));
	LIST_FOREACH (t, &gpu->clients, link)
		if (t == gpu->holder || t->found.on_gpu || t->found.off_gpu)
			return sooner(next, now + POLL_ALONE_NS);
	return next;
}
