/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping less urgent clients' queues; see launch_barrier.h. */
#include "gpushare/arbiter/launch_barrier.h"

#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/polling.h"

/* How often it is polled whether the more urgent client still computes: while others are stopped
 * for it, and when they have been for as long as they may. */
#define POLL_NS (20 * GS_NS_PER_US)
#define POLL_LATER_NS (1 * GS_NS_PER_MS)
/* Bounds of launch_barrier in the page. */
#define EVERY_LEAST_US 1
#define EVERY_MOST_US UINT64_C(1000000)
/* In a burst with short kernels so many polls in a row may find the client between two of them. */
#define POLLS 3
/* The shim says no later time (shim/context/launch_barrier.c). */
#define UNTIL_MOST_NS (1 * GS_NS_PER_MS)
/* Others stop for a client that computes at least this part of the time of its bursts, without and
 * with the pause after each. A program that launches kernel by kernel from Python computes for
 * little more than half of its bursts; while others stop for it, the GPU is idle for the rest. */
#define DENSE_PERCENT 75
#define WORTH_PERCENT 60
/* A client is judged by bursts for which others are stopped, since their work would slow it down,
 * and any client would look busy. Others stop for each client in one of so many bursts at least: it
 * may have come to launch in another way. */
#define TRIAL_BURSTS 16
/* The sums of gs_launches are halved beyond this, so that they follow what the program does. */
#define SUMS_MOST_NS (10 * GS_NS_PER_MS)

/* The client should ring at its next launch, or need not. It takes the word from NEXT to SEEN
 * itself when it has rung. */
static void tell(struct gs_gpu_client *t, enum gs_launch_tell is)
{
	t->launches.tell = is;
	gs_page_tell(t->p.page->priorities.tell, is);
}

void gs_launch_barrier_tell(struct gs_gpu_client *t, int stops, int tells)
{
	const struct gs_gpu_options *o = &t->gpu->o;
	uint64_t every = o->launch_every_ns / GS_NS_PER_US;

	if (o->one_context || !o->launch_every_ns)
		every = 0;
	else if (every < EVERY_LEAST_US)
		every = EVERY_LEAST_US;
	else if (every > EVERY_MOST_US)
		every = EVERY_MOST_US;
	gs_page_tell(t->p.page->priorities.wait_every_us, stops ? every : 0);
	if (!tells || !every)
		tell(t, GS_LAUNCH_TELL_NOT);
	else if (t->launches.tell == GS_LAUNCH_TELL_NOT)
		tell(t, GS_LAUNCH_TELL_NEXT);
}

/* Does it compute, as far as its page says? Without a time slice it only waits to. */
static int computes(const struct gs_gpu_client *t, uint64_t now)
{
	uint64_t until = gs_page_load(t->p.page->priorities.until_ns);

	if (t->launches.tell == GS_LAUNCH_TELL_NOT || t->stopped || t->bad.is ||
	    !gs_gpu_client_has_slice(t))
		return 0;
	return t->found.live || (until > now && until - now <= UNTIL_MOST_NS);
}

static void add_up(struct gs_launches *l, uint64_t ns)
{
	l->bursts_ns += ns;
	l->computed_ns += l->gap_ns;
	l->gap_ns = 0;
	while (l->bursts_ns + l->pauses_ns > SUMS_MOST_NS) {
		l->bursts_ns /= 2;
		l->pauses_ns /= 2;
		l->computed_ns /= 2;
	}
}

/* The client, which is in a burst, was polled. Between two polls it counts as half of what it was
 * at each of them. */
static void add_poll(struct gs_launches *l, int is, uint64_t now)
{
	if (!l->is_alone)
		return;
	l->gap_ns += (now - l->seen_ns) / 2 * (uint64_t)(l->computed + is);
	if (is)
		add_up(l, now - l->latest);
}

/* It computes at this moment. */
static int goes_on(struct gs_gpu_client *t, uint64_t now)
{
	struct gs_launches *l = &t->launches;

	if (!l->since) {
		l->since = now;
		l->gap_ns = 0;
		l->is_alone = 0;
		l->bursts++;
	}
	l->latest = l->seen_ns = now;
	l->computed = 1;
	tell(t, GS_LAUNCH_TELL_SEEN);
	return 1;
}

/* Is the client in a burst of work? */
static int is_active(struct gs_gpu_client *t, uint64_t now)
{
	uint64_t pause = GS_LAUNCHES_PAUSE_NS + POLLS * gs_polling_poll(t->gpu, POLL_NS);
	struct gs_launches *l = &t->launches;
	int is = computes(t, now);

	if (l->since)
		add_poll(l, is, now);
	if (is)
		return goes_on(t, now);
	l->computed = 0;
	l->seen_ns = now;
	if (l->since && now - l->latest < pause)
		return 1;
	if (l->since && l->is_alone) { /* others have been stopped for that pause, too */
		l->gap_ns = 0;
		l->pauses_ns += pause;
		add_up(l, 0);
	}
	l->since = 0;
	if (l->tell == GS_LAUNCH_TELL_NOT)
		return 0;
	tell(t, GS_LAUNCH_TELL_NEXT);
	/* It may have launched just now: it writes until_ns and then reads `tell`. */
	atomic_thread_fence(memory_order_seq_cst);
	return computes(t, now) && goes_on(t, now);
}

/* Does it keep the GPU busy in its bursts? Of a client that nothing is known of this is assumed. */
static int is_dense(const struct gs_launches *l)
{
	return l->computed_ns * 100 >= l->bursts_ns * DENSE_PERCENT &&
	       l->computed_ns * 100 >= (l->bursts_ns + l->pauses_ns) * WORTH_PERCENT;
}

static int others_should_stop(const struct gs_launches *l)
{
	return is_dense(l) || l->bursts % TRIAL_BURSTS == 0;
}

/* Finds the most urgent client for which others stop; NULL: there is none. Returns when its burst,
 * or another one's, must be polled again; UINT64_MAX: there is no burst. */
static uint64_t find_urgent(struct gs_gpu *gpu, struct gs_gpu_client **urgent, uint64_t now)
{
	struct gs_gpu_client *t;
	uint64_t next = UINT64_MAX;

	*urgent = NULL;
	LIST_FOREACH (t, &gpu->clients, link) {
		uint64_t poll_ns;

		if (!is_active(t, now))
			continue;
		poll_ns = now - t->launches.since < GS_LAUNCHES_CLOSED_MOST_NS ? POLL_NS :
										 POLL_LATER_NS;
		poll_ns = gs_polling_poll(gpu, poll_ns);
		if (now + poll_ns < next)
			next = now + poll_ns;
		if (others_should_stop(&t->launches) &&
		    (!*urgent || gs_gpu_client_compare(t, *urgent) > 0))
			*urgent = t;
	}
	LIST_FOREACH (t, &gpu->clients, link)
		t->launches.is_alone =
			t == *urgent && now - t->launches.since < GS_LAUNCHES_CLOSED_MOST_NS;
	return next;
}

static void stop_or_let_go(struct gs_gpu_client *t, int stop, uint64_t now)
{
	struct gs_priorities *p = &t->p.page->priorities;
	uint64_t *since = &t->launches.stopped_since;
	uint32_t open;

	if (!stop)
		*since = 0;
	else if (!*since)
		*since = now;
	open = !stop || now - *since >= GS_LAUNCHES_CLOSED_MOST_NS;
	if (gs_page_load(p->launches_open) == open)
		return;
	if (!open)
		gs_page_store(p->closings, gs_page_load(p->closings) + 1);
	gs_page_store(p->launches_open, open);
}

uint64_t gs_launch_barrier_step(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *urgent, *t;
	uint64_t next;

	/* All barriers are open: gs_launch_barrier_reset(). */
	if (gpu->o.one_context || !gpu->o.launch_every_ns)
		return UINT64_MAX;
	next = find_urgent(gpu, &urgent, now);
	LIST_FOREACH (t, &gpu->clients, link)
		stop_or_let_go(t,
			       urgent && t != gpu->pin.client &&
				       gs_page_load(t->p.page->priorities.wait_every_us) &&
				       gs_gpu_client_compare(urgent, t) > 0,
			       now);
	return next;
}

void gs_launch_barrier_reset(struct gs_gpu_client *t)
{
	struct gs_priorities *p = &t->p.page->priorities;

	t->launches = (struct gs_launches) { 0 };
	gs_page_store(p->wait_every_us, 0);
	gs_page_store(p->tell, GS_LAUNCH_TELL_NOT);
	gs_page_store(p->launches_open, 1);
}
