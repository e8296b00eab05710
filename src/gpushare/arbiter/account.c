/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's accounting; see account.h. */
#include "gpushare/arbiter/account.h"

#include "common/clock.h"
#include "common/saturate.h"
#include "gpushare/arbiter/burst.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/arbiter/usage.h"

/* Launches without a slot are reported later, mostly within a second. Time that was not booked is
 * kept for them for so long. */
#define SPARE_MOST_NS (2 * GS_NS_PER_S)

/* Time in which several processes of a step are busy is booked once. */
static void book_turnaround(struct gs_step_usage *usage, uint64_t ns, uint64_t now)
{
	uint64_t from = ns < now ? now - ns : 0;

	if (!ns) /* a process that was idle says nothing of the others' time */
		return;
	if (usage->busy > 1 && from < usage->booked_ns)
		from = usage->booked_ns < now ? usage->booked_ns : now;
	usage->turnaround_ns += now - from;
	usage->booked_ns = now;
}

/* Books so much time in which the client was busy, and returns for how much of it it had the GPU.
 */
static uint64_t book_busy(struct gs_gpu_client *t, int has_gpu, uint64_t ns, uint64_t now)
{
	struct gs_step_usage *usage = t->p.usage;
	uint64_t had = (uint64_t)((double)ns * gs_usage_part(t, has_gpu));

	if (ns)
		usage->worked_ns = now;
	book_turnaround(usage, ns, now);
	usage->active_ns += had;
	usage->waiting_ns = usage->turnaround_ns > usage->active_ns ?
				    usage->turnaround_ns - usage->active_ns :
				    0;
	return had;
}

static void spare(struct gs_gpu_client *t, uint64_t ns)
{
	t->account.spare_ns += ns;
	if (t->account.spare_ns > SPARE_MOST_NS)
		t->account.spare_ns = SPARE_MOST_NS;
}

static uint64_t pass(struct gs_gpu_client *t, uint64_t now)
{
	uint64_t dt = now > t->account.charged_ns ? now - t->account.charged_ns : 0;

	t->account.charged_ns = now;
	return dt;
}

void gs_gpu_client_charge(struct gs_gpu_client *t, int has_gpu, uint64_t now)
{
	uint64_t dt = pass(t, now);

	if (t->stopped) /* a stopped process waits for nobody */
		return;
	if (!t->account.busy) {
		spare(t, dt);
		return;
	}
	if (gs_usage_part(t, has_gpu) > 0)
		t->account.unpolled_ns += dt;
	gs_burst_charge(t, book_busy(t, has_gpu, dt, now));
}

/* The time of untracked launches that is to be booked. Both reports are of the same launches: the
 * slots' comes as they go on, that of the messages is complete at a program's end. */
static uint64_t untracked_news(struct gs_gpu_client *t)
{
	struct gs_untracked_time *u = &t->account.untracked;
	uint64_t all = u->by_slots_ns > u->by_messages_ns ? u->by_slots_ns : u->by_messages_ns;
	uint64_t news = all - u->booked_ns;

	u->booked_ns = all;
	return news;
}

/*
 * How much of the time since the last charge, and of the spare time before it, the client was busy.
 * As long as a launch goes on, or waits, it was. Else its launches took what they report, or what
 * is predicted; where others compute on the GPU as well, that took longer than alone.
 */
static uint64_t busy_time(const struct gs_gpu_client *t, const struct gs_poll *polled,
			  uint64_t untracked_ns, int has_gpu, uint64_t dt)
{
	const struct gs_account *a = &t->account;
	double part = gs_usage_part(t, has_gpu), ns;
	uint64_t took = polled->unseen_ns - polled->untracked_ns + untracked_ns;

	if (a->busy && (polled->goes_on || part <= 0))
		return dt;
	took += a->busy ? polled->ended_ns : 0;
	ns = (double)(took > a->unpolled_ns ? took - a->unpolled_ns : 0) / part;
	return ns < (double)(dt + a->spare_ns) ? (uint64_t)ns : dt + a->spare_ns;
}

/* Books the time up to now by what a poll has found. */
static void charge_polled(struct gs_gpu_client *t, const struct gs_poll *polled, int has_gpu,
			  uint64_t now)
{
	uint64_t dt = pass(t, now), *spare_ns = &t->account.spare_ns, ns, had;

	if (t->stopped) /* it waits for nobody */
		return;
	/* Whose launches came and went between two polls had the GPU for them. */
	has_gpu |= !t->account.busy;
	t->account.untracked.by_slots_ns += polled->untracked_ns;
	ns = busy_time(t, polled, untracked_news(t), has_gpu, dt);
	had = book_busy(t, has_gpu, ns, now);
	t->account.unpolled_ns = 0;
	spare(t, dt);
	*spare_ns -= ns < *spare_ns ? ns : *spare_ns;
	if (t->account.busy)
		gs_burst_charge(t, had < dt ? had : dt);
	else if (polled->unseen_ns)
		gs_burst_seen(t, polled->unseen_ns < dt ? polled->unseen_ns : dt, now);
}

/*
 * A launch reports the mean time per block-task so far, and its own time once that has been
 * measured. The lesson is kept until the event loop, which owns the table of learned times, fetches
 * it. If the place holds another kernel's lesson that has not been fetched yet, this one is
 * dropped; a later launch reports it again.
 */
static uint64_t mixed(uint64_t old, uint64_t tpt_ps)
{
	return old ? (3 * old + tpt_ps) / 4 : tpt_ps;
}

static void learn(struct gs_gpu_client *t, const struct gs_slot_event *e)
{
	uint64_t key = e->tpt_ps ? gs_learned_of_dims(t->p.kernels->key[e->kernel], e->dims) : 0;
	struct gs_lesson *lesson = &t->gpu->loop.lesson[key % GS_GPU_LESSONS];

	if (!key || e->tpt_ps > UINT64_MAX / 8 || (lesson->times && lesson->entry.key != key))
		return;
	lesson->entry.key = key;
	lesson->entry.tpt_ps = mixed(lesson->entry.tpt_ps, e->tpt_ps);
	lesson->times++;
}

static void book_launch(struct gs_gpu_client *t, struct gs_step_usage_kernel *k,
			const struct gs_slot_event *e)
{
	gs_step_usage_ran(t->p.usage, k, 0, 1, e->evictable);
	if (!k)
		return;
	k->launches++;
	learn(t, e);
	if (!e->evictable)
		k->why = e->why;
}

static void book_end(struct gs_step_usage_kernel *k, const struct gs_slot_event *e)
{
	k->finished++;
	k->turnaround_ns += e->ns;
	if (!e->whole_ns)
		return;
	k->tasks += e->nt;
	k->tasks_ns += e->whole_ns;
}

/*
 * While a kernel's launches do not report their time, the time that the polls have seen stands in.
 */
static void learn_from_seen(struct gs_gpu_client *t, const struct gs_slot_event *e)
{
	uint64_t *tpt_ps = &t->p.kernels->tpt_ps[e->kernel];

	if (!e->tpt_ps || e->tpt_ps > UINT64_MAX / 8)
		return;
	learn(t, e);
	*tpt_ps = mixed(*tpt_ps, e->tpt_ps);
}

static void book_event(struct gs_gpu_client *t, const struct gs_slot_event *e)
{
	struct gs_step_usage_kernel *k = gs_step_usage_kernel(t->p.usage, t->p.kernels, e->kernel);

	if (k && e->alone_ns)
		k->alone_ns = e->alone_ns;
	if (k && e->alone_ns && !e->evictable && e->kind == GS_EV_LAUNCHED)
		k->as_is_ns = e->alone_ns;
	gs_step_usage_ran(t->p.usage, k, e->ran_ns, 0, e->evictable);
	t->account.slots_ns += e->ran_ns;
	if (e->kind == GS_EV_LAUNCHED)
		book_launch(t, k, e);
	else if (k && e->kind == GS_EV_TIMED)
		learn(t, e);
	else if (k && e->kind == GS_EV_LEFT)
		gs_step_usage_left(k, e->ns);
	else if (k && e->kind == GS_EV_PREEMPTED)
		k->preemptions++;
	else if (k && e->kind == GS_EV_FINISHED) {
		book_end(k, e);
		learn_from_seen(t, e);
	}
}

static double kernel_ns(const struct gs_step_usage_kernel *k)
{
	return k ? (double)(k->as_is_ns ? k->as_is_ns : k->alone_ns) : 0;
}

/* What messages report beyond what slots have. */
static void charge_untracked(struct gs_gpu_client *t, double ns, uint64_t now)
{
	uint64_t *spare_ns = &t->account.spare_ns, news;

	t->account.untracked.by_messages_ns +=
		ns < (double)SPARE_MOST_NS ? (uint64_t)ns : SPARE_MOST_NS;
	news = untracked_news(t);
	if (news > *spare_ns)
		news = *spare_ns;
	*spare_ns -= news;
	book_busy(t, 1, news, now);
}

void gs_gpu_client_untracked(struct gs_gpu_client *t, const struct gs_untracked *untracked,
			     size_t count, uint64_t now)
{
	uint64_t since = t->account.untracked_ns + t->account.slots_ns;
	double all = 0, most = now > since ? (double)(now - since) : 0, part;

	for (size_t i = 0; i < count; i++)
		all += untracked[i].launches *
		       kernel_ns(
			       gs_step_usage_kernel(t->p.usage, t->p.kernels, untracked[i].kernel));
	part = all > most ? most / all : 1;
	t->account.untracked_ns = now;
	t->account.slots_ns = 0;
	if (count)
		t->p.usage->worked_ns = now;
	charge_untracked(t, all * part, now);
	for (size_t i = 0; i < count; i++) {
		struct gs_step_usage_kernel *k =
			gs_step_usage_kernel(t->p.usage, t->p.kernels, untracked[i].kernel);

		gs_step_usage_ran(t->p.usage, k,
				  (uint64_t)(untracked[i].launches * kernel_ns(k) * part),
				  untracked[i].launches, 0);
		if (k)
			k->launches += untracked[i].launches;
	}
}

void gs_gpu_client_launched(struct gs_gpu_client *t, uint64_t launched)
{
	uint64_t seen = t->watch.last_number, untold = launched > seen ? launched - seen : 0;

	if (untold > GS_WATCH_NT_MAX || untold <= t->account.told_launches)
		return;
	t->p.usage->launches += untold - t->account.told_launches;
	t->account.told_launches = untold;
}

/* How many of these launches, which a poll has found, the client had not reported before. */
static uint64_t untold(struct gs_gpu_client *t, uint64_t launches)
{
	uint64_t told = launches < t->account.told_launches ? launches : t->account.told_launches;

	t->account.told_launches -= told;
	return launches - told;
}

/*
 * The trace shows as waiting whoever has work and no time slice: also a client that is no task of
 * the scheduler, since all that it has on the GPU cannot leave.
 */
static void trace_wait(struct gs_gpu_client *t, uint64_t now)
{
	if (t->task || t->phase != GS_WAITING)
		return;
	if (!t->account.busy || t->stopped)
		gs_gpu_client_wait_over(t, now);
	else if (!t->slice.wait_since)
		t->slice.wait_since = now;
}

void gs_gpu_client_account(struct gs_gpu_client *t, const struct gs_poll *polled, int has_gpu,
			   uint64_t now)
{
	struct gs_step_usage *usage = t->p.usage;

	charge_polled(t, polled, has_gpu, now);
	usage->launches += untold(t, polled->launches);
	if (polled->launches)
		usage->worked_ns = now;
	usage->preemptions += polled->preemptions;
	for (uint32_t i = 0; i < polled->nevents; i++)
		book_event(t, &polled->event[i]);
	if (!t->account.busy && polled->launches)
		usage->periods++;
	t->found = polled->found;
	if (t->account.busy && !t->found.live) {
		gs_polling_idle(t, now);
		gs_burst_pause(t, now);
	} else if (!t->account.busy && t->found.live) {
		gs_polling_busy(t, now);
		gs_burst_begin(t, now);
	}
	t->account.busy = t->found.live != 0;
	trace_wait(t, now);
}

/* More than that nobody has copied since the last look: the page is not to be believed. */
#define COPIED_MOST (UINT64_C(1) << 56)

static void book(uint64_t *all, uint64_t *booked, uint64_t is)
{
	uint64_t more = is - *booked;

	*booked = is;
	if (more < COPIED_MOST)
		*all = gs_add_saturated(*all, more); /* hundreds of pages may say as much as that */
}

void gs_gpu_client_copied(struct gs_gpu_client *t)
{
	for (int i = 0; i < GS_COPY_DIRECTIONS; i++) {
		const struct gs_copies_made *made = &t->p.page->copies.made[i];
		struct gs_copied *all = &t->p.usage->copied[i], *booked = &t->account.copied[i];

		book(&all->copies, &booked->copies, gs_page_load(made->copies));
		book(&all->bytes, &booked->bytes, gs_page_load(made->bytes));
		book(&all->host_ns, &booked->host_ns, gs_page_load(made->host_ns));
	}
}

void gs_gpu_client_evicted(struct gs_gpu_client *t, uint64_t since, uint64_t now)
{
	struct gs_gpu *gpu = t->gpu;

	gpu->figures.evictions++;
	gs_step_usage_evicted(&t->p.usage->evicted, now - since);
	gs_step_usage_evicted(&gpu->figures.latency, now - since);
	gs_trace_add(gpu->trace, t->traced, GS_TRACE_EVICT, since, now);
}
