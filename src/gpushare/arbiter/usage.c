/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of GPU time among equals; see usage.h. */
#include "gpushare/arbiter/usage.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"

/* A client this far ahead of an equal is held back: about a hundredth of the GPU time of some
 * seconds. */
#define LEAD_NS (20.0 * GS_NS_PER_MS)
/* Under MPS clients of equal shares run side by side, and holding one back costs both what they
 * gain from that. So it is held back only when it is further ahead, and no longer than until it is
 * half as far ahead. */
#define SIDE_LEAD_NS (100.0 * GS_NS_PER_MS)
/*
 * Where the driver switches between contexts, a client is held back for 10 ms at most, and then not
 * again for 2 ms. A program that uses several GPUs and is held back on one of them holds up its
 * work on the others. Clients with equal shares are not held back at all there, since the driver's
 * slices are equal: of two data-parallel jobs, one was held back on each GPU for the time that it
 * had waited for the other GPU.
 */
#define HELD_MOST_NS (10 * GS_NS_PER_MS)
#define FREE_LEAST_NS (2 * GS_NS_PER_MS)
/* A client that pauses for less than this still counts as busy, so the one that is ahead of it
 * stays held back. */
#define PAUSE_NS (3 * GS_NS_PER_MS)
/* Kernels longer than LONG_NS hardly leave room for others' kernels under MPS, unless they leave
 * half of the multiprocessors to others (GS_SLOT_FEW). After one of them its client counts as
 * having long kernels for LONG_LASTS_NS. */
#define LONG_NS (2 * GS_NS_PER_MS)
#define LONG_LASTS_NS (200 * GS_NS_PER_MS)
/* The launches without slots that follow one with a slot take at most UNTRACKED_NS together, as
 * predicted (device/shim/launch/untracked.h); TAIL_NS includes the time to launch them. */
#define UNTRACKED_NS (500 * GS_NS_PER_US)
#define TAIL_NS (600 * GS_NS_PER_US)
/* How long after a kernel that cannot leave its client still counts as having such kernels, so that
 * it does not begin to take turns between two of them. */
#define STAYS_NS (10 * GS_NS_PER_MS)
/* After this idle time a client's account is closed. */
#define FORGET_NS (100 * GS_NS_PER_MS)
/* A client that is further behind has not wanted more GPU time: the rest is forgotten. */
#define BEHIND_MOST_NS (3.0 * GS_NS_PER_S) /* more than the bound for starvation in holders.c */

void gs_usage_seen(struct gs_gpu_client *t, uint64_t launches, uint64_t now)
{
	if (t->found.live || launches)
		t->holder_state.busy_ns = now;
	if (t->found.staying_live)
		t->holder_state.stays_until = now + STAYS_NS;
	if (t->found.lasting_live)
		t->holder_state.lasts_until = now + STAYS_NS;
	if (t->found.staying_out > t->found.waiting && t->found.longest_ns <= UNTRACKED_NS)
		t->holder_state.short_ns = now;
	if (t->found.longest_wide_ns > LONG_NS)
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

/*
 * MPS: has the client nothing under way but kernels that wait, and leave half of the
 * multiprocessors to others? A collective's kernel waits for its job's kernel on another GPU. That
 * one may be held back there in favour of the other job, which would be held back here: then both
 * would wait for each other.
 */
static int leaves_room(const struct gs_gpu_client *t)
{
	return t->gpu->o.one_context && t->found.live && t->found.waiting == t->found.live;
}

/* Clients that have something on the GPU share it evenly: through the driver's time slices, or as
 * short kernels do under MPS. */
static double weight(const struct gs_gpu_client *t, uint64_t now)
{
	return !t->stopped &&
	       (gs_gpu_client_is_out(t) ||
		(gs_gpu_is_holder(t) && !t->holder_state.barred && gs_usage_is_busy(t, now)));
}

static double shares_of(const struct gs_gpu_client *t)
{
	return t->p.shares ? t->p.shares : 1;
}

/* A client makes good for a lead that it had when its priority changed as others catch up. */
static void make_good(struct gs_gpu_client *t, double others_ns, double others_shares)
{
	double *lead = &t->holder_state.lead_ns;

	if (others_shares > 0 && t->holder_state.joined)
		*lead -= others_ns * shares_of(t) / others_shares;
	if (*lead < 0)
		*lead = 0;
}

/* Divides the GPU time since the last call among the clients that had it. */
static void charge(struct gs_gpu *gpu, uint64_t now)
{
	double all = 0, shares = 0,
	       ns = now > gpu->accounted_ns ? (double)(now - gpu->accounted_ns) : 0;
	struct gs_gpu_client *t;

	gpu->accounted_ns = now;
	LIST_FOREACH (t, &gpu->clients, link) {
		all += weight(t, now);
		shares += weight(t, now) * shares_of(t);
	}
	LIST_FOREACH (t, &gpu->clients, link) {
		double had = all > 0 ? ns * weight(t, now) / all : ns;

		t->holder_state.used_ns += all > 0 ? had : 0;
		make_good(t, ns - had, shares - weight(t, now) * shares_of(t));
	}
}

/* Who has kernels on the GPU now; a client that only pauses has none. */
static void find_present(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;
	uint32_t all = 0;

	LIST_FOREACH (t, &gpu->clients, link)
		t->p.usage->present = t->p.usage->busy = 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		t->holder_state.present = weight(t, now) > 0 && t->account.busy;
		t->p.usage->present += t->holder_state.present;
		t->p.usage->busy += t->account.busy && !t->stopped;
		all += t->holder_state.present;
	}
	LIST_FOREACH (t, &gpu->clients, link)
		t->holder_state.others = all - t->p.usage->present;
}

double gs_usage_part(const struct gs_gpu_client *t, int has_slice)
{
	uint32_t own = t->p.usage->present + (has_slice && !t->holder_state.present);

	if (!has_slice && (t->gpu->o.one_context || !t->holder_state.present))
		return 0;
	return 1.0 / (own + (t->gpu->o.one_context ? 0 : t->holder_state.others));
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
		if (!t->stopped && !t->bad.is && gs_usage_is_busy(t, now) && !leaves_room(t) &&
		    gs_gpu_client_compare(t, of) == 0 && t->holder_state.joined &&
		    (!last || gs_usage_lead(last, t) > 0))
			last = t;
	return last;
}

void gs_usage_regroup(struct gs_gpu_client *t, uint64_t now)
{
	const struct gs_gpu_client *last;
	double lead;

	charge(t->gpu, now);
	last = gs_usage_least(t->gpu, t, now);
	lead = last ? gs_usage_lead(t, last) : 0;
	/* Where it had no equals, or others, it may still be ahead of those before them. */
	if (t->holder_state.joined && lead > t->holder_state.lead_ns)
		t->holder_state.lead_ns = lead;
	t->holder_state.joined = 0;
}

/* A client that comes, or comes back after a pause, starts level with its equals: it has not
 * waited. */
static void join_account(const struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link) {
		const struct gs_gpu_client *last;

		if (t->stopped ||
		    (!t->found.live && t->pauses.ended_ns && now - t->pauses.ended_ns > FORGET_NS))
			t->holder_state.lead_ns = t->holder_state.joined = 0;
		if (!t->task || t->holder_state.joined)
			continue;
		last = gs_usage_least(gpu, t, now);
		if (last)
			t->holder_state.used_ns =
				last->holder_state.used_ns * shares_of(t) / shares_of(last) +
				t->holder_state.lead_ns;
		t->holder_state.joined = 1;
	}
}

int gs_usage_held(const struct gs_gpu *gpu, struct gs_gpu_client *t, struct gs_gpu_client *last,
		  uint64_t now)
{
	struct gs_holder_state *h = &t->holder_state;
	double lead, most = LEAD_NS, least = 0;

	if (!last || t == last || !h->joined || gs_gpu_client_is_due(t) ||
	    (!gpu->o.one_context && t->p.shares == last->p.shares)) {
		h->held = 0;
		return 0;
	}
	if (gpu->o.one_context && t->p.shares == last->p.shares) {
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
	if (!launcher || !gs_usage_is_busy(launcher, now) || leaves_room(launcher) ||
	    launcher->stopped || (least && gs_usage_lead(launcher, least) > LEAD_NS))
		launcher = least;
	return launcher;
}

/* Bounds how far this client can be behind. */
static void forget_of(struct gs_gpu_client *t)
{
	struct gs_gpu_client *other;

	LIST_FOREACH (other, &t->gpu->clients, link) {
		double lead = gs_usage_lead(other, t);

		if (other->holder_state.joined && lead > BEHIND_MOST_NS &&
		    gs_gpu_client_compare(t, other) == 0)
			t->holder_state.used_ns +=
				(lead - BEHIND_MOST_NS) * shares_of(t) / shares_of(other);
	}
}

/* A client that is further behind than BEHIND_MOST_NS has not wanted more. To compare all pairs
 * takes long, so each is first compared with the most that anyone can be ahead of it; hardly any is
 * that far behind. */
static void forget(struct gs_gpu *gpu)
{
	double most_ns = 0, least = UINT32_MAX;
	struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link) {
		if (!t->holder_state.joined)
			continue;
		if (t->holder_state.used_ns > most_ns)
			most_ns = t->holder_state.used_ns;
		if (shares_of(t) < least)
			least = shares_of(t);
	}
	LIST_FOREACH (t, &gpu->clients, link) {
		double *used_ns = &t->holder_state.used_ns;

		if (!t->holder_state.joined ||
		    most_ns - *used_ns * least / shares_of(t) <= BEHIND_MOST_NS)
			continue;
		forget_of(t);
		if (*used_ns > most_ns)
			most_ns = *used_ns;
	}
}

void gs_usage_step(struct gs_gpu *gpu, uint64_t now)
{
	charge(gpu, now);
	find_present(gpu, now);
	join_account(gpu, now);
	forget(gpu);
}
