/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A short kernel that will end by itself, while somebody waits: the next client goes some microseconds
 * before.  While the end is seen, decided upon and the next launch made the GPU would stand idle, for some
 * 14 us by what a neighbour of 1 ms kernels lost (doc/results/h200-pair-early.csv); so that launch is there
 * already, and where each client has a context of its own the GPU goes over to it by itself at the end.
 *
 * As far as the scheduler knows that one is done: it goes on with who is left, and whoever comes
 * in those microseconds waits for the end as during any hand-over.
 *
 * Not sooner, and not after a long time on the GPU: the driver lets a context that has work keep
 * the GPU for its time slice when another one has work, too, and the slice has to last until the
 * end.  Nor where clients share a context (MPS): the next one's block-tasks would run beside the last one's.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/early.h"

#include "common/clock.h"
#include "gpushare/daemon/pace.h"

/* So long before the end that is expected. */
#define EARLY_NS (30 * GS_NS_PER_US)
/* Ends that are not foreseen more closely than that are waited for. */
#define OFF_MOST_NS (25 * GS_NS_PER_US)
/*
 * What takes less may not have begun by then (the GPU does not say of all kernels when they do, pace.c): the next one
 * would have its time slice first.
 */
#define TAKES_LEAST_NS (EARLY_NS + OFF_MOST_NS)
/*
 * From the turn to the end: within the driver's time slice.  That of an H200 was not measured, but it runs 1 ms kernels
 * beside long ones to their ends (doc/results/h200-bench-pair.csv, policy driver); 3.4 ms fit another GPU (doc/policies.md).
 */
#define SLICE_NS (2 * GS_NS_PER_MS)
/* It goes on after all: so long after the end that was expected it is told to leave. */
#define PATIENCE_NS (50 * GS_NS_PER_US)
/* And from then on its ends are waited for, so many: to be wrong costs two hand-overs, to be right saves a tenth of one. */
#define WAITED_FOR_ENDS 32
/*
 * The next one is there, and goes on without us: when the end is seen matters little then, so nobody is awake for it.  Being
 * awake from the end that is expected took a third of what the daemon may take beside a program of 1 ms kernels every 5 ms.
 */
#define LOOK_NS (15 * GS_NS_PER_US)

/* One kernel of its is on the GPU, and nothing on the way there. */
static int has_one_there(const struct gs_tenant *t)
{
	return t->live == 1 && t->on_gpu == 1;
}

/* Nothing but its being done ends this turn, and that ends it at once. */
static int ends_with_its_kernel(const struct gs_gpu *gpu, const struct gs_tenant *t)
{
	return t->task && has_one_there(t) && !t->stopped && !t->bad && !t->p.force_ns && !gpu->pinned &&
	       gs_pace_contended(gpu) && gs_pace_grace(t) == 0;
}

/* Its end is known well enough, and near enough to its beginning. */
static int is_foreseen(const struct gs_gpu *gpu, const struct gs_tenant *t)
{
	return t->expected_ns && t->off_ns && t->off_ns <= OFF_MOST_NS && !t->not_early &&
	       t->told_alone_ns - t->base_done_ns >= TAKES_LEAST_NS &&
	       t->expected_ns <= gpu->starting_since + SLICE_NS;
}

uint64_t gs_early_at(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_tenant *t = gpu->holder;

	if (!gpu->o.early || !t || gs_holders_any(gpu) || gpu->leaving || gpu->starting || gpu->gauge.on ||
	    !ends_with_its_kernel(gpu, t) || !is_foreseen(gpu, t) || now > t->expected_ns + PATIENCE_NS ||
	    gs_turn_next_is_armed(gpu, now)) /* it would be there at once (handover.c) */
		return UINT64_MAX;
	return t->expected_ns - EARLY_NS;
}

void gs_early_turn(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_tenant *t = gpu->holder;

	if (now < gs_early_at(gpu, now))
		return;
	gs_turn_leave(gpu, 0, now);
	gpu->early = 1;
	gpu->ends_by = t->expected_ns + PATIENCE_NS;
	gs_gpu_task_leave(t, now);
	/* One that has been launched past the check is on its way, too. */
	gs_turn_drain(gpu, now);
}

/* From now on as any client on its way out, and timed as one. */
static void tell_to_leave(struct gs_gpu *gpu, struct gs_tenant *t, uint64_t now)
{
	gpu->ends_by = 0;
	gpu->drain_since = gpu->told_ns = now;
	t->base_ns = t->expected_ns = 0;
}

int gs_early_drain(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_tenant *t = gpu->leaving;

	gs_gpu_look(t, now);
	if (!t->on_gpu && !t->off_gpu) {
		gs_watch_period_end(&t->watch); /* what ended since then is none of the next period's */
		t->base_ns = t->expected_ns = 0;
		return 1;
	}
	if (now >= gpu->ends_by)
		t->not_early = WAITED_FOR_ENDS;
	if (now >= gpu->ends_by || t->stopped || t->bad || t->on_gpu + t->off_gpu > 1)
		tell_to_leave(gpu, t, now);
	return 0;
}

uint64_t gs_early_next(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t expected = gpu->ends_by - PATIENCE_NS;

	return expected > now ? expected - now + LOOK_NS : LOOK_NS;
}
