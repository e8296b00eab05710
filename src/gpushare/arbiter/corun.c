/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Equals beside each other on parts of the GPU; see corun.h. */
#include "gpushare/arbiter/corun.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/corun_known.h"
#include "gpushare/arbiter/holders.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/arbiter/usage.h"
#include "gpushare/corun/balance.h"

/* So many epochs decide; the last JUDGED of them are those that count, when the parts have become
 * about right. */
#define TRIAL_EPOCHS 7
#define JUDGED 3
/* Once it is decided, epochs are so many times as long. */
#define KEPT_TIMES 10
/* So many of those in a row must gain too little before it ends. */
#define POOR_MOST 3
/* How long the speed that each had alone counts. */
#define SOLO_LASTS_NS (20 * GS_NS_PER_S)
/* After so many trials that something has cut short there is none for a while. */
#define CUT_SHORT_MOST 3
/* A client that pauses for less than this is still one of them. */
#define ABSENT_NS (10 * GS_NS_PER_MS)
/* How often it is polled whether the kernels have left, and after how long they go on even if some
 * have not. */
#define POLL_NS (20 * GS_NS_PER_US)
#define LEAVE_MOST_NS (5 * GS_NS_PER_MS)
/* No kernel gains so much by fewer blocks; a claim that has changed meanwhile may say so. */
#define PROGRESS_MOST 4.0

_Static_assert(GS_BALANCE_PARTS == GS_PAGE_PARTS, "the page says what is divided here");

static int is_member(const struct gs_gpu *gpu, const struct gs_gpu_client *t)
{
	for (uint32_t i = 0; i < gpu->corun.n; i++)
		if (gpu->corun.client[i] == t)
			return 1;
	return 0;
}

static int wants(const struct gs_gpu *gpu, const struct gs_gpu_client *t,
		 const struct gs_gpu_client *of, uint64_t now)
{
	if (gs_gpu_client_is_equal(t, of))
		return 1;
	return is_member(gpu, t) && !t->stopped && !t->bad.is &&
	       gs_gpu_client_compare(t, of) == 0 && gs_gpu_client_used_within(t, ABSENT_NS, now);
}

static int may_divide(const struct gs_gpu_client *t, uint64_t now)
{
	return !t->p.no_corun && !t->p.force_ns && !gs_gpu_client_is_due(t) &&
	       !gs_usage_is_undivided(t) && now >= t->holder_state.undivided_until &&
	       !gs_holders_cannot_leave(t, now);
}

/* Finds the equals that want the GPU. Returns how many; 0 if they cannot run beside each other. */
static uint32_t find(struct gs_gpu *gpu, const struct gs_gpu_client *of,
		     struct gs_gpu_client *found[GS_CORUN_CLIENTS], uint64_t now)
{
	struct gs_gpu_client *t;
	uint32_t n = 0;

	if (!gpu->o.corun.most || !gpu->o.one_context || !of || !gs_gpu_has_beside(gpu))
		return 0;
	LIST_FOREACH (t, &gpu->clients, link) {
		if (!wants(gpu, t, of, now))
			continue;
		if (n == gpu->o.corun.most || n == GS_CORUN_CLIENTS || !may_divide(t, now))
			return 0;
		gs_corun_insert(found, n++, t);
	}
	return n > 1 ? n : 0;
}

static void tell_part(struct gs_gpu_client *t, uint32_t part)
{
	struct gs_page *page = t->p.page;

	if (gs_page_load(page->priorities.part) == part)
		return;
	gs_page_store(page->priorities.part, part);
	gs_page_doorbell(page);
}

static uint32_t whole(const struct gs_gpu *gpu)
{
	return gpu->o.corun.most && gpu->o.one_context ? GS_PAGE_PARTS : 0;
}

static void tell_parts(struct gs_gpu *gpu)
{
	const struct gs_gpu_corun *c = &gpu->corun;
	int divided = c->phase == GS_CORUN_TRIAL || c->phase == GS_CORUN_KEPT;

	for (uint32_t i = 0; i < c->n; i++)
		tell_part(c->client[i], divided ? c->is[i].parts : whole(gpu));
}

/* Has their kernels leave. They may not launch until they are let go on. */
static void end_epoch(struct gs_gpu *gpu, uint64_t now)
{
	gpu->corun.ended_ns = now;
	for (uint32_t i = 0; i < gpu->corun.n; i++) {
		struct gs_gpu_client *t = gpu->corun.client[i];
		uint64_t leave_ns = 0;
		unsigned evicted;

		t->holder_state.paused = 1;
		if (!gs_gpu_client_has_slice(t))
			continue;
		gs_gpu_client_grant(t, 0);
		if (gs_gpu_client_sweep(t, now, &evicted, &leave_ns))
			gs_page_doorbell(t->p.page);
	}
}

/* By the polls of this step. What has not started yet is queued behind a kernel that has left. */
static int have_left(const struct gs_gpu *gpu, uint64_t now)
{
	for (uint32_t i = 0; now - gpu->corun.ended_ns < LEAVE_MOST_NS && i < gpu->corun.n; i++)
		if (gpu->corun.client[i]->found.on_gpu)
			return 0;
	return 1;
}

static void let_go_on(struct gs_gpu_client *t)
{
	t->holder_state.paused = 0;
	if (!gs_gpu_client_has_slice(t) || t->holder_state.barred)
		return;
	gs_gpu_client_grant(t, 1);
	gs_gpu_client_go(t);
}

static void begin_epoch(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;

	c->ended_ns = 0;
	c->since_ns = now;
	for (uint32_t i = 0; i < c->n; i++) {
		c->worked_before_ns[i] = c->client[i]->account.worked_ns;
		if (c->phase != GS_CORUN_SOLO || i == c->alone)
			let_go_on(c->client[i]);
	}
}

static void say(const struct gs_gpu *gpu, const char *what)
{
	const struct gs_gpu_corun *c = &gpu->corun;
	char sum[64] = "";

	if (c->sum > 0)
		snprintf(sum, sizeof(sum), ": the sum of their progress is %.2f", c->sum);
	gs_log(GS_LOG_INFO, "gpu %u: %s and %u more %s%s", gpu->index, c->client[0]->p.name,
	       c->n - 1, what, sum);
}

/* They take turns again; who still has a time slice gets all of it at once. */
static void stop(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;
	struct gs_corun_known *known;

	if (c->phase == GS_CORUN_OFF)
		return;
	known = gs_corun_known_of(gpu, c->key, 1);
	known->used_ns = now;
	if (known->kept)
		memcpy(known->is, c->is, sizeof(known->is));
	c->phase = GS_CORUN_OFF;
	tell_parts(gpu);
	end_epoch(gpu, now);
	for (uint32_t i = 0; i < c->n; i++)
		let_go_on(c->client[i]);
	c->n = 0;
}

/* gained_little: the next processes with these programs would, too. */
static void refuse(struct gs_gpu *gpu, int gained_little, uint64_t now)
{
	gs_corun_known_refuse(gs_corun_known_of(gpu, gpu->corun.key, 1),
			      gained_little ? 0 : gpu->corun.who, now);
	stop(gpu, now);
}

static void begin(struct gs_gpu *gpu, struct gs_gpu_client *const client[], uint32_t n,
		  uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;
	struct gs_corun_known *known = gs_corun_known_of(gpu, gs_corun_key(client, n), 1);

	c->key = known->key;
	c->who = gs_corun_who(client, n);
	gs_corun_known_begin(known, c->who);
	c->n = n;
	c->epochs = c->poor = c->solos = 0;
	c->sum = 0;
	c->has_sum = 0;
	/* Not always the same one first: what comes may be cut short again and again. */
	c->alone = (c->alone + 1) % n;
	memcpy(c->is, known->is, sizeof(c->is));
	for (uint32_t i = 0; i < n; i++) {
		c->client[i] = client[i];
		c->is[i].shares = gs_usage_shares(client[i]);
	}
	if (!known->kept) {
		gs_balance_start(c->is, n);
		say(gpu, "are tried on parts of the GPU");
	}
	c->phase = known->kept && now < known->solo_until ? GS_CORUN_KEPT : GS_CORUN_SOLO;
	tell_parts(gpu);
	end_epoch(gpu, now);
	c->since_ns = 0;
}

static uint64_t epoch_ns(const struct gs_gpu *gpu)
{
	return gpu->o.corun.epoch_ns * (gpu->corun.phase == GS_CORUN_KEPT ? KEPT_TIMES : 1);
}

static double speed(const struct gs_gpu_corun *c, uint32_t i, uint64_t now)
{
	uint64_t worked_ns = c->client[i]->account.worked_ns - c->worked_before_ns[i];

	return (double)worked_ns / (double)(now - c->since_ns);
}

/* One of them has been alone for an epoch. Returns 0 if it has done nothing. */
static int solo_ended(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;
	struct gs_corun_known *known = gs_corun_known_of(gpu, c->key, 1);

	known->solo[c->alone] = speed(c, c->alone, now);
	if (!(known->solo[c->alone] > 0))
		return 0;
	c->alone = (c->alone + 1) % c->n;
	if (++c->solos < c->n)
		return 1;
	c->solos = 0;
	known->solo_until = now + SOLO_LASTS_NS;
	c->phase = known->kept ? GS_CORUN_KEPT : GS_CORUN_TRIAL;
	tell_parts(gpu);
	return 1;
}

/* Notes the progress that each has made. Returns the sum. */
static double note_progress(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;
	const struct gs_corun_known *known = gs_corun_known_of(gpu, c->key, 1);

	for (uint32_t i = 0; i < c->n; i++) {
		struct gs_step_usage_beside *beside = &c->client[i]->p.usage->beside;
		double is = known->solo[i] > 0 ? speed(c, i, now) / known->solo[i] : 0;

		c->is[i].progress = is < PROGRESS_MOST ? is : PROGRESS_MOST;
		beside->ns += now - c->since_ns;
		beside->alone_ns += (uint64_t)(c->is[i].progress * (double)(now - c->since_ns));
	}
	return gs_balance_sum(c->is, c->n);
}

/* An epoch of the trial has ended. Returns 0 if they are to take turns. */
static int trial_ended(struct gs_gpu *gpu, double sum)
{
	struct gs_gpu_corun *c = &gpu->corun;
	struct gs_corun_known *known;

	c->epochs++;
	if (c->epochs > TRIAL_EPOCHS - JUDGED)
		c->sum += sum / JUDGED;
	if (c->epochs < TRIAL_EPOCHS)
		return 1;
	if (c->sum < 1 + gpu->o.corun.least_gain)
		return 0;
	c->phase = GS_CORUN_KEPT;
	known = gs_corun_known_of(gpu, c->key, 1);
	known->kept = 1;
	known->begun = 0;
	known->wait_ns = 0;
	c->has_sum = 1;
	say(gpu, "stay on parts of the GPU");
	return 1;
}

static int kept_ended(struct gs_gpu *gpu, double sum, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;
	struct gs_corun_known *known = gs_corun_known_of(gpu, c->key, 1);

	c->sum = sum;
	c->has_sum = 1;
	known->begun = 0;
	c->poor = sum < 1 + gpu->o.corun.least_gain ? c->poor + 1 : 0;
	/* They may have come to do other things. */
	if (now >= known->solo_until) {
		c->phase = GS_CORUN_SOLO;
		tell_parts(gpu);
	}
	return c->poor < POOR_MOST;
}

/* All kernels have left, at the end of an epoch. Returns 0 if they are to take turns. */
static int judge(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;
	double sum;

	if (!c->since_ns) /* it only begins */
		return 1;
	if (c->phase == GS_CORUN_SOLO)
		return solo_ended(gpu, now);
	sum = note_progress(gpu, now);
	if (gs_balance_step(c->is, c->n))
		tell_parts(gpu);
	return c->phase == GS_CORUN_KEPT ? kept_ended(gpu, sum, now) : trial_ended(gpu, sum);
}

static void run(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_corun *c = &gpu->corun;

	if (!c->ended_ns && now - c->since_ns >= epoch_ns(gpu))
		end_epoch(gpu, now);
	if (!c->ended_ns || !have_left(gpu, now))
		return;
	if (judge(gpu, now)) {
		begin_epoch(gpu, now);
		return;
	}
	say(gpu, gpu->corun.phase == GS_CORUN_SOLO ?
			 "take turns, since one of them did nothing while it was alone" :
			 "take turns, since they gain too little on parts of the GPU");
	refuse(gpu, gpu->corun.phase != GS_CORUN_SOLO, now);
}

void gs_gpu_corun_step(struct gs_gpu *gpu, const struct gs_gpu_client *of, uint64_t now)
{
	struct gs_gpu_client *client[GS_CORUN_CLIENTS];
	uint32_t n = find(gpu, of, client, now);
	const struct gs_corun_known *known =
		n ? gs_corun_known_of(gpu, gs_corun_key(client, n), 0) : NULL;

	if (!n || (gs_gpu_corun_is_on(gpu) && gs_corun_who(client, n) != gpu->corun.who))
		stop(gpu, now);
	if (!n)
		return;
	if (!gs_gpu_corun_is_on(gpu)) {
		if (gpu->leaving ||
		    (known && gs_corun_known_is_refused(known, gs_corun_who(client, n), now)))
			return;
		begin(gpu, client, n, now);
		if (gs_corun_known_of(gpu, gpu->corun.key, 1)->begun > CUT_SHORT_MOST) {
			refuse(gpu, 0, now);
			return;
		}
	}
	run(gpu, now);
}

uint64_t gs_gpu_corun_next(const struct gs_gpu *gpu, uint64_t now)
{
	if (!gs_gpu_corun_is_on(gpu))
		return UINT64_MAX;
	return gpu->corun.ended_ns ? now + gs_polling_poll(gpu, POLL_NS) :
				     gpu->corun.since_ns + epoch_ns(gpu);
}

void gs_gpu_corun_configured(struct gs_gpu_client *t)
{
	if (!is_member(t->gpu, t)) /* or else the next step ends it, or goes on */
		tell_part(t, whole(t->gpu));
}

void gs_gpu_corun_reset(struct gs_gpu_client *t, uint64_t now)
{
	if (is_member(t->gpu, t))
		stop(t->gpu, now);
	t->holder_state.paused = 0;
	tell_part(t, whole(t->gpu));
}
