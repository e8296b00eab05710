/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's GPU against the simulator: FRS's nine programs as clients
 * of gs_gpu, with pages of their own, on a GPU in virtual time whose context
 * switch, launches and wake-ups take what an H200's do; and the same orders in
 * gpushare-sim with the hand-overs that were seen.  Every policy must agree
 * within 10 %.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "gpushare/config/sched_options.h"
#include "gpushare/metrics/metrics.h"
#include "gpushare/sim/experiment.h"

#define PROGRAMS 9
/* A decision that falls a microsecond later turns a round of frs or frsp about: fewer leave the
 * DNTT to chance (doc/measurements). Other policies need a quarter of them, and `make check`
 * plays half as many of each: its random numbers are the same ones each time. */
#define ROUNDS 400
#define GAPS 32768
#define NEVER UINT64_MAX

/* What an H200 and its host take (doc/measurements). */
#define WAVE (50 * US)    /* a block-task on every place */
#define LAUNCH (40 * US)  /* from the launch to the first block-task */
#define WAKE (15 * US)    /* of a client's agent */
#define SIGNAL (7 * US)   /* from TOEVICT to the blocks */
#define DOORBELL (5 * US) /* of the daemon */
#define REST (40 * MS)    /* between two rounds */
#define ALONE 6           /* launches of each program by itself before the first round */
#define RETURN (5 * US)   /* from the end of one of those to the next */
#define UNSEEN (100 * US) /* the longest that the daemon may leave an end unseen */

/* Isolation=; the rest is as gpushare.conf's defaults are then. */
static const struct isolation {
	const char *name;
	uint64_t change; /* the GPU's, from one program to another */
	struct {
		double antt, dntt, makespan;
	} frs; /* bars of issue 5 */
	struct {
		double antt, stp;
	} srt;
} isolations[] = {
	{ "contexts", 135 * US, { 3.2, 0.30, 1.06 }, { 2.4, 4.4 } },
	{ "mps", 0, { 2.7, 0.20, 1.02 }, { 2.0, 5.2 } },
};

struct program {
	struct client *c;
	uint64_t length, work;                          /* ns on the GPU; done */
	uint64_t arrives, begins, began, leaves, hears; /* NEVER: not */
	struct sim_outcome outcome;
	int live;
};

enum gap { ENDED, EVICTED, FIRST, KINDS };

static struct program program[PROGRAMS];
static struct sim_workload workload;
static const struct isolation *isolation;
static uint64_t due, origin; /* the daemon's next turn; the round's first arrival */
static struct program *last; /* had the GPU last */
static uint64_t free_at;     /* since then, or NEVER */
static int left_by_eviction, first;
static double gap[KINDS][GAPS];
static size_t gaps[KINDS];

static struct gs_slot *slot_of(struct program *p)
{
	return &p->c->page->slot[0];
}

/* Launched now: the blocks begin when the GPU is free and has switched. */
static void launched(struct program *p)
{
	uint64_t from = now + LAUNCH;

	if (free_at != NEVER && free_at > from)
		from = free_at;
	p->begins = from + (last && last != p ? isolation->change : 0);
}

static void on_arrival(struct program *p)
{
	struct gs_slot *s = slot_of(p);

	p->arrives = NEVER;
	p->live = 1;
	p->work = 0;
	p->outcome = (struct sim_outcome) { .arrival_ns = now - origin };
	gs_page_store(s->started, 0);
	gs_page_store(s->nt, p->length / WAVE);
	gs_page_store(s->done, 0);
	gs_page_store(s->alone_ns, p->length);
	gs_page_store(s->leave_ns, WAVE + SIGNAL);
	gs_page_store(s->flags, GS_SLOT_EVICTABLE);
	gs_page_store(s->seq, p->c->seq++);
	if (has_turn(p->c)) {
		go(p->c, 0, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		launched(p);
	} else {
		go(p->c, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_gpu_doorbell(p->c->gpu_client);
		if (due > now + DOORBELL)
			due = now + DOORBELL;
	}
}

static void on_wake(struct program *p)
{
	p->hears = NEVER;
	gs_page_store(p->c->page->heard, gs_page_load(p->c->page->doorbell));
	if (state(p->c, 0) != GS_K_TORUN)
		return;
	gs_page_store(slot_of(p)->started, 0);
	go(p->c, 0, GS_K_TORUN, GS_K_RUNNING, GS_BY_CLIENT);
	launched(p);
}

static void note_gap(enum gap kind, uint64_t ns)
{
	assert_true(gaps[kind] < GAPS);
	gap[kind][gaps[kind]++] = (double)ns;
}

static void on_begin(struct program *p)
{
	if (last && last != p && free_at != NEVER && now < free_at + isolation->change) {
		p->begins = free_at + isolation->change; /* the other one is still there */
		return;
	}
	p->begins = NEVER;
	gs_page_store(slot_of(p)->started, 1);
	if (state(p->c, 0) == GS_K_TOEVICT) { /* before it began: finds the limit 0 */
		evicted(p->c, 0, p->work / WAVE);
		return;
	}
	if (first)
		note_gap(FIRST, now - origin);
	else if (last != p && p->outcome.arrival_ns + origin < free_at)
		note_gap(left_by_eviction ? EVICTED : ENDED, now - free_at);
	first = 0;
	if (!p->work)
		p->outcome.start_ns = now - origin;
	last = p;
	p->began = now;
	p->leaves = now + (p->length - p->work);
	free_at = p->leaves;
}

static void on_leaving(struct program *p)
{
	p->work += now - p->began;
	p->began = p->leaves = NEVER;
	left_by_eviction = p->work < p->length;
	if (left_by_eviction) {
		evicted(p->c, 0, p->work / WAVE);
		return;
	}
	finish(p->c, 0);
	go(p->c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	p->live = 0;
	p->outcome.finish_ns = now - origin;
}

/* What the daemon wrote: whom its doorbell woke, and who must leave at the next block-task's end.
 */
static void poll_at_pages(void)
{
	for (int i = 0; i < PROGRAMS; i++) {
		struct program *p = &program[i];
		struct gs_page *page = p->c->page;
		uint64_t work, end;

		if (gs_page_load(page->heard) != gs_page_load(page->doorbell) && p->hears == NEVER)
			p->hears = now + WAKE;
		if (state(p->c, 0) != GS_K_TOEVICT || p->began == NEVER)
			continue;
		work = p->work + (now + SIGNAL - p->began);
		end = p->began + (work + WAVE - 1) / WAVE * WAVE - p->work;
		if (end < p->leaves)
			p->leaves = free_at = end;
	}
}

static uint64_t next_event(void)
{
	uint64_t t = due;

	for (int i = 0; i < PROGRAMS; i++) {
		const struct program *p = &program[i];
		const uint64_t at[] = { p->arrives, p->hears, p->begins, p->leaves };

		for (size_t k = 0; k < 4; k++)
			if (at[k] < t)
				t = at[k];
	}
	return t;
}

static int step(void)
{
	int live = 0;

	now = next_event();
	for (int i = 0; i < PROGRAMS; i++) {
		struct program *p = &program[i];

		if (p->leaves == now)
			on_leaving(p);
		if (p->arrives == now)
			on_arrival(p);
		if (p->hears == now)
			on_wake(p);
		if (p->begins == now)
			on_begin(p);
		live += p->live || p->arrives != NEVER;
	}
	if (due <= now)
		due = gs_gpu_step(gpu, now);
	poll_at_pages();
	return live;
}

static void begin_like_an_h200(const char *policy, struct gs_sched_options *sched)
{
	struct gs_gpu_options o = options_of(policy);
	struct gs_config *config;
	struct gs_error err;
	char text[64];

	snprintf(text, sizeof(text), "Isolation=%s\nGpu=0 Memory=1G\n", isolation->name);
	config = gs_config_parse("defaults", text, strlen(text), &err);
	assert_non_null(config);
	o.sched = *sched = gs_config_sched_options(config);
	o.overlap_ns = config->overlap_ns;
	o.idle_grace_ns = config->idle_grace_ns;
	o.learn_handover = 1;
	gs_config_free(config);
	now = T0;
	gpu = gs_gpu_create(0, &o, now, &err);
	assert_non_null(gpu);
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		program[i] = (struct program) { .c = join(i + 1, 1),
						.arrives = NEVER,
						.begins = NEVER,
						.began = NEVER,
						.leaves = NEVER,
						.hears = NEVER,
						.length = workload.kernel[i].gpu_ns };
	}
	last = NULL;
	due = now;
	/* Nobody waits, so the daemon looks seldom and most of these come and go unseen. */
	for (int i = 0; i < ALONE * PROGRAMS; i++) {
		origin = program[i / ALONE].arrives = now + RETURN;
		first = 1;
		free_at = NEVER;
		while (step())
			;
	}
	memset(gaps, 0, sizeof(gaps));
}

static unsigned rounds_of(const char *policy)
{
	if (getenv("CHECK_LONG"))
		return ROUNDS;
	return strncmp(policy, "frs", 3) == 0 ? ROUNDS / 2 : ROUNDS / 8;
}

static void play(const struct sim_order *order, unsigned count, struct sim_summary *summary)
{
	struct sim_rounds *rounds = sim_rounds_create(&workload);
	struct sim_arrival arrival[PROGRAMS];
	struct sim_outcome outcome[PROGRAMS];
	struct sim_row *row;
	uint64_t drawn;

	sim_order_first(order, &workload, arrival, &drawn);
	for (unsigned round = 0; round < count; round++) {
		sim_order_next(order, arrival, PROGRAMS, &drawn);
		origin = now + REST;
		first = 1;
		free_at = NEVER;
		for (int i = 0; i < PROGRAMS; i++)
			program[arrival[i].kernel].arrives = origin + arrival[i].at_ns;
		for (int steps = 0; step(); steps++)
			assert_true(steps < 100000);
		for (int i = 0; i < PROGRAMS; i++)
			outcome[i] = program[i].outcome;
		sim_rounds_add(rounds, outcome, 0, 0);
	}
	assert_int_equal(sim_rounds_finish(rounds, "", &row, summary), 0);
	sim_rounds_destroy(rounds);
	free(row);
}

/* Returns what it takes for the cost of a hand-over by now, ns. */
static uint64_t end(void)
{
	struct gs_gpu_status status;

	for (int i = 0; i < PROGRAMS; i++) {
		gs_gpu_remove(gpu, program[i].c->gpu_client, now);
		program[i].c->gpu_client = NULL;
		leave(program[i].c);
	}
	gs_gpu_status(gpu, &status);
	gs_gpu_destroy(gpu);
	return status.handover_ns;
}

static uint64_t longest(enum gap kind)
{
	return (uint64_t)gs_quantile(gap[kind], gaps[kind], 1);
}

static uint64_t median(enum gap kind)
{
	return (uint64_t)gs_quantile(gap[kind], gaps[kind], 0.5);
}

static void within(const char *policy, const char *what, double got, double want)
{
	if (getenv("GPUSHARE_TEST_SHOW"))
		print_message("%s %s: %.3f live, %.3f simulated\n", policy, what, got, want);
	if (got < want * 0.9 || got > want * 1.1)
		fail_msg("%s: %s is %.3f, by the simulator %.3f", policy, what, got, want);
}

/*
 * Under frsp the nine averaged slowdowns, around 2.5, are all but even where hand-overs
 * are cheap: what is left of their spread need not be within 10 % (4,000 rounds: 0.09, 0.05).
 */
static int are_all_but_even(const char *policy, const struct sim_summary *live,
			    const struct sim_summary *sim)
{
	return strcmp(policy, "frsp") == 0 && live->dntt_avg < 0.15 && sim->dntt_avg < 0.15;
}

static void load(void)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	struct gs_error err;

	snprintf(path, sizeof(path), "%s/testsuite/workloads/frs-table1.csv",
		 srcdir ? srcdir : ".");
	if (sim_workload_load(path, &workload, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(workload.count, PROGRAMS);
	for (int i = 0; i < PROGRAMS; i++) {
		struct sim_kernel *k = &workload.kernel[i];

		k->block_tasks = k->length_ns / WAVE;
		k->gpu_ns = k->block_tasks * WAVE;
		k->length_ns = k->gpu_ns + LAUNCH;
	}
}

/* As the issue sets them for an H200; the makespan is all policies'. */
static void keeps_its_bars(const char *policy, const struct sim_summary *s)
{
	int frs = strcmp(policy, "frs") == 0, srt = strcmp(policy, "srt") == 0;
	uint64_t sum = 0;

	if (!frs && !srt)
		return;

	for (int i = 0; i < PROGRAMS; i++)
		sum += workload.kernel[i].length_ns;
	if (s->makespan_ms * 1e6 > isolation->frs.makespan * (double)sum ||
	    (frs && (s->antt > isolation->frs.antt || s->dntt_avg > isolation->frs.dntt)) ||
	    (srt && (s->antt > isolation->srt.antt || s->stp < isolation->srt.stp)))
		fail_msg("%s: %s: ANTT %.2f, DNTT %.2f, STP %.2f, makespan %.2f ms of %.2f",
			 isolation->name, policy, s->antt, s->dntt_avg, s->stp, s->makespan_ms,
			 (double)sum / 1e6);
}

static void under(const struct isolation *what)
{
	struct sim_experiment x = {
		.workload = &workload,
		.order = { .seed = 1, .shuffle = 1, .has_gap = 1, .gap_ns = MS },
	};
	const char *policy;

	isolation = what;
	load();
	for (size_t n = 0; (policy = gs_sched_policy_name(n)); n++) {
		struct sim_summary live, sim;
		struct sim_row *row;

		begin_like_an_h200(policy, &x.options);
		x.rounds = rounds_of(policy);
		play(&x.order, x.rounds, &live);
		x.options.handover_ns = end();
		x.costs = (struct sim_costs) { .ended_ns = median(ENDED),
					       .evicted_ns = median(EVICTED),
					       .first_ns = median(FIRST) };
		assert_int_equal(sim_experiment_run(&x, policy, &row, &sim, NULL), 0);
		free(row);
		if (getenv("GPUSHARE_TEST_SHOW"))
			print_message("%s, %s: hand-overs %.0f, %.0f, %.0f us\n", what->name,
				      policy, (double)x.costs.ended_ns / US,
				      (double)x.costs.evicted_ns / US,
				      (double)x.costs.first_ns / US);
		if (getenv("GPUSHARE_TEST_SHOW"))
			print_message("taken for %.0f us\n", (double)x.options.handover_ns / US);
		/* Most ends are seen soon: what nobody waited for must not make the daemon look
		 * seldom. */
		if (x.costs.ended_ns > what->change + LAUNCH + WAKE + 25 * US)
			fail_msg("%s, %s: %.0f us from an end to the next one's blocks", what->name,
				 policy, (double)x.costs.ended_ns / US);
		if (longest(ENDED) > what->change + LAUNCH + WAKE + UNSEEN)
			fail_msg("%s, %s: once %.0f us from an end to the next one's blocks",
				 what->name, policy, (double)longest(ENDED) / US);
		within(policy, "ANTT", live.antt, sim.antt);
		if (!are_all_but_even(policy, &live, &sim))
			within(policy, "DNTT", live.dntt_avg, sim.dntt_avg);
		within(policy, "DNTT within a round", live.dntt, sim.dntt);
		within(policy, "STP", live.stp, sim.stp);
		within(policy, "makespan", live.makespan_ms, sim.makespan_ms);
		keeps_its_bars(policy, &live);
	}
	sim_workload_free(&workload);
}

static void as_simulated(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(isolations) / sizeof(isolations[0]); i++)
		under(&isolations[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_simulated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
