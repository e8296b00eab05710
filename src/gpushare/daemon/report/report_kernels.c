/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on kernels; see report.h and columns/kernels.def. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/report/report_json.h"

struct row {
#define COLUMN(key, type, kind, rank, head, words) type key;
#include "gpushare/columns/kernels.def"
#undef COLUMN
};

struct sum {
#define SUM(key, type, kind, rank, head, words) type key;
#include "gpushare/columns/kernels.def"
#undef SUM
	char number[16]; /* the job's, where it is one's */
};

/* One more for all. */
struct sums {
	struct sum *sum;
	size_t n;
};

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static double per(double what, double of)
{
	return of > 0 ? what / of : 0;
}

static struct row row_of(const struct gs_report_kernels_of *s, const struct gs_step_usage_kernel *k)
{
	return (struct row) {
		.job = s->job,
		.step = s->step,
		.kernel = k->name,
		.transform = gs_report_transform(k->transform),
		.made_of = gs_report_made_of(k->variant.made_of),
		.since = k->variant.since_s,
		.cost = gs_step_usage_cost(&k->variant),
		.registers = k->registers,
		.launches = k->launches,
		.gpu_ms = ms(k->time.gpu_ns),
		.task_ns = per((double)k->tasks_ns, (double)k->tasks),
		.block_us = k->variant.block_ns ? (double)k->variant.block_ns / 1e3 : NAN,
		.waves = gs_step_usage_waves(&k->variant),
		.alone_ms = ms(k->alone_ns),
		.mean_ms = per(ms(k->turnaround_ns), (double)k->finished),
		.unevictable = k->time.unevictable,
		.unevictable_ms = ms(k->time.unevictable_ns),
		.unevictable_pct =
			100 * per((double)k->time.unevictable_ns, (double)k->time.gpu_ns),
		.preemptions = k->preemptions,
		.evict_p50_us = gs_step_usage_left_us(k, 0.50),
		.evict_p99_us = gs_step_usage_left_us(k, 0.99),
		.reason = k->reason,
		/* Without a variant it is the same at every launch. */
		.launch_reason = k->reason ? 0 : k->why,
	};
}

static void add(struct sum *to, const struct gs_step_usage *t)
{
	to->launches += t->launches;
	to->unevictable += t->time.unevictable;
	to->gpu_ms += ms(t->time.gpu_ns);
	to->unevictable_ms += ms(t->time.unevictable_ns);
	to->unevictable_pct = 100 * per(to->unevictable_ms, to->gpu_ms);
	to->evictable_pct = to->gpu_ms > 0 ? 100 - to->unevictable_pct : NAN;
}

static int add_up(struct sums *sums, const struct gs_report_kernels_of *step, size_t n)
{
	struct sum all = { .job = "all", .evictable_pct = NAN };

	sums->n = 0;
	sums->sum = calloc(n + 1, sizeof(*sums->sum));
	if (!sums->sum)
		return -1;
	for (; n; n--, step++) {
		char number[16];
		size_t i = 0;

		snprintf(number, sizeof(number), "%" PRIu32, step->job);
		while (i < sums->n && strcmp(sums->sum[i].number, number) != 0)
			i++;
		if (i == sums->n)
			memcpy(sums->sum[sums->n++].number, number, sizeof(number));
		add(&sums->sum[i], step->usage);
		add(&all, step->usage);
	}
	for (size_t i = 0; i < sums->n; i++)
		sums->sum[i].job = sums->sum[i].number;
	sums->sum[sums->n] = all;
	return 0;
}

static json_t *row_json(const struct row *r)
{
	json_t *o = json_object();

#define COLUMN(key, type, kind, rank, head, words) \
	json_object_set_new(o, #key, JSON_##kind(r->key));
#include "gpushare/columns/kernels.def"
#undef COLUMN
	return o;
}

static json_t *sum_json(const struct sum *s)
{
	json_t *o = json_object();

#define SUM(key, type, kind, rank, head, words) json_object_set_new(o, #key, JSON_##kind(s->key));
#include "gpushare/columns/kernels.def"
#undef SUM
	if (*s->number) /* as in the rows */
		json_object_set_new(o, "job", json_integer(strtol(s->number, NULL, 10)));
	return o;
}

/* So many rows at most, whatever programs announce: a report is made while others wait. */
#define ROWS_MAX 8192

static int by_gpu_time(const void *a, const void *b)
{
	const struct gs_step_usage_kernel *const *k = a, *const *l = b;

	return ((*k)->time.gpu_ns < (*l)->time.gpu_ns) - ((*k)->time.gpu_ns > (*l)->time.gpu_ns);
}

/* The step's rows, or the `most` of them that had the GPU longest. */
static void add_rows(json_t *kernels, const struct gs_report_kernels_of *step, uint32_t most)
{
	uint32_t n = step->usage->nkernel;
	const struct gs_step_usage_kernel **kernel = calloc(n + 1, sizeof(*kernel));

	if (!kernel)
		return;
	for (uint32_t i = 0; i < n; i++)
		kernel[i] = &step->usage->kernel[i];
	if (n > most) {
		qsort(kernel, n, sizeof(*kernel), by_gpu_time);
		n = most;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct row r = row_of(step, kernel[i]);

		json_array_append_new(kernels, row_json(&r));
	}
	free(kernel);
}

static char *to_json(const struct gs_report_kernels_of *step, size_t n, const struct sums *sums)
{
	json_t *o = json_object(), *kernels = json_array(), *jobs = json_array();
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += step[i].usage->nkernel;
	for (size_t i = 0; i < n; i++)
		add_rows(kernels, &step[i], all > ROWS_MAX ? (uint32_t)(ROWS_MAX / n) : UINT32_MAX);
	for (size_t i = 0; i < sums->n; i++)
		json_array_append_new(jobs, sum_json(&sums->sum[i]));
	json_object_set_new(o, "kernels", kernels);
	json_object_set_new(o, "jobs", jobs);
	json_object_set_new(o, "all", sum_json(&sums->sum[sums->n]));
	return gs_report_json_dump(o);
}

char *gs_report_kernels(const struct gs_report_kernels_of *step, size_t n)
{
	struct sums sums;
	char *text;

	if (add_up(&sums, step, n) < 0)
		return NULL;
	text = to_json(step, n, &sums);
	free(sums.sum);
	return text;
}
