/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench mix: the papers' experiment, live (EffiSha, section 8.1;
 * FRS, section VI-C).  Programs of one kernel each arrive one after
 * another, in an order that differs from round to round; under the driver's own
 * sharing, under MPS, and under each policy of gpushare, in one run.
 */
#define _GNU_SOURCE
#include "gpushare/bench/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"

#define REQUESTED_ABOUT 32 /* rounds after which gpushared is asked */
#define LEAD_NS (20 * GS_NS_PER_MS)
#define ROUND_S 300
#define SAID_EVERY_NS (5 * GS_NS_PER_S) /* how far the rounds are */

/* ---- Before the rounds ------------------------------------------------- */

/* How many waves each program has. */
static int set_waves(struct mix *m, struct gs_error *err)
{
	for (size_t i = 0; i < m->workload.count; i++) {
		struct sim_kernel *k = &m->workload.kernel[i];

		k->block_tasks = bench_waves(&m->yard, (uint64_t)((double)k->length_ns * m->scale));
		if (k->block_tasks * m->yard.resident > INT32_MAX)
			return gs_fail(err, "%.40s is too long for block-tasks of %.1f us", k->name,
				       (double)m->yard.wave_ns / 1e3);
	}
	return 0;
}

/*
 * Each program by itself: warms it up, and is what the slowdown is measured against. Under gpushare
 * the first dozen launches differ from all later ones: some go out as written, to be compared with
 * the kernel's variant.
 */
static int run_alone(struct mix *m, uint64_t *alone_ns, struct gs_error *err)
{
	for (uint32_t i = 0; i < m->workers.count; i++) {
		bench_set_kernel(&m->workers, i, &m->yard, m->workload.kernel[i].block_tasks);
		alone_ns[i] = bench_workers_alone(&m->workers, i, m->alone, err);
		if (!alone_ns[i])
			return -1;
	}
	return 0;
}

static double geometric_ratio(const struct mix *m, const uint64_t *alone_ns)
{
	double sum = 0;

	for (size_t i = 0; i < m->workload.count; i++)
		sum += log((double)alone_ns[i] / (double)m->workload.kernel[i].length_ns);
	return exp(sum / (double)m->workload.count);
}

/* ---- One round ---------------------------------------------------------- */

static int run_round(struct mix *m, const struct sim_arrival *arrival, struct sim_outcome *outcome,
		     uint64_t *origin_ns, struct gs_error *err)
{
	uint32_t n = m->workers.count;
	uint64_t origin = gs_clock_ns() + LEAD_NS;

	for (uint32_t i = 0; i < n; i++) {
		struct bench_slot *s = &m->workers.page->slot[arrival[i].kernel];

		s->work.launches = 1;
		s->work.period_ns = 0;
		s->work.release_ns = origin + arrival[i].at_ns;
		bench_workers_order(&m->workers, arrival[i].kernel, BENCH_RUN);
	}
	if (bench_workers_wait_all(&m->workers, ROUND_S, err) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		const struct bench_sample *t = &m->workers.page->slot[i].sample[0];
		uint64_t took = t->finish_ns - t->release_ns;
		uint64_t alone = m->workload.kernel[i].length_ns;

		outcome[i] = (struct sim_outcome) {
			.arrival_ns = t->release_ns - origin,
			.start_ns = t->launch_ns - origin,
			.finish_ns = t->finish_ns - origin,
			.waiting_ns = took > alone ? took - alone : 0,
		};
	}
	*origin_ns = origin;
	return 0;
}

/* When each program's block-tasks ran; spans on the host's clock, free() them. */
static int inspect(struct mix *m, struct mix_result *r, struct sim_outcome *outcome,
		   struct gs_span **span, size_t *spans, struct gs_error *err)
{
	uint64_t wrong = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < m->workers.count; i++) {
		struct bench_slot *s = &m->workers.page->slot[i];

		bench_workers_order(&m->workers, i, BENCH_COLLECT);
		if (bench_workers_wait(&m->workers, i, ROUND_S, err) < 0)
			return -1;
		wrong += s->answer.wrong;
		outcome[i].preemptions = s->stretches - 1;
		n += s->stretches;
	}
	r->wrong = wrong; /* of all launches so far */
	*span = malloc(n * sizeof(**span));
	if (!*span)
		return gs_fail(err, "no memory");
	*spans = 0;
	for (uint32_t i = 0; i < m->workers.count; i++) {
		const struct bench_slot *s = &m->workers.page->slot[i];

		for (uint32_t k = 0; k < s->stretches; k++)
			(*span)[(*spans)++] = (struct gs_span) { i, 0, s->stretch[k].from_ns,
								 s->stretch[k].to_ns };
	}
	return 0;
}

/* ---- One way of sharing -------------------------------------------------- */

/*
 * Read the trace after every round. That is a pause in which gpushared's budget of processor time
 * recovers, so rounds without it would have other hand-overs than those that the simulator is
 * given.
 */
static int add_round(struct mix *m, struct mix_result *r, const struct sim_arrival *arrival,
		     struct sim_rounds *rounds, struct mix_gaps *gaps, struct gs_error *err)
{
	unsigned every = (m->rounds + REQUESTED_ABOUT - 1) / REQUESTED_ABOUT;
	struct sim_outcome outcome[BENCH_PROGRAMS_MAX];
	uint64_t before = gaps->handovers, origin;
	struct gs_span *span = NULL;
	size_t spans = 0;

	if (run_round(m, arrival, outcome, &origin, err) < 0)
		return -1;
	/* Ask first: gpushared recovers the processor time of the answer while the trace is read.
	 */
	if (bench_managed(r->way.share) && r->rounds % every == 0 &&
	    mix_gaps_request(m, gaps, err) < 0)
		return -1;
	if (inspect(m, r, outcome, &span, &spans, err) < 0)
		return -1;
	mix_gaps_find(m, span, spans, bench_managed(r->way.share), gaps);
	sim_rounds_add(rounds, outcome, gaps->handovers - before, 0);
	if (r->rounds++ == 0) {
		r->span = span;
		r->spans = spans;
		r->origin_ns = origin;
	} else {
		free(span);
	}
	return 0;
}

/* An interrupt ends them, and those before it count. */
static int run_rounds(struct mix *m, struct mix_result *r, struct sim_rounds *rounds,
		      struct mix_gaps *gaps, struct gs_error *err)
{
	struct sim_arrival arrival[BENCH_PROGRAMS_MAX];
	uint64_t state, said_ns = gs_clock_ns();

	sim_order_first(&m->order, &m->workload, arrival, &state);
	while (r->rounds < m->rounds) {
		sim_order_next(&m->order, arrival, m->workload.count, &state);
		if (add_round(m, r, arrival, rounds, gaps, err) < 0)
			return bench_interrupted && r->rounds ? 0 : -1;
		if (gs_clock_ns() - said_ns < SAID_EVERY_NS)
			continue;
		said_ns = gs_clock_ns();
		fprintf(stderr, "gpushare-bench: %s %s: %u of %u rounds\n",
			bench_way_isolation(&r->way), r->way.policy, r->rounds, m->rounds);
	}
	return 0;
}

static int measure(struct mix *m, struct mix_result *r, struct gs_error *err)
{
	struct sim_rounds *rounds = sim_rounds_create(&m->workload);
	struct mix_gaps *gaps = calloc(1, sizeof(*gaps));
	int rc = -1;

	if (!rounds || !gaps)
		gs_fail(err, "no memory");
	else
		rc = run_rounds(m, r, rounds, gaps, err);
	if (rc == 0 && sim_rounds_finish(rounds, r->way.policy, &r->row, &r->live) < 0)
		rc = gs_fail(err, "no memory");
	if (rc == 0)
		mix_gaps_result(m, gaps, r);
	sim_rounds_destroy(rounds);
	free(gaps);
	return rc;
}

/* The programs under one way; the first time of all, their alone times are the measure. */
static int run_way(struct mix *m, struct mix_result *r, int first, int rounds, struct gs_error *err)
{
	uint64_t alone_ns[BENCH_PROGRAMS_MAX];
	int rc = -1;

	if (bench_enter(&m->workers, &m->common.stage, &r->way, m->part,
			(uint32_t)m->workload.count, m->yard.memory, err) < 0)
		return -1;
	if ((first && (bench_calibrate(&m->workers, m->task_ns, &m->yard, err) < 0 ||
		       set_waves(m, err) < 0)) ||
	    run_alone(m, alone_ns, err) < 0)
		goto out;
	for (size_t i = 0; first && i < m->workload.count; i++) {
		m->workload.kernel[i].length_ns = alone_ns[i];
		m->sum_ns += alone_ns[i];
	}
	r->alone_ratio = geometric_ratio(m, alone_ns);
	rc = rounds ? measure(m, r, err) : 0;
out:
	bench_leave(&m->workers, &r->way, rc < 0);
	if (rc == 0 && rounds && bench_managed(r->way.share))
		rc = mix_simulate(m, r, err);
	return rc;
}

/* ---- The command ---------------------------------------------------------- */

struct command {
	struct mix mix;
	struct bench_ways ways;
	const char *path;
};

/* How many ways were measured: all, or -1 in *rc with the reason why no more. */
static size_t run_all(struct command *c, struct mix_result *result, size_t count, int *rc,
		      struct gs_error *err)
{
	struct mix_result alone = { .way = { BENCH_DRIVER, "driver" } };
	int measured = 0;

	*rc = -1;
	/* The alone times are measured without gpushare, whatever else is asked for. */
	if (count && result[0].way.share != BENCH_DRIVER) {
		if (run_way(&c->mix, &alone, 1, 0, err) < 0)
			return 0;
		measured = 1;
	}
	for (size_t i = 0; i < count; i++) {
		if (run_way(&c->mix, &result[i], !measured, 1, err) < 0)
			return i;
		measured = 1;
		fprintf(stderr, "gpushare-bench: %s %s: ANTT %.2f\n",
			bench_way_isolation(&result[i].way), result[i].way.policy,
			result[i].live.antt);
		if (bench_interrupted) {
			gs_fail(err, "interrupted after %u of %u rounds", result[i].rounds,
				c->mix.rounds);
			return i + 1;
		}
	}
	*rc = 0;
	return count;
}

static int prepare(struct mix *m, struct gs_error *err)
{
	if (m->workload.count > BENCH_PROGRAMS_MAX)
		return gs_fail(err, "at most %d programs", BENCH_PROGRAMS_MAX);
	for (size_t i = 0; i < m->workload.count; i++) {
		const struct sim_kernel *k = &m->workload.kernel[i];

		if (k->priority < 0 || k->priority > 1000)
			return gs_fail(err, "%.40s: a priority is from 0 to 1000", k->name);
		m->part[i] = (struct bench_part) { .shares = k->shares, .priority = k->priority };
	}
	return 0;
}

static int execute(struct command *c)
{
	struct mix_result *result = calloc(BENCH_WAYS_MAX, sizeof(*result));
	struct bench_way way[BENCH_WAYS_MAX];
	struct gs_error err = { "no memory" };
	size_t count = bench_ways_plan(&c->ways, way), done = 0;
	int rc = -1;

	for (size_t i = 0; result && i < count; i++)
		result[i].way = way[i];
	if (sim_workload_load(c->path, &c->mix.workload, &err) == 0 && result &&
	    prepare(&c->mix, &err) == 0 && bench_stage_open(&c->mix.common.stage, &err) == 0)
		done = run_all(c, result, count, &rc, &err);
	if (rc < 0)
		bench_fail("%s", err.text);
	/* What was measured before something went wrong is not lost. */
	if (done)
		mix_print(&c->mix, result, done);
	if (done && c->mix.common.output && mix_write(&c->mix, result, done) < 0)
		rc = -1;
	for (size_t i = 0; result && i < count; i++) {
		if (i < done && result[i].wrong)
			rc = -bench_fail(
				"%s %s: %llu block-tasks did not run exactly once per launch",
				bench_way_isolation(&result[i].way), result[i].way.policy,
				(unsigned long long)result[i].wrong);
		free(result[i].row);
		free(result[i].span);
	}
	free(result);
	bench_stage_close(&c->mix.common.stage);
	sim_workload_free(&c->mix.workload);
	return rc < 0;
}

static int take_scale(void *of, const char *value, struct gs_error *err)
{
	double *scale = of;
	char *end;

	*scale = strtod(value, &end);
	return *end || !(*scale > 0) || *scale > 1e6 ? gs_fail(err, "'%.40s' is no factor", value) :
						       0;
}

static int run(int argc, char **argv)
{
	static struct command c = {
		.mix = { .rounds = 40,
			 .alone = 20,
			 .task_ns = 50 * GS_NS_PER_US,
			 .scale = 1,
			 .order = { .seed = 1 } },
		.ways = { .policy = "all", .isolation = "none,contexts" },
	};
	static const struct gs_option options[] = {
		{ "workload", 'w', .text = &c.path },
		{ "rounds", 'r', .number = &c.mix.rounds, .least = 1, .most = 100000 },
		{ "gap", .given = &c.mix.order.has_gap, .duration = &c.mix.order.gap_ns },
		{ "shuffle", .given = &c.mix.order.shuffle },
		{ "seed", .wide = &c.mix.order.seed, .most = INT64_MAX },
		{ "scale", .take = take_scale, .of = &c.mix.scale },
		{ "task", .duration = &c.mix.task_ns },
		{ "alone", .number = &c.mix.alone, .least = 1, .most = 64 },
		{ "handover", .given = &c.mix.has_handover, .duration = &c.mix.handover_ns },
		BENCH_WAYS_OPTIONS(c.ways),
		BENCH_COMMON_OPTIONS(c.mix.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_mix, &c.mix.common, options, 0, argc, argv, &status))
		return status;
	if (!c.path)
		return bench_usage(&bench_verb_mix, "--workload must be given");
	return execute(&c);
}

const struct bench_verb bench_verb_mix = {
	.name = "mix",
	.usage = "--workload FILE.csv [OPTION]...",
	.words = "Programs of one kernel each that arrive one after another",
	.help = "  -w, --workload FILE   as gpushare-sim's; lengths are those alone on this device\n" BENCH_WAYS_HELP(
		"all") "  -r, --rounds N        (default 40)\n"
		       "      --gap MS          arrivals this far apart, whatever the file says\n"
		       "      --shuffle         draw anew for each round who arrives when\n"
		       "      --seed N          of the shuffle (default 1); gpushare-sim's is the same\n"
		       "      --scale X         multiply the file's lengths\n"
		       "      --task MS         length of a block-task (default 50us)\n"
		       "      --alone N         launches of each program alone (default 20)\n"
		       "      --handover MS     of the simulator (default: as measured, by kind)\n",
	.run = run,
};
