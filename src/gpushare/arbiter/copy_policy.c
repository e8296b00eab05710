/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose copies wait; see copy_policy.h. */
#include "gpushare/arbiter/copy_policy.h"

static int are_equals(enum gs_copy_policy policy, const struct gs_copier *a,
		      const struct gs_copier *b)
{
	return policy == GS_COPY_POLICY_FAIR || a->rank == b->rank;
}

/* Who comes is neither ahead nor behind: it has what the last of its equals has. */
static void join(enum gs_copy_policy policy, struct gs_copier *c, struct gs_copier *copier[],
		 size_t n)
{
	const struct gs_copier *last = NULL;

	for (size_t i = 0; i < n; i++)
		if (copier[i] != c && copier[i]->joined && are_equals(policy, copier[i], c) &&
		    (!last || copier[i]->used < last->used))
			last = copier[i];
	c->used = last ? last->used : 0;
	c->joined = 1;
}

static void account(struct gs_copier *c, uint64_t now)
{
	if (c->closed && c->wants && c->decided_ns && now > c->decided_ns)
		c->waited_ns += now - c->decided_ns;
	c->decided_ns = now;
	c->used += (double)(c->bytes - c->counted) / c->shares;
	c->counted = c->bytes;
	if (c->wants)
		c->wanted_ns = now;
	else if (now - c->wanted_ns > GS_COPY_PAUSE_NS)
		c->joined = 0;
}

static int is_urged(const struct gs_copier *c, struct gs_copier *copier[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (copier[i]->wants && copier[i]->rank > c->rank)
			return 1;
	return 0;
}

/* How much more than its part it has copied, bytes, beside the one of its equals that has least. */
static double lead(enum gs_copy_policy policy, const struct gs_copier *c,
		   struct gs_copier *copier[], size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		double is = (c->used - copier[i]->used) * c->shares;

		if (copier[i] != c && copier[i]->wants && are_equals(policy, copier[i], c) &&
		    is > most)
			most = is;
	}
	return most;
}

static int is_to_wait(enum gs_copy_policy policy, struct gs_copier *c, struct gs_copier *copier[],
		      size_t n)
{
	double is = c->joined ? lead(policy, c, copier, n) : 0;

	c->leads = is > (c->leads ? 0 : (double)GS_COPY_LEAD_BYTES);
	return c->leads || (policy == GS_COPY_POLICY_PRIORITY && is_urged(c, copier, n));
}

/* For so long that it is to be open, for a while. */
static int has_waited(const struct gs_copier *c, uint64_t now)
{
	uint64_t since = now - c->changed_ns;

	return c->closed ? since >= GS_COPY_CLOSED_MOST_NS :
			   c->reopened && since < GS_COPY_OPEN_LEAST_NS;
}

static void set(struct gs_copier *c, int closed, int in_spite, uint64_t now)
{
	if (closed == c->closed)
		return;
	c->closed = closed != 0;
	c->reopened = !closed && in_spite;
	c->changed_ns = now;
}

void gs_copy_decide(enum gs_copy_policy policy, struct gs_copier *copier[], size_t n, uint64_t now)
{
	for (size_t i = 0; i < n; i++)
		account(copier[i], now);
	for (size_t i = 0; i < n; i++)
		if (copier[i]->wants && !copier[i]->joined)
			join(policy, copier[i], copier, n);
	for (size_t i = 0; i < n; i++) {
		struct gs_copier *c = copier[i];
		uint8_t waits = policy != GS_COPY_POLICY_NO && is_to_wait(policy, c, copier, n);

		set(c, waits && !has_waited(c, now), waits, now);
	}
}
