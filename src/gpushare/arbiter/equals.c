/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several equals must wait; see equals.h. */
#include "gpushare/arbiter/equals.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/group.h"
#include "gpushare/arbiter/usage.h"

/* A client this far ahead of an equal is held back: about one per cent of two seconds. */
#define LEAD_NS (20.0 * GS_NS_PER_MS)
/* Under MPS clients of equal parts run side by side, and holding one back loses what both gain by
 * that. So it is held back only when it is further ahead, and no longer than until it is half as
 * far ahead. */
#define SIDE_LEAD_NS (100.0 * GS_NS_PER_MS)
/*
 * Where the driver switches between contexts, a client is held back for 10 ms at most, and then not
 * again for 2 ms. Longer would hurt programs on several GPUs: held back on one, they stop working
 * on the others. Clients with equal parts are not held back at all there, since the driver's slices
 * are equal. Holding them back made it worse: of two data-parallel jobs on two GPUs, each GPU held
 * one back because of the time that it had spent waiting for the other GPU.
 */
#define HELD_MOST_NS (10 * GS_NS_PER_MS)
#define FREE_LEAST_NS (2 * GS_NS_PER_MS)

/* The client's part: its allocation's shares, divided by the steps' shares among the clients of its
 * group that want the GPU. */
static double part(const struct gs_gpu_client *t)
{
	const struct gs_gpu_group *group = t->holder_state.group;
	double own = gs_usage_shares(t), all = (double)group->wanting_shares;

	return group->shares * own / (all > own ? all : own);
}

static int are_alike(const struct gs_gpu_client *a, const struct gs_gpu_client *b)
{
	return part(a) == part(b);
}

int gs_equals_held(const struct gs_gpu *gpu, struct gs_gpu_client *t, struct gs_gpu_client *last,
		   uint64_t now)
{
	struct gs_holder_state *h = &t->holder_state;
	double lead, most = LEAD_NS, least = 0;

	if (!last || t == last || !h->joined || gs_gpu_client_is_due(t) ||
	    (!gpu->o.one_context && are_alike(t, last))) {
		h->held = 0;
		return 0;
	}
	if (gpu->o.one_context && are_alike(t, last)) {
		most = SIDE_LEAD_NS;
		least = SIDE_LEAD_NS / 2;
	}
	lead = gs_usage_lead(t, last);
	if (!h->held && lead > most && now >= h->free_until) {
		h->held = 1;
		h->held_ns = now;
	} else if (h->held &&
		   (lead <= least || (!gpu->o.one_context && now - h->held_ns >= HELD_MOST_NS))) {
		h->held = 0;
		h->free_until = now + FREE_LEAST_NS;
	}
	return h->held;
}

struct gs_gpu_client *gs_equals_next(struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     int together, uint64_t now)
{
	struct gs_gpu_client *launcher = gpu->holder, *least, *t;

	gpu->apart = 0;
	if (!together || !gpu->o.one_context)
		return NULL;
	LIST_FOREACH (t, &gpu->clients, link)
		gpu->apart |= gs_gpu_client_is_equal(t, of) && now < t->holder_state.long_until;
	if (!gpu->apart)
		return NULL;
	least = gs_usage_least(gpu, of, now);
	if (!launcher || !gs_usage_is_busy(launcher, now) || gs_usage_leaves_room(launcher) ||
	    launcher->stopped || (least && gs_usage_lead(launcher, least) > LEAD_NS))
		launcher = least;
	return launcher;
}
