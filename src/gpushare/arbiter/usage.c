/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of GPU time among equals; see usage.h. */
#include "gpushare/arbiter/usage.h"

#include "common/clock.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/group.h"

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
/* How long after a kernel that cannot be kept to a part of the GPU its client still counts as
 * having such kernels. */
#define UNDIVIDED_NS (100 * GS_NS_PER_MS)
/* After this idle time a client's account is closed. */
#define FORGET_NS (100 * GS_NS_PER_MS)
/* Who is further behind has not wanted more GPU time: the rest is forgotten. This is more than the
 * bound for starvation in holders.c, and an equal waits for so long at most while somebody makes up
 * for what it has not had. */
#define BEHIND_MOST_NS (0.5 * GS_NS_PER_S)
#define BEHIND_MOST_NAMED_NS (3.0 * GS_NS_PER_S) /* under a policy that the administrator chose */

int gs_usage_is_undivided(const struct gs_gpu_client *t)
{
	return t->found.undivided || t->found.longest_ns == UINT64_MAX;
}

void gs_usage_seen(struct gs_gpu_client *t, uint64_t launches, uint64_t now)
{
	if (t->found.live || launches)
		t->holder_state.busy_ns = now;
	if (t->found.staying_live)
		t->holder_state.stays_until = now + STAYS_NS;
	if (gs_usage_is_undivided(t))
		t->holder_state.undivided_until = now + UNDIVIDED_NS;
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

int gs_usage_leaves_room(const struct gs_gpu_client *t)
{
	return t->gpu->o.one_context && t->found.live && t->found.waiting == t->found.live;
}

/* Clients that have something on the GPU share it evenly: through the driver's time slices, or as
 * short kernels do under MPS. */
static int has_gpu(const struct gs_gpu_client *t, uint64_t now)
{
	return !t->stopped &&
	       (gs_gpu_client_is_out(t) ||
		(gs_gpu_is_holder(t) && !t->holder_state.barred && gs_usage_is_busy(t, now)));
}

uint32_t gs_usage_shares(const struct gs_gpu_client *t)
{
	return t->p.shares ? t->p.shares : 1;
}

/* A client makes good for a lead that it had when its priority changed as other groups catch up. */
static void make_good(struct gs_gpu_client *t, double others_ns, double others_shares)
{
	double *lead = &t->holder_state.lead_ns;

	if (others_shares > 0 && t->holder_state.joined)
		*lead -= others_ns * t->holder_state.group->shares / others_shares;
	if (*lead < 0)
		*lead = 0;
}

/* Books so much GPU time, divided among the clients that had it. Returns the clients' number. */
static double book(struct gs_gpu *gpu, double ns, uint64_t now)
{
	struct gs_gpu_client *t;
	struct gs_gpu_group *group;
	double all = 0;

	LIST_FOREACH (group, &gpu->groups.used, link)
		group->weight = 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		t->holder_state.had = has_gpu(t, now) != 0;
		all += t->holder_state.had;
		if (t->holder_state.had)
			gs_gpu_group_of(t)->weight++;
	}
	LIST_FOREACH (t, &gpu->clients, link)
		if (t->holder_state.had)
			t->holder_state.used_ns += ns / all / gs_usage_shares(t);
	LIST_FOREACH (group, &gpu->groups.used, link)
		if (all > 0)
			group->used_ns += ns * group->weight / all / group->shares;
	return all;
}

/* Divides the GPU time since the last call among the clients that had it. */
static void charge(struct gs_gpu *gpu, uint64_t now)
{
	double ns = now > gpu->groups.accounted_ns ? (double)(now - gpu->groups.accounted_ns) : 0;
	double all = book(gpu, ns, now), shares = 0;
	const struct gs_gpu_group *group;
	struct gs_gpu_client *t;

	gpu->groups.accounted_ns = now;
	LIST_FOREACH (group, &gpu->groups.used, link)
		shares += group->weight > 0 ? group->shares : 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		group = t->holder_state.group;
		if (group)
			make_good(t, all > 0 ? ns * (1 - group->weight / all) : 0,
				  shares - (group->weight > 0 ? group->shares : 0));
	}
}

/* Who has kernels on the GPU now; a client that only pauses has none. */
static void find_present(struct gs_gpu *gpu)
{
	struct gs_gpu_client *t;
	uint32_t all = 0;

	LIST_FOREACH (t, &gpu->clients, link)
		t->p.usage->present = t->p.usage->busy = 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		t->holder_state.present = t->holder_state.had && t->account.busy;
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
	const struct gs_gpu_group *group = t->holder_state.group,
				  *others = other->holder_state.group;

	if (!group || !others)
		return 0;
	if (group == others)
		return (t->holder_state.used_ns - other->holder_state.used_ns) * gs_usage_shares(t);
	return (group->used_ns - others->used_ns) * group->shares;
}

struct gs_gpu_client *gs_usage_least(const struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     uint64_t now)
{
	struct gs_gpu_client *t, *last = NULL;

	LIST_FOREACH (t, &gpu->clients, link)
		if (!t->stopped && !t->bad.is && gs_usage_is_busy(t, now) &&
		    !gs_usage_leaves_room(t) && gs_gpu_client_compare(t, of) == 0 &&
		    t->holder_state.joined && (!last || gs_usage_lead(last, t) > 0))
			last = t;
	return last;
}

void gs_usage_regroup(struct gs_gpu_client *t, uint64_t now)
{
	const struct gs_gpu_client *last;
	double lead;

	charge(t->gpu, now);
	last = gs_usage_least(t->gpu, t, now);
	lead = last && last->holder_state.group != t->holder_state.group ? gs_usage_lead(t, last) :
									   0;
	/* Where it had no equals, or others, it may still be ahead of those before them. */
	if (t->holder_state.joined && lead > t->holder_state.lead_ns)
		t->holder_state.lead_ns = lead;
	gs_gpu_group_leave(t);
}

/* Closes the accounts of clients that are stopped or have been idle for FORGET_NS. Counts each
 * group's open accounts, and sums the shares of its clients that want the GPU. */
static void count_accounts(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;
	struct gs_gpu_group *group;

	LIST_FOREACH (group, &gpu->groups.used, link)
		group->joined = group->wanting_shares = 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		if (t->stopped ||
		    (!t->found.live && t->pauses.ended_ns && now - t->pauses.ended_ns > FORGET_NS))
			t->holder_state.lead_ns = t->holder_state.joined = 0;
		if (!t->holder_state.joined)
			continue;
		t->holder_state.group->joined++;
		if (t->task || gs_usage_is_busy(t, now))
			t->holder_state.group->wanting_shares += gs_usage_shares(t);
	}
}

/* The client of this group that has had the least, of those with an account. */
static const struct gs_gpu_client *least_of(const struct gs_gpu_group *group,
					    const struct gs_gpu *gpu)
{
	const struct gs_gpu_client *t, *least = NULL;

	LIST_FOREACH (t, &gpu->clients, link)
		if (t->holder_state.joined && t->holder_state.group == group &&
		    (!least || t->holder_state.used_ns < least->holder_state.used_ns))
			least = t;
	return least;
}

/* The equal group with which this one starts level: the one that has had the least among those that
 * want the GPU. If none wants it just now, the one that has had the most among those with an open
 * account, so that nobody gains by starting anew during others' pauses. NULL: there is none. */
static const struct gs_gpu_group *level_with(const struct gs_gpu *gpu,
					     const struct gs_gpu_group *group)
{
	const struct gs_gpu_group *other, *least = NULL, *most = NULL;

	LIST_FOREACH (other, &gpu->groups.used, link) {
		if (other == group || !other->joined ||
		    gs_sched_compare(gpu->sched, group->urgency, other->urgency) != 0)
			continue;
		if (other->wanting_shares && (!least || other->used_ns < least->used_ns))
			least = other;
		if (!most || other->used_ns > most->used_ns)
			most = other;
	}
	return least ? least : most;
}

/*
 * Client t comes. If no other client of its group wants the GPU now, the group starts level with
 * its equals, since it has not been waiting; if its account is still open, it is raised but never
 * lowered. The lead that t had over its equals when its priority changed is added to the group's
 * account, also if others of the group want the GPU.
 */
static void level(const struct gs_gpu *gpu, struct gs_gpu_group *group,
		  const struct gs_gpu_client *t)
{
	const struct gs_gpu_group *with = level_with(gpu, group);
	double lead = t->holder_state.lead_ns, is;

	if (!with || (group->wanting_shares && lead <= 0))
		return;
	is = with->used_ns + lead / group->shares;
	if (!group->joined || group->used_ns < is)
		group->used_ns = is;
}

/* A client that comes, or comes back after a pause, starts level with the one of its group that has
 * had the least. */
static void open_account(const struct gs_gpu *gpu, struct gs_gpu_client *t)
{
	struct gs_gpu_group *group = gs_gpu_group_of(t);
	const struct gs_gpu_client *least = group->joined ? least_of(group, gpu) : NULL;

	level(gpu, group, t);
	if (least)
		t->holder_state.used_ns = least->holder_state.used_ns;
	group->joined++;
	group->wanting_shares += gs_usage_shares(t);
	t->holder_state.joined = 1;
}

static double behind_most_ns(const struct gs_gpu *gpu)
{
	return gpu->o.sched.by_priority ? BEHIND_MOST_NS : BEHIND_MOST_NAMED_NS;
}

/* Bounds how far this group can be behind equal groups. */
static void forget_of(const struct gs_gpu *gpu, struct gs_gpu_group *group)
{
	const struct gs_gpu_group *other;

	LIST_FOREACH (other, &gpu->groups.used, link) {
		double lead = (other->used_ns - group->used_ns) * other->shares;

		if (other->joined && lead > behind_most_ns(gpu) &&
		    gs_sched_compare(gpu->sched, group->urgency, other->urgency) == 0)
			group->used_ns += (lead - behind_most_ns(gpu)) / other->shares;
	}
}

/* Bounds how far clients can be behind others of their groups. */
static void forget_within_groups(struct gs_gpu *gpu)
{
	struct gs_gpu_client *t;
	struct gs_gpu_group *group;

	LIST_FOREACH (group, &gpu->groups.used, link)
		group->most = NULL;
	LIST_FOREACH (t, &gpu->clients, link) {
		group = t->holder_state.group;
		if (t->holder_state.joined &&
		    (!group->most || t->holder_state.used_ns > group->most->holder_state.used_ns))
			group->most = t;
	}
	LIST_FOREACH (t, &gpu->clients, link) {
		double lead;

		if (!t->holder_state.joined)
			continue;
		lead = gs_usage_lead(t->holder_state.group->most, t);
		if (lead > behind_most_ns(gpu))
			t->holder_state.used_ns += (lead - behind_most_ns(gpu)) /
						   gs_usage_shares(t->holder_state.group->most);
	}
}

/* A group that is further behind than behind_most_ns() has not wanted more, and the rest is
 * forgotten. Comparing all pairs of groups is slow, so each one is first checked against an upper
 * bound of its lag (the most use and the most shares of all), which hardly any exceeds. */
static void forget(struct gs_gpu *gpu)
{
	double most_ns = 0, shares = 0;
	struct gs_gpu_group *group;

	LIST_FOREACH (group, &gpu->groups.used, link) {
		if (!group->joined)
			continue;
		if (group->used_ns > most_ns)
			most_ns = group->used_ns;
		if (group->shares > shares)
			shares = group->shares;
	}
	LIST_FOREACH (group, &gpu->groups.used, link) {
		if (!group->joined || (most_ns - group->used_ns) * shares <= behind_most_ns(gpu))
			continue;
		forget_of(gpu, group);
		if (group->used_ns > most_ns)
			most_ns = group->used_ns;
	}
}

void gs_usage_step(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;

	charge(gpu, now);
	find_present(gpu);
	count_accounts(gpu, now);
	LIST_FOREACH (t, &gpu->clients, link)
		if (t->task && !t->holder_state.joined)
			open_account(gpu, t);
	forget(gpu);
	forget_within_groups(gpu);
}
