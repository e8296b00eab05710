/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of GPU time among equals; see usage.h. */
#include "gpushare/arbiter/usage.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"

/* So much GPU time ahead of an equal, a client is held back: a hundredth of what an account of some
 * seconds holds. */
#define LEAD_NS (20.0 * GS_NS_PER_MS)
/*
 * Where the driver gives time slices a client is held back for 10 ms at most, and then not for 2 ms
 * at least: a program of several GPUs that is held back on one of them holds up its other half.
 * Clients of equal shares are not held back there, since the slices are equal: of two data-parallel
 * jobs one was held back on each GPU for what it had waited for on the other.
 */
#define HELD_MOST_NS (10 * GS_NS_PER_MS)
#define FREE_LEAST_NS (2 * GS_NS_PER_MS)
/* A client that pauses for less than this still counts as busy, so the one that is ahead of it
 * stays held back. */
#define PAUSE_NS (3 * GS_NS_PER_MS)
/* Longer kernels hardly leave room for others' under MPS; and so long after one, a client has such.
 */
#define LONG_NS (2 * GS_NS_PER_MS)
#define LONG_LASTS_NS (200 * GS_NS_PER_MS)
/* Launches without slots that follow one with a slot take so long at most together, as predicted
 * (device/shim/launch/untracked.h); and with the time that it takes to launch them. */
#define UNTRACKED_NS (500 * GS_NS_PER_US)
#define TAIL_NS (600 * GS_NS_PER_US)
/* Between two kernels that cannot leave a client does not begin to take turns. */
#define STAYS_NS (10 * GS_NS_PER_MS)
/* The account of a client that has done nothing for so long is closed. */
#define FORGET_NS (100 * GS_NS_PER_MS)
/* What is further behind than that has not wanted more: the account forgets the rest. */
#define BEHIND_MOST_NS (3.0 * GS_NS_PER_S) /* more than what a client is starved by (holders.c) */

void gs_usage_seen(struct gs_gpu_client *t, uint64_t launches, uint64_t now)
{
	if (t->found.live || launches)
		t->holder_state.busy_ns = now;
	if (t->found.staying_live)
		t->holder_state.stays_until = now + STAYS_NS;
	if (t->found.staying_out && t->found.longest_ns <= UNTRACKED_NS)
		t->holder_state.short_ns = now;
	if (t->found.longest_ns > LONG_NS)
		t->holder_state.long_until = now + LONG_LASTS_NS;
}

int gs_usage_has_tail(const struct gs_gpu_client *t, uint64_t now)
{
	return t->gpu->o.one_context && gs_gpu_has_beside(t->gpu) && t->holder_state.short_ns &&
	       now - t->holder_state.short_ns < TAIL_NS;
}

int gs_usage_is_busy(const struct gs_gpu_client *t, uint64_t now)
{
	return t->found.live ||
	       (t->holder_state.busy_ns && now - t->holder_state.busy_ns < PAUSE_NS);
}

/* Those that have something on the GPU share it evenly: by time slices, or as short kernels do
 * under MPS. */
static double weight(const struct gs_gpu_client *t, uint64_t now)
{
	return !t->stopped &&
	       (gs_gpu_client_is_out(t) ||
		(gs_gpu_is_holder(t) && !t->holder_state.barred && gs_usage_is_busy(t, now)));
}

/* The GPU time since the last call goes to those that had it. */
static void charge(struct gs_gpu *gpu, uint64_t now)
{
	double all = 0, ns = now > gpu->accounted_ns ? (double)(now - gpu->accounted_ns) : 0;
	struct gs_gpu_client *t;

	gpu->accounted_ns = now;
	LIST_FOREACH (t, &gpu->clients, link)
		all += weight(t, now);
	LIST_FOREACH (t, &gpu->clients, link)
		if (all > 0)
			t->holder_state.used_ns += ns * weight(t, now) / all;
}

static double shares_of(const struct gs_gpu_client *t)
{
	return t->p.shares ? t->p.shares : 1;
}

double gs_usage_lead(const struct gs_gpu_client *t, const struct gs_gpu_client *other)
{
	return t->holder_state.used_ns -
	       other->holder_state.used_ns * shares_of(t) / shares_of(other);
}

struct gs_gpu_client *gs_usage_least(const struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     uint64_t now)
{
	struct gs_gpu_client *t, *last = NULL;

	LIST_FOREACH (t, &gpu->clients, link)
		if (!t->stopped && !t->bad.is && gs_usage_is_busy(t, now) &&
		    gs_gpu_client_compare(t, of) == 0 && t->holder_state.joined &&
		    (!last || gs_usage_lead(last, t) > 0))
			last = t;
	return last;
}

/* Who comes is neither behind nor ahead: it has not waited.  So it is after a pause. */
static void join_account(const struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link) {
		const struct gs_gpu_client *last;

		if (t->stopped ||
		    (!t->found.live && t->pauses.ended_ns && now - t->pauses.ended_ns > FORGET_NS))
			t->holder_state.joined = 0;
		if (!t->task || t->holder_state.joined)
			continue;
		last = gs_usage_least(gpu, t, now);
		if (last)
			t->holder_state.used_ns =
				last->holder_state.used_ns * shares_of(t) / shares_of(last);
		t->holder_state.joined = 1;
	}
}

int gs_usage_held(const struct gs_gpu *gpu, struct gs_gpu_client *t, struct gs_gpu_client *last,
		  uint64_t now)
{
	struct gs_holder_state *h = &t->holder_state;
	double lead;

	if (!last || t == last || !h->joined ||
	    (!gpu->o.one_context && t->p.shares == last->p.shares)) {
		h->held = 0;
		return 0;
	}
	lead = gs_usage_lead(t, last);
	if (!h->held && lead > LEAD_NS && now >= h->free_until) {
		h->held = 1;
		h->held_ns = now;
	} else if (h->held &&
		   (lead <= 0 || (!gpu->o.one_context && now - h->held_ns >= HELD_MOST_NS))) {
		h->held = 0;
		h->free_until = now + FREE_LEAST_NS;
	}
	return h->held;
}

struct gs_gpu_client *gs_usage_next(struct gs_gpu *gpu, const struct gs_gpu_client *of,
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
	if (!launcher || !gs_usage_is_busy(launcher, now) || launcher->stopped ||
	    (least && gs_usage_lead(launcher, least) > LEAD_NS))
		launcher = least;
	return launcher;
}

/* Whoever is so far behind has not wanted more. */
static void forget(struct gs_gpu *gpu)
{
	struct gs_gpu_client *t, *other;

	LIST_FOREACH (t, &gpu->clients, link)
		LIST_FOREACH (other, &gpu->clients, link) {
			double lead = gs_usage_lead(other, t);

			if (other->holder_state.joined && t->holder_state.joined &&
			    gs_gpu_client_compare(t, other) == 0 && lead > BEHIND_MOST_NS)
				t->holder_state.used_ns +=
					(lead - BEHIND_MOST_NS) * shares_of(t) / shares_of(other);
		}
}

void gs_usage_step(struct gs_gpu *gpu, uint64_t now)
{
	charge(gpu, now);
	join_account(gpu, now);
	forget(gpu);
}
