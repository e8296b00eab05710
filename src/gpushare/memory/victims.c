/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing whose memory is taken back; see victims.h. */
#define _GNU_SOURCE
#include "gpushare/memory/victims.h"

#include <inttypes.h>
#include <stdlib.h>

#define MIB(bytes) ((bytes) >> 20)

/* The larger ones first, so that a prefix is the fewest; of equals the cheaper one. */
static int by_size(const void *a, const void *b)
{
	const struct gs_victim *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->priority != y->priority ? (x->priority < y->priority ? -1 : 1) : 0;
}

static void swap(struct gs_victim *a, struct gs_victim *b)
{
	struct gs_victim c = *a;

	*a = *b;
	*b = c;
}

/* Those that may be taken at all, to the front. */
static size_t eligible(struct gs_victim *c, size_t n, int32_t priority, uint64_t host_left)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (c[i].priority < priority && c[i].bytes && c[i].host <= host_left)
			swap(&c[k++], &c[i]);
	qsort(c, k, sizeof(*c), by_size);
	return k;
}

/* The fewest up to that priority which make the room; 0: all of them do not. to_front: they are put
 * before the others. */
static size_t fewest(struct gs_victim *c, size_t n, int32_t ceiling, uint64_t need,
		     uint64_t host_left, int to_front)
{
	uint64_t freed = 0, host = 0;
	size_t k = 0;

	for (size_t i = 0; i < n && freed < need; i++) {
		if (c[i].priority > ceiling || c[i].host > host_left - host)
			continue;
		freed += c[i].bytes;
		host += c[i].host;
		if (to_front)
			swap(&c[k], &c[i]);
		k++;
	}
	return freed >= need ? k : 0;
}

/* One is enough: of those of the lowest priority the one that is moved fastest. */
static void single(struct gs_victim *c, size_t n, int32_t ceiling, uint64_t need)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (c[i].priority <= ceiling && c[i].bytes >= need &&
		    (best == n || c[i].host < c[best].host))
			best = i;
	swap(&c[0], &c[best]);
}

static int no_choice(const struct gs_victim *c, size_t n, int32_t priority, uint64_t need,
		     uint64_t host_left, struct gs_error *err)
{
	uint64_t freed = 0, host = 0;

	for (size_t i = 0; i < n; i++)
		if (c[i].priority < priority) {
			freed += c[i].bytes;
			host += c[i].host;
		}
	if (!freed)
		return gs_fail(err, "no step of lower priority has memory that can be taken back");
	if (freed < need)
		return gs_fail(err,
			       "the steps of lower priority have %" PRIu64 " of the %" PRIu64
			       " MiB that are missing",
			       MIB(freed), MIB(need));
	return gs_fail(err,
		       "%" PRIu64 " MiB would go to the host's memory, which may take %" PRIu64
		       " MiB more (MemoryPreemptHostLimit)",
		       MIB(host), MIB(host_left));
}

int gs_victims_choose(struct gs_victim *c, size_t n, int32_t priority, uint64_t need,
		      uint64_t host_left, struct gs_error *err)
{
	size_t k = eligible(c, n, priority, host_left), best = 0;
	int32_t ceiling = 0;

	for (size_t i = 0; i < k; i++) {
		size_t few = fewest(c, k, c[i].priority, need, host_left, 0);

		if (few && (!best || few < best || (few == best && c[i].priority < ceiling))) {
			best = few;
			ceiling = c[i].priority;
		}
	}
	if (!best)
		return no_choice(c, n, priority, need, host_left, err);
	if (best == 1)
		single(c, k, ceiling, need);
	else
		fewest(c, k, ceiling, need, host_left, 1);
	return (int)best;
}
