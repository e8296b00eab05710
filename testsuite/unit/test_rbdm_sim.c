/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Admission by reservation in the simulator: RBDM's Table 2 and its experiments. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "gpushare/sim/memory.h"

#define MS GS_NS_PER_MS
#define TASKS 20
#define EVEN 21       /* the multiple of three nearest to the paper's twenty */
#define CAPACITY 4800 /* MB of the paper's K20M */

static void load_table_2(struct sim_workload *w)
{
	const char *srcdir = getenv("srcdir");
	struct gs_error err;
	char path[4096];

	snprintf(path, sizeof(path), "%s/testsuite/workloads/rbdm-table2.csv",
		 srcdir ? srcdir : ".");
	if (sim_workload_load(path, w, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(w->count, TASKS);
}

/* Table 2, both columns. */
static void table_2(void **state)
{
	static const uint64_t rm[TASKS] = {
		570, 1568, 105, 644, 1131, 528,  206, 523, 603, 452,
		700, 666,  493, 31,  457,  1281, 190, 263, 355, 121,
	};
	static const unsigned rank[TASKS] = {
		3, 1, 4, 3, 2, 6, 4, 5, 8, 9, 7, 7, 7, 11, 12, 10, 13, 11, 14, 15,
	};
	struct sim_admission a[TASKS];
	struct sim_workload w;
	struct sim_memory m = {
		.workload = &w,
		.cycle_ns = MS,
		.options = { .capacity = CAPACITY,
			     .wake = "fifo",
			     .admission = GS_ADMISSION_STRICT },
	};
	struct gs_error err;

	(void)state;
	load_table_2(&w);
	assert_int_equal(sim_memory_run(&m, a, &err), 0);
	for (unsigned i = 0; i < TASKS; i++) {
		assert_int_equal(a[i].rm_mb, rm[i]);
		assert_int_equal(a[i].rank, rank[i]);
	}
	m.options.admission = GS_ADMISSION_FCFS;
	assert_int_equal(sim_memory_run(&m, a, &err), 0);
	for (unsigned i = 0; i < TASKS; i++)
		assert_int_equal(a[i].rank, i + 1);
	sim_workload_free(&w);
}

/* MemoryAdmission=rbdm: Table 2's first task has its memory as it comes, the twentieth waits. */
static void who_fits_is_through_as_it_comes(void **state)
{
	struct sim_admission a[TASKS];
	struct sim_memory m = { .cycle_ns = MS,
				.options = { .capacity = CAPACITY, .wake = "hpfw" } };
	struct sim_workload w;
	struct gs_error err;

	(void)state;
	load_table_2(&w);
	m.workload = &w;
	assert_int_equal(sim_memory_run(&m, a, &err), 0);
	assert_true(a[0].start_ns == w.kernel[0].arrival_ns);
	assert_true(a[TASKS - 1].start_ns > w.kernel[TASKS - 1].arrival_ns);
	m.options.admission = GS_ADMISSION_STRICT;
	assert_int_equal(sim_memory_run(&m, a, &err), 0);
	assert_true(a[0].start_ns >= w.kernel[0].arrival_ns + (a[0].operations - 1) * m.cycle_ns);
	sim_workload_free(&w);
}

/* Sums over random task sets, by priority 1 to 3. */
struct sums {
	double response[4], completion;
};

static void add_set(struct sums *s, struct sim_workload *w, enum gs_admission admission,
		    const char *wake)
{
	struct sim_admission a[2 * TASKS];
	struct sim_memory m = {
		.workload = w,
		.cycle_ns = MS,
		.options = { .capacity = CAPACITY,
			     .wake = wake,
			     .priority_sum = 6,
			     .admission = admission },
	};
	struct gs_error err;

	if (sim_memory_run(&m, a, &err) < 0)
		fail_msg("%s", err.text);
	for (int32_t p = 1; p <= 3; p++) {
		double response, completion;
		unsigned tasks;

		sim_memory_sums(w, a, p, &tasks, &response, &completion);
		s->response[p] += response;
		s->completion += completion;
	}
}

/*
 * A random set: equal numbers of each priority where `even`, and half of each
 * of at most 1 GB; a matrix product's time grows with memory^1.5.
 */
static void draw_set(struct sim_workload *w, size_t count, int even)
{
	w->count = count;
	for (size_t i = 0; i < count; i++) {
		struct sim_kernel *k = &w->kernel[i];
		unsigned least = 100, most = 3700;

		if (even && i % 2)
			least = 1024;
		else if (even)
			most = 1024;
		*k = (struct sim_kernel) {
			.arrival_ns = i * MS,
			.block_tasks = 1,
			.shares = 1,
			.memory_mb = least + (unsigned)(random() % (most - least)),
			.priority = even ? (int32_t)(i % 3) + 1 : (int32_t)(random() % 3) + 1,
		};
		k->length_ns = (uint64_t)(0.0005 * pow(k->memory_mb, 1.5) * MS);
	}
}

/* Figures 6 to 11, on a thousand random sets: the paper's admission, and what ours makes of them.
 */
static void experiment(enum gs_admission admission)
{
	static const char *const names[GS_ADMISSION_COUNT] = GS_ADMISSION_WORDS;
	struct sim_workload w = { .kernel = calloc(2 * TASKS, sizeof(*w.kernel)) };
	struct sums fifo = { .completion = 0 }, hpfw = fifo, even_hpfw = fifo, even_sm = fifo;

	srandom(3);
	for (int set = 0; set < 1000; set++) {
		draw_set(&w, TASKS, 0);
		add_set(&fifo, &w, admission, "fifo");
		add_set(&hpfw, &w, admission, "hpfw");
		draw_set(&w, EVEN, 1);
		add_set(&even_hpfw, &w, admission, "hpfw");
		add_set(&even_sm, &w, admission, "smhpfw");
	}
	free(w.kernel);
	printf("%s: high-priority response, hpfw of fifo: %.3f\n", names[admission],
	       hpfw.response[3] / fifo.response[3]);
	printf("%s: completion, hpfw of fifo: %.3f\n", names[admission],
	       hpfw.completion / fifo.completion);
	printf("%s: completion, smhpfw of hpfw: %.3f\n", names[admission],
	       even_sm.completion / even_hpfw.completion);
	assert_true(hpfw.response[3] <= 0.54 * fifo.response[3]);
	assert_true(hpfw.completion <= 1.05 * fifo.completion);
	assert_true(hpfw.completion >= 0.95 * fifo.completion);
	assert_true(even_sm.completion <= 0.84 * even_hpfw.completion);
}

static void experiments(void **state)
{
	(void)state;
	experiment(GS_ADMISSION_STRICT);
	experiment(GS_ADMISSION_RBDM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_2),
		cmocka_unit_test(who_fits_is_through_as_it_comes),
		cmocka_unit_test(experiments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
