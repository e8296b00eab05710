/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calibration, entering and leaving a way of sharing; see measure.h. */
#define _GNU_SOURCE
#include "gpushare/bench/measure.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/client/exchange.h"
#include "gpushare/proto/trace.h"

#define CALIBRATE_S 300

int bench_calibrate(struct bench_workers *workers, uint64_t task_ns, struct bench_yard *yard,
		    struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[0];

	s->work.task_ns = task_ns;
	bench_workers_order(workers, 0, BENCH_CALIBRATE);
	if (bench_workers_wait(workers, 0, CALIBRATE_S, err) < 0)
		return -1;
	*yard = (struct bench_yard) {
		s->work.iterations, s->answer.wave_ns, s->answer.resident, s->answer.memory, "", ""
	};
	memcpy(yard->device, s->answer.device, sizeof(yard->device));
	memcpy(yard->driver, s->answer.driver, sizeof(yard->driver));
	return 0;
}

int bench_calibrate_device(struct bench_stage *stage, uint64_t task_ns, struct bench_yard *yard,
			   struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part = { .shares = 1 };
	struct bench_workers workers;
	int rc = bench_enter(&workers, stage, &driver, &part, 1, 0, err);

	if (rc == 0) {
		rc = bench_calibrate(&workers, task_ns, yard, err);
		bench_leave(&workers, &driver, rc < 0);
	}
	return rc;
}

uint64_t bench_waves(const struct bench_yard *yard, uint64_t length_ns)
{
	double waves = round((double)length_ns / (double)yard->wave_ns);

	return waves < 2 ? 2 : (uint64_t)waves;
}

void bench_set_kernel(struct bench_workers *workers, uint32_t i, const struct bench_yard *yard,
		      uint64_t waves)
{
	struct bench_slot *s = &workers->page->slot[i];

	s->work.tasks = waves * yard->resident;
	s->work.iterations = yard->iterations;
	s->work.task_ns = yard->wave_ns;
}

int bench_enter(struct bench_workers *workers, struct bench_stage *stage,
		const struct bench_way *way, const struct bench_part *part, uint32_t count,
		uint64_t memory, struct gs_error *err)
{
	struct bench_gpu gpu = { .memory = memory };

	for (uint32_t i = 0; i < count; i++) {
		gpu.shares += part[i].shares;
		if (part[i].priority > gpu.priority_max)
			gpu.priority_max = part[i].priority;
	}
	*workers = (struct bench_workers) { .stage = stage };
	if (bench_stage_begin(stage, way->share, way->policy, &gpu, err) < 0)
		return -1;
	if (bench_workers_start(workers, stage, way->share, part, count, err) == 0)
		return 0;
	bench_leave(workers, way, 1);
	return -1;
}

void bench_leave(struct bench_workers *workers, const struct bench_way *way, int failed)
{
	struct bench_stage *stage = workers->stage;

	if (failed && bench_managed(way->share))
		bench_stage_show_log(stage);
	bench_workers_stop(workers);
	bench_stage_end(stage);
}

static int by_begin(const void *a, const void *b)
{
	const struct bench_eviction *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* In the trace the record of the order to leave follows the record of the client that has left. */
static long pick(const struct gs_trace_image *image, uint64_t since_ns, struct bench_eviction *e)
{
	const struct gs_trace_record *left = NULL;
	long n = 0;

	for (size_t i = 0; i < image->records; i++) {
		const struct gs_trace_record *r = &image->record[i];

		if (r->kind == GS_TRACE_EVICT)
			left = r;
		if (r->kind == GS_TRACE_TELL && left && r->lane == left->lane &&
		    r->from_ns == left->from_ns && r->from_ns >= since_ns)
			e[n++] = (struct bench_eviction) { r->from_ns, r->to_ns, left->to_ns };
	}
	qsort(e, (size_t)n, sizeof(*e), by_begin);
	return n;
}

static int request(const struct bench_stage *stage, enum gs_query what, struct gs_ctl_text *text,
		   struct gs_error *err)
{
	char socket[PATH_MAX];

	snprintf(socket, sizeof(socket), "%s/sock", stage->folder);
	return gs_ctl_get(socket, what, 0, text, err);
}

/* The rows of `gpusharectl kernels --json`, to programs by their jobs. */
static void sort_out(const struct bench_workers *workers, json_t *rows,
		     uint64_t alone_ns[BENCH_PROGRAMS_MAX])
{
	json_int_t most[BENCH_PROGRAMS_MAX] = { 0 };
	json_int_t job, launches;
	double alone_ms;
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (json_unpack(row, "{s:I, s:I, s:F}", "job", &job, "launches", &launches,
				"alone_ms", &alone_ms) < 0)
			continue;
		for (uint32_t k = 0; k < workers->count; k++)
			if (workers->page->slot[k].answer.job == job && launches > most[k]) {
				most[k] = launches;
				alone_ns[k] = alone_ms > 0 ? (uint64_t)(alone_ms * 1e6) : 0;
			}
	}
}

int bench_predicted_request(const struct bench_workers *workers,
			    uint64_t alone_ns[BENCH_PROGRAMS_MAX], struct gs_error *err)
{
	struct gs_ctl_text text;
	json_t *report, *rows;

	memset(alone_ns, 0, BENCH_PROGRAMS_MAX * sizeof(*alone_ns));
	if (request(workers->stage, GS_QUERY_KERNELS, &text, err) < 0)
		return -1;
	report = json_loads(text.bytes, 0, NULL);
	free(text.bytes);
	rows = json_object_get(report, "kernels");
	if (json_is_array(rows))
		sort_out(workers, rows, alone_ns);
	json_decref(report);
	return rows ? 0 : gs_fail(err, "gpushared does not say what the kernels take");
}

int bench_status_request(const struct bench_stage *stage, struct bench_status *is,
			 struct gs_error *err)
{
	struct gs_ctl_text text;
	double us = 0, leave_us = 0;
	uint64_t evictions = 0;
	json_t *status;
	int rc;

	if (request(stage, GS_QUERY_STATUS, &text, err) < 0)
		return -1;
	status = json_loads(text.bytes, 0, NULL);
	free(text.bytes);
	rc = json_unpack(status, "{s:[{s:F, s:I}]}", "gpus", "handover_us", &us, "evictions",
			 &evictions);
	if (rc == 0 && evictions)
		rc = json_unpack(status, "{s:[{s:F}]}", "gpus", "evict_p50_us", &leave_us);
	json_decref(status);
	if (rc < 0 || us < 0 || leave_us < 0)
		return gs_fail(err, "gpushared's status does not say what a hand-over costs");
	*is = (struct bench_status) { (uint64_t)(us * 1e3), (uint64_t)(leave_us * 1e3) };
	return 0;
}

long bench_evictions(const struct bench_stage *stage, uint64_t since_ns,
		     struct bench_eviction **evictions, struct gs_error *err)
{
	struct gs_trace_image image;
	struct gs_ctl_text text;
	long n = -1;
	int rc;

	if (request(stage, GS_QUERY_TRACE, &text, err) < 0)
		return -1;
	rc = gs_trace_unpack(text.bytes, text.size, &image, err);
	free(text.bytes);
	if (rc < 0)
		return -1;
	*evictions = malloc((image.records + 1) * sizeof(**evictions));
	if (*evictions)
		n = pick(&image, since_ns, *evictions);
	else
		gs_fail(err, "no memory");
	gs_trace_image_free(&image);
	return n;
}
