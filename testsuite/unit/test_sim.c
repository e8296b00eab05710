/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulator: its workload files, its engine, and the results of the papers. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "common/clock.h"
#include "gpushare/sim/experiment.h"
#include "gpushare/sim/output.h"

#define MS GS_NS_PER_MS
#define HEADER "name,arrival_ms,length_ms,block_tasks,priority,shares,memory_mb\n"

static struct sim_workload parse(const char *text)
{
	struct sim_workload w;
	struct gs_error err;

	if (sim_workload_parse("t.csv", text, strlen(text), &w, &err) < 0)
		fail_msg("%s", err.text);
	return w;
}

static void workload_files(void **state)
{
	struct sim_workload w = parse("# comment\n" HEADER "a,0,1.5,10,-3,2,64\r\n\n"
				      "b b, 3 ,0.25,1,7,1,0");

	(void)state;
	assert_int_equal(w.count, 2);
	assert_string_equal(w.kernel[0].name, "a");
	assert_int_equal(w.kernel[0].length_ns, 1500000);
	assert_int_equal(w.kernel[0].block_tasks, 10);
	assert_int_equal(w.kernel[0].priority, -3);
	assert_int_equal(w.kernel[0].shares, 2);
	assert_int_equal(w.kernel[0].memory_mb, 64);
	assert_string_equal(w.kernel[1].name, "b b");
	assert_int_equal(w.kernel[1].arrival_ns, 3000000);
	sim_workload_free(&w);
	w = parse("length_ms,name\n4,x\n");
	assert_int_equal(w.kernel[0].length_ns, 4000000);
	assert_int_equal(w.kernel[0].shares, 1);
	sim_workload_free(&w);
}

static void bad_rows_are_named(void **state)
{
	static const struct {
		const char *text, *want;
	} bad[] = {
		{ "", "t.csv:1:1: no kernel" },
		{ HEADER, "t.csv:1:1: no kernel" },
		{ "name,length\n", "t.csv:1:6: the first line names the columns" },
		{ "name,name\n", "t.csv:1:6: a column is named twice" },
		{ "name,arrival_ms\n", "t.csv:1:1: the columns name and length_ms" },
		{ HEADER "a,0,-1,1,1,1,0\n", "t.csv:2:5: length_ms: '-1' is negative" },
		{ HEADER "a,0,0,1,1,1,0\n", "t.csv:2:5: length_ms: a kernel has a length" },
		{ HEADER "a,0,86400001,1,1,1,0\n", "t.csv:2:5: length_ms: '86400001' is longer" },
		{ HEADER "a,0,nan,1,1,1,0\n", "t.csv:2:5: length_ms: 'nan' is not a number" },
		{ HEADER "a,0,,1,1,1,0\n", "t.csv:2:5: length_ms: '' is not a number" },
		{ HEADER "a,x,1,1,1,1,0\n", "t.csv:2:3: arrival_ms: 'x' is not" },
		{ HEADER "a,0,1,0,1,1,0\n", "t.csv:2:7: block_tasks: 0 is not between 1" },
		{ HEADER "a,0,1,1.5,1,1,0\n", "t.csv:2:7: block_tasks: '1.5' is not a whole" },
		{ HEADER "a,0,1,1,1001,1,0\n", "t.csv:2:9: priority: 1001 is not" },
		{ HEADER "a,0,1,1,1,0,0\n", "t.csv:2:11: shares: 0 is not" },
		{ HEADER "a,0,1,1,1,1,-1\n", "t.csv:2:13: memory_mb: -1 is not" },
		{ HEADER "a,0,1,1,1,1\n", "t.csv:2:12: fewer fields than columns" },
		{ HEADER "a,0,1,1,1,1,0,9\n", "t.csv:2:15: more fields than columns" },
		{ HEADER ",0,1,1,1,1,0\n", "t.csv:2:1: name: a name has 1 to 63" },
		{ HEADER "a\"b,0,1,1,1,1,0\n", "t.csv:2:1: name: a name may not" },
		{ HEADER "a,0,1,1,1,1,0\nb,0,1,1,1,1,0\na,0,1,1,1,1,0\n",
		  "t.csv:4:1: name: there is a kernel of this name already" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sim_workload w;
		struct gs_error err;

		if (sim_workload_parse("t.csv", bad[i].text, strlen(bad[i].text), &w, &err) != -1)
			fail_msg("accepted: %s", bad[i].text);
		if (strncmp(err.text, bad[i].want, strlen(bad[i].want)) != 0)
			fail_msg("'%s' instead of '%s'", err.text, bad[i].want);
		assert_null(w.kernel);
	}
}

static void many_names_stay_distinct(void **state)
{
	char *text = malloc(40 * 5000), *at = text;
	struct sim_workload w;

	(void)state;
	at += sprintf(at, "name,length_ms\n");
	for (int i = 0; i < 5000; i++)
		at += sprintf(at, "k%d,1\n", i);
	w = parse(text);
	assert_int_equal(w.count, 5000);
	assert_string_equal(w.kernel[4999].name, "k4999");
	sim_workload_free(&w);
	free(text);
}

/* Results of one policy. */
struct results {
	struct sim_workload workload;
	struct sim_row *row;
	struct sim_summary summary;
};

static void simulate(struct results *r, const char *policy, uint64_t handover, unsigned rounds)
{
	struct sim_experiment x = {
		.workload = &r->workload, .rounds = rounds,
		.order = { .seed = 1, .shuffle = rounds > 1, .has_gap = rounds > 1, .gap_ns = MS },
	};
	struct gs_error err;

	gs_sched_defaults(&x.options);
	x.options.handover_ns = handover;
	x.costs = sim_costs_of(handover);
	free(r->row);
	r->row = NULL;
	if (sim_experiment_run(&x, policy, &r->row, &r->summary, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r->summary.faults, 0);
}

static const struct sim_row *row_of(const struct results *r, const char *name)
{
	for (size_t i = 0; i < r->workload.count; i++)
		if (strcmp(r->workload.kernel[i].name, name) == 0)
			return &r->row[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static void load(struct results *r, const char *name)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	struct gs_error err;

	*r = (struct results){ 0 };
	snprintf(path, sizeof(path), "%s/testsuite/workloads/%s", srcdir ? srcdir : ".", name);
	if (sim_workload_load(path, &r->workload, &err) < 0)
		fail_msg("%s", err.text);
}

static void unload(struct results *r)
{
	free(r->row);
	sim_workload_free(&r->workload);
}

static void within(const char *what, double got, double want, double percent)
{
	if (got < want * (1 - percent / 100) || got > want * (1 + percent / 100))
		fail_msg("%s: %.4f is not within %.0f %% of %.4f", what, got, percent, want);
}

static void kernels_leave_at_block_boundaries(void **state)
{
	struct results r = { .workload = parse("name,arrival_ms,length_ms,block_tasks,priority\n"
					       "long,0,100,10,1\nshort,15,5,1,2\n") };

	(void)state;
	simulate(&r, "piv", 2 * MS, 1);
	/* Told at 15, out at 20; two hand-overs of 2 ms. */
	within("short starts", row_of(&r, "short")->start_ms, 22, 0.001);
	within("short finishes", row_of(&r, "short")->finish_ms, 27, 0.001);
	within("long finishes", row_of(&r, "long")->finish_ms, 109, 0.001);
	within("long waits", row_of(&r, "long")->waiting_ms, 9, 0.001);
	within("evictions", row_of(&r, "long")->preemptions, 1, 0);
	within("makespan", r.summary.makespan_ms, 109, 0.001);
	within("handovers", r.summary.handovers, 2, 0);
	simulate(&r, "fifo", 0, 1);
	within("short starts", row_of(&r, "short")->start_ms, 100, 0.001);
	within("makespan", r.summary.makespan_ms, 105, 0.001);
	unload(&r);
}

/* What a hand-over costs depends on how it comes about; a launch is part of the length. */
static void handovers_cost_what_they_are(void **state)
{
	struct results r = { .workload = parse("name,arrival_ms,length_ms,block_tasks,priority\n"
					       "long,0,100,10,1\nshort,15,5,1,2\n") };
	struct sim_experiment x = {
		.workload = &r.workload, .rounds = 1,
		.costs = { .ended_ns = 3 * MS, .evicted_ns = 2 * MS, .first_ns = MS,
			   .launch_ns = MS / 2 },
	};

	(void)state;
	gs_sched_defaults(&x.options);
	assert_int_equal(sim_experiment_run(&x, "piv", &r.row, &r.summary, NULL), 0);
	/* Two of ten block-tasks of 9.95 ms until 20.9; then 2 ms, 4.5 ms, 3 ms and the other eight. */
	within("long starts", row_of(&r, "long")->start_ms, 1, 0.001);
	within("short starts", row_of(&r, "short")->start_ms, 22.9, 0.001);
	within("short finishes", row_of(&r, "short")->finish_ms, 27.4, 0.001);
	within("short waits", row_of(&r, "short")->waiting_ms, 7.4, 0.001);
	within("long finishes", row_of(&r, "long")->finish_ms, 110, 0.001);
	within("long's slowdown", row_of(&r, "long")->ntt, 1.1, 0.001);
	unload(&r);
	/* Nobody to take it from, and no first hand-over: the launch remains. */
	r.workload = parse("name,length_ms\none,5\n");
	r.workload.kernel[0].gpu_ns = 4 * MS;
	x.costs = sim_costs_of(MS);
	assert_int_equal(sim_experiment_run(&x, "fifo", &r.row, &r.summary, NULL), 0);
	within("it starts", row_of(&r, "one")->start_ms, 1, 0.001);
	within("it finishes", row_of(&r, "one")->finish_ms, 5, 0.001);
	unload(&r);
}

/* Seed 000, section 8.5: what Reduction, Sort and Scan wait under piv with group priorities. */
static void effisha_group_priorities(void **state)
{
	struct results r;

	(void)state;
	load(&r, "seed000-group.csv");
	simulate(&r, "piv", 0, 1);
	within("Reduction waits", row_of(&r, "Reduction")->waiting_ms, 77, 5);
	within("Sort waits", row_of(&r, "Sort")->waiting_ms, 73, 5);
	within("Scan waits", row_of(&r, "Scan")->waiting_ms, 53, 5);
	within("Reduction NTT", row_of(&r, "Reduction")->ntt, 38, 5);
	within("Sort NTT", row_of(&r, "Sort")->ntt, 14, 5);
	within("Scan NTT", row_of(&r, "Scan")->ntt, 39, 5);
	within("FFT NTT", row_of(&r, "FFT")->ntt, 1, 5);
	unload(&r);
}

/* Seed 000, section 8.5: what is said of default, piv and dprr in words. */
static void effisha_comparison(void **state)
{
	struct sim_summary fifo, piv, dprr;
	struct results r;

	(void)state;
	load(&r, "seed000-group.csv");
	simulate(&r, "fifo", 0, 1);
	fifo = r.summary;
	simulate(&r, "piv", 0, 1);
	piv = r.summary;
	simulate(&r, "dprr", 0, 1);
	dprr = r.summary;
	/* "its average NTT is much larger than the default" is of a default that time-slices. */
	assert_true(dprr.antt < piv.antt);
	assert_true(piv.stp > fifo.stp);
	assert_true(dprr.stp > fifo.stp);
	unload(&r);
	load(&r, "seed000-sjf.csv");
	simulate(&r, "fifo", 0, 1);
	fifo = r.summary;
	simulate(&r, "piv", 0, 1);
	piv = r.summary;
	within("FFT NTT", row_of(&r, "FFT")->ntt, 1, 2);
	within("Triad NTT", row_of(&r, "Triad")->ntt, 1, 2);
	within("Scan NTT", row_of(&r, "Scan")->ntt, 1, 2);
	within("MD5Hash NTT", row_of(&r, "MD5Hash")->ntt, 1, 2);
	simulate(&r, "dprr", 0, 1);
	dprr = r.summary;
	/* "On average, both piv and dprr can significantly reduce NTT" */
	assert_true(piv.antt < fifo.antt / 2);
	assert_true(dprr.antt < fifo.antt / 2);
	assert_true(piv.stp > fifo.stp && dprr.stp > fifo.stp);
	unload(&r);
}

/* Figure 4 of seed 004; what its text gives in numbers. */
static const struct {
	const char *policy;
	double antt, dntt, stp;           /* of the paper */
	double ideal_antt, ideal_dntt;    /* without overhead, averaged per application first */
} figure4[] = {
	{ "srt", 1.96, 0.63, 5.06, 1.8, 0.5 },
	{ "sjf", 1.95, 0.70, 5.13, 1.85, 0.65 },
	{ "frs", 2.44, 0.42, 3.79, 2.5, 0.1 },
	{ "rr", 4.87, 1.41, 2.02, 4.4, 1.0 },
	{ "cfs", 6.00, 2.99, 1.79, 4.9, 1.3 },
};

#define ROUNDS 1000 /* a hundred orders ten times */
#define HANDOVER (MS / 10) /* "less than 0.1 ms", section VIII */

static void frs_zero_overhead(void **state)
{
	struct results r;

	(void)state;
	load(&r, "seed004-table1.csv");
	for (size_t i = 0; i < sizeof(figure4) / sizeof(figure4[0]); i++) {
		simulate(&r, figure4[i].policy, 0, ROUNDS);
		within("ANTT", r.summary.antt, figure4[i].ideal_antt, 5);
		if (r.summary.dntt_avg < figure4[i].ideal_dntt - 0.05 ||
		    r.summary.dntt_avg > figure4[i].ideal_dntt + 0.05)
			fail_msg("%s: DNTT %.3f", figure4[i].policy, r.summary.dntt_avg);
		within("makespan", r.summary.makespan_ms, 36.51, 0.1);
	}
	unload(&r);
}

/* Long kernels do not pay for changing places often; a short one that comes is served as ever. */
static void frs_where_all_are_long(void **state)
{
	static const char text[] = "name,arrival_ms,length_ms\na,0,165\nb,1,165\nc,100,2\n";
	struct results r = { .workload = parse(text) };
	uint32_t preemptions = 0;

	(void)state;
	simulate(&r, "frs", HANDOVER, 1);
	within("makespan", r.summary.makespan_ms, 332, 1);
	for (size_t i = 0; i < 3; i++)
		preemptions += r.row[i].preemptions;
	assert_in_range(preemptions, 2, 16); /* over 100 with quanta of 1 ms */
	assert_true(row_of(&r, "c")->ntt < 2.5);
	assert_true(row_of(&r, "b")->ntt / row_of(&r, "a")->ntt < 1.1);
	unload(&r);
}

static void frs_figure_4(void **state)
{
	struct sim_summary s[5];
	struct results r;

	(void)state;
	load(&r, "seed004-table1.csv");
	for (size_t i = 0; i < 5; i++) {
		simulate(&r, figure4[i].policy, HANDOVER, ROUNDS);
		s[i] = r.summary;
		within(figure4[i].policy, s[i].antt, figure4[i].antt, 20);
		within(figure4[i].policy, s[i].stp, figure4[i].stp, 20);
		/* frs and cfs: see "What is not reproduced" in doc/policies.md. */
		if (strcmp(figure4[i].policy, "frs") != 0 && strcmp(figure4[i].policy, "cfs") != 0)
			within(figure4[i].policy, s[i].dntt_avg, figure4[i].dntt, 20);
	}
	/* The order of ANTT: srt and sjf together, frs, rr, cfs; of STP the same. */
	within("sjf against srt", s[1].antt, s[0].antt, 10);
	for (size_t i = 2; i < 5; i++) {
		assert_true(s[i].antt > s[i - 1].antt && s[i].antt > s[0].antt);
		assert_true(s[i].stp < s[i - 1].stp && s[i].stp < s[0].stp);
	}
	/* Of DNTT: frs lowest, srt, sjf, rr, cfs. */
	assert_true(s[2].dntt_avg < s[0].dntt_avg);
	assert_true(s[0].dntt_avg < s[1].dntt_avg);
	assert_true(s[1].dntt_avg < s[3].dntt_avg);
	assert_true(s[3].dntt_avg < s[4].dntt_avg);
	unload(&r);
}

/*
 * Seed 004's lengths as an H200 ran them (doc/results/h200-bench-mix004.csv): 36.69 ms
 * in all, block-tasks of 51.3 us; the costs are the medians of what its picture shows.
 */
static void on_an_h200(struct results *r, struct sim_experiment *x)
{
	load(r, "seed004-table1.csv");
	*x = (struct sim_experiment){
		.workload = &r->workload, .rounds = 40,
		.order = { .seed = 1, .shuffle = 1, .has_gap = 1, .gap_ns = MS },
		.costs = { .ended_ns = 265000, .evicted_ns = 145000, .first_ns = 360000,
			   .launch_ns = 83000 },
	};
	gs_sched_defaults(&x->options);
	x->options.handover_ns = 135000;
	x->options.quantum_handovers = 15;
	for (size_t i = 0; i < r->workload.count; i++) {
		struct sim_kernel *k = &r->workload.kernel[i];

		k->block_tasks = k->length_ns / 51300;
		k->length_ns = (uint64_t)((double)k->length_ns * (36.6868 / 36.51));
	}
}

/* What that run measured, for the policies that are as they were then. */
static void as_the_h200_ran_it(void **state)
{
	static const struct {
		const char *policy;
		double antt, dntt, dntt_avg, stp, makespan;
	} live[] = {
		{ "fifo", 8.1821, 7.3466, 5.2614, 1.9257, 38.4359 },
		{ "piv", 8.1585, 7.3432, 5.2440, 1.9295, 38.4184 },
		{ "dprr", 4.7590, 1.9732, 1.4665, 2.0769, 40.8256 },
		{ "sjf", 2.2146, 0.9077, 0.7233, 4.5410, 39.0770 },
		{ "srt", 2.1417, 0.8197, 0.5521, 4.5039, 38.7874 },
		{ "rr", 5.1320, 2.6419, 1.5344, 1.9310, 40.4765 },
		{ "cfs", 5.4536, 3.2866, 1.8880, 1.8664, 40.3279 },
	};
	struct sim_experiment x;
	struct results r;

	(void)state;
	on_an_h200(&r, &x);
	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++) {
		free(r.row);
		assert_int_equal(sim_experiment_run(&x, live[i].policy, &r.row, &r.summary, NULL), 0);
		within(live[i].policy, r.summary.antt, live[i].antt, 10);
		within(live[i].policy, r.summary.dntt, live[i].dntt, 10);
		within(live[i].policy, r.summary.dntt_avg, live[i].dntt_avg, 10);
		within(live[i].policy, r.summary.stp, live[i].stp, 10);
		within(live[i].policy, r.summary.makespan_ms, live[i].makespan, 10);
	}
	unload(&r);
}

/* There, frs keeps its bars in any order of arrivals, and with lengths that are a tenth off. */
static void frs_with_real_handovers_and_wrong_lengths(void **state)
{
	static const double told[] = { 0.9, 0.95, 1, 1.1, 1.2 };
	struct sim_experiment x;
	struct results r;

	(void)state;
	on_an_h200(&r, &x);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		for (size_t k = 0; k < r.workload.count; k++)
			r.workload.kernel[k].told_ns =
				(uint64_t)((double)r.workload.kernel[k].length_ns * told[i]);
		for (x.order.seed = 1; x.order.seed <= 8; x.order.seed++) {
			struct sim_summary *s = &r.summary;

			free(r.row);
			assert_int_equal(sim_experiment_run(&x, "frs", &r.row, s, NULL), 0);
			if (s->antt > 2.9 || s->dntt_avg > 0.3 || s->makespan_ms > 1.06 * 36.6868)
				fail_msg("seed %d, told %.2f: ANTT %.2f, DNTT %.2f, makespan %.4f of "
					 "the sum", (int)x.order.seed, told[i], s->antt,
					 s->dntt_avg, s->makespan_ms / 36.6868);
		}
	}
	unload(&r);
}

static void seeds_repeat(void **state)
{
	struct results r;
	double antt;

	(void)state;
	load(&r, "seed004-table1.csv");
	simulate(&r, "rr", 0, 20);
	antt = r.summary.antt;
	simulate(&r, "rr", 0, 20);
	assert_true(r.summary.antt <= antt && r.summary.antt >= antt);
	unload(&r);
}

/* Every writer, read back for what must be in it. */
static void formats(void **state)
{
	struct results r = { .workload = parse("name,length_ms\none,1\ntwo,2\n") };
	struct gs_span span[] = { { 0, 0, 0, MS }, { 1, 0, MS, 3 * MS } };
	struct sim_result result;
	static const struct {
		int (*write)(FILE *, const struct sim_workload *, const struct sim_result *, size_t);
		const char *want;
	} all[] = {
		{ sim_write_csv, "two,0.000000,1.000000,3.000000,2.000000,1.5000,1.000000,0\n"
				 "policy,antt,dntt,dntt_avg,stp,jain,makespan_ms\n"
				 "fifo,1.2500,0.2500,0.2500,1.6667,0.9615,3.000000\n" },
		{ sim_write_json, "{\"name\": \"two\", \"arrival_ms\": 0.000000, \"start_ms\": 1.000000" },
		{ sim_write_table, "makespan ms" },
		{ sim_write_trace, "{\"ph\":\"X\",\"name\":\"two\",\"pid\":1,\"tid\":2,\"ts\":1000.000,\"dur\":2000.000}" },
		{ sim_write_svg, "</svg>\n" },
	};

	(void)state;
	simulate(&r, "fifo", 0, 1);
	result = (struct sim_result){ r.summary, r.row, span, 2 };
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(all[i].write(out, &r.workload, &result, 1), 0);
		fclose(out);
		if (!strstr(text, all[i].want))
			fail_msg("no '%s' in:\n%s", all[i].want, text);
		free(text);
	}
	unload(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workload_files),
		cmocka_unit_test(bad_rows_are_named),
		cmocka_unit_test(many_names_stay_distinct),
		cmocka_unit_test(kernels_leave_at_block_boundaries),
		cmocka_unit_test(handovers_cost_what_they_are),
		cmocka_unit_test(effisha_group_priorities),
		cmocka_unit_test(effisha_comparison),
		cmocka_unit_test(frs_zero_overhead),
		cmocka_unit_test(frs_where_all_are_long),
		cmocka_unit_test(frs_figure_4),
		cmocka_unit_test(as_the_h200_ran_it),
		cmocka_unit_test(frs_with_real_handovers_and_wrong_lengths),
		cmocka_unit_test(seeds_repeat),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
