/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to poll again; see polling.h. */
#include "gpushare/arbiter/polling.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/usage.h"

/* gpu->loop.poll_ns is a lower bound for all of these. */
#define POLL_LEAVING_NS (1 * GS_NS_PER_US)
#define POLL_STARTING_NS (1 * GS_NS_PER_US)
/* While others wait for the holder. Each poll takes its page's cache lines from its processor. */
#define POLL_CONTENDED_NS (5 * GS_NS_PER_US)
/* POLL_CONTENDED_NS is at least this many times loop.poll_ns: kernels are long compared with the
 * way off the GPU. */
#define POLL_CONTENDED_TIMES 3
/* A kernel that has not left after this long will not leave soon. */
#define DRAIN_FAST_NS (20 * GS_NS_PER_MS)
#define POLL_LEFT_BEHIND_NS (500 * GS_NS_PER_US)
/* Whether a pinned client has settled; no client waits for this. */
#define POLL_PINNED_NS (500 * GS_NS_PER_US)
/* Nobody waits: only the reports need it. */
#define POLL_ALONE_NS (20 * GS_NS_PER_MS)
/* A forced eviction is due, but nothing can leave yet: try again after this part of its period. */
#define FORCE_PART 4
/* A decision is due, but cannot be taken yet. */
#define POLL_DECISION_NS (50 * GS_NS_PER_US)
/* Added to the expected gap. */
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
	 * A client that launches beside others without asking loses little if they use its pauses.
	 * A program that launches more slowly than the GPU computes pauses all the time, and the
	 * driver's time slices fill its pauses anyway.
	 */
	uint64_t most = t->gpu->o.idle_grace_ns / (gs_gpu_client_stays_on(t) ? 8 : 1), wait;
	/* Take the shorter of the last two gaps: the first kernel after a long pause may begin a
	 * chain, as the one before that pause did. */
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

/* ---- when to poll ----------------------------------------------------------- */

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

/* The client is LEAVING: poll it, and also wake when the next client may have the GPU
 * (gs_handover_overlap()). */
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

/* Others wait for the holder: only a poll finds the end of its kernels. */
static uint64_t contended(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *holder = gpu->holder;
	uint64_t next = now + poll_contended(gpu);

	if (holder && holder->task && holder->slice.idle_since)
		next = sooner(next, holder->slice.idle_since + gs_polling_grace(holder));
	return next;
}

/* When a forced eviction of the holder is due (force.c). */
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
	if (gpu->pin.client) /* no decisions are taken meanwhile */
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
