/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpusharectl memory`: per GPU what is reserved and used, and who waits, why. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/report/report_json.h"
#include "gpushare/daemon/base/step.h"

#define MIB 1048576.0

static const char *const states[] = {
	[GS_RBDM_RESERVING] = "reserving",
	[GS_RBDM_WAITING] = "waiting",
	[GS_RBDM_ADMITTED] = "admitted",
};

static const char *const admissions[GS_ADMISSION_COUNT] = GS_ADMISSION_WORDS;

/* One allocation, as its first step tells it. */
struct row {
	const struct gs_step *step;
	struct gs_rbdm_view inspect;
	const char *state;
	char name[16], why[256];
	uint64_t used;
	uint64_t driver; /* what the driver says, of the processes of which it says anything */
	int driver_known;
	double since_s;             /* that it arrived */
	struct gs_report_row moved; /* of it the columns of moved.def */
};

static void driver_of(const struct gs_daemon *d, const struct gs_step *s, struct row *r)
{
	const struct gs_connection *conn;
	uint64_t bytes;

	r->driver = 0;
	r->driver_known = 0;
	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step && conn->step->alloc == s->alloc &&
		    gs_memory_check_use(conn, &bytes)) {
			r->driver += bytes;
			r->driver_known = 1;
		}
}

/* 1; 0: it is no row. */
static int inspect(const struct gs_alloc *a, struct row *r)
{
	if (gs_suspend_keeps(a)) {
		r->inspect = (struct gs_rbdm_view) { .memory = a->bytes };
		r->state = "suspended";
		return 1;
	}
	if (!gs_memory_poll(a, &r->inspect))
		return 0;
	r->state = states[r->inspect.phase];
	return 1;
}

/* Those of the device; the other steps of an allocation are no rows. */
static size_t gather(struct gs_daemon *d, const struct gs_device *dev, struct row *row)
{
	const struct gs_step *s, *other;
	size_t n = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		struct row *r = &row[n];

		TAILQ_FOREACH (other, &d->steps, link)
			if (other->alloc == s->alloc)
				break;
		if (other != s || s->alloc->device != dev || !inspect(s->alloc, r))
			continue;
		r->step = s;
		r->used = gs_memory_used(d, s->alloc);
		driver_of(d, s, r);
		r->since_s = (double)(gs_clock_ns() - s->alloc->arrived_ns) / 1e9;
		gs_step_name(s->info.step_id, r->name, sizeof(r->name));
		gs_memory_why(s->alloc, r->why, sizeof(r->why));
		gs_report_fill_moved(&r->moved, &s->moves);
		n++;
	}
	return n;
}

static uint64_t used_of(const struct row *row, size_t n)
{
	uint64_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += row[i].used;
	return used;
}

static json_t *row_json(const struct row *r)
{
	const struct gs_step *s = r->step;
	json_t *o = json_object();

#define MEMORY(key, kind, rank, head, value, words) \
	json_object_set_new(o, #key, JSON_##kind(value));
#define COLUMN(key, type, kind, rank, head, words) \
	json_object_set_new(o, #key, JSON_##kind(r->moved.key));
#include "gpushare/columns/memory.def"
#undef MEMORY
#undef COLUMN
	return o;
}

static json_t *gpu_json(struct gs_daemon *d, const struct gs_device *dev)
{
	struct row row[GS_STEPS_MAX];
	size_t n = gather(d, dev, row);
	json_t *o = json_object(), *steps = json_array();

	json_object_set_new(o, "gpu", json_integer(dev->index));
	json_object_set_new(o, "memory_mb", gs_report_json_number((double)dev->memory / MIB));
	json_object_set_new(o, "reserved_mb",
			    gs_report_json_number((double)gs_ledger_reserved(dev->ledger) / MIB));
	json_object_set_new(o, "used_mb", gs_report_json_number((double)used_of(row, n) / MIB));
	json_object_set_new(o, "outside_mb", gs_report_json_number((double)dev->outside / MIB));
	json_object_set_new(o, "admission",
			    gs_report_json_text(admissions[d->config->memory_admission]));
	json_object_set_new(o, "wake", gs_report_json_text(d->config->memory_wake));
	json_object_set_new(o, "cycle_ms",
			    gs_report_json_number((double)d->config->memory_cycle_ns / 1e6));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(steps, row_json(&row[i]));
	json_object_set_new(o, "steps", steps);
	return o;
}

char *gs_memory_report(struct gs_daemon *d)
{
	json_t *all = json_array();

	for (size_t i = 0; i < d->ndevice; i++)
		json_array_append_new(all, gpu_json(d, &d->device[i]));
	return gs_report_json_dump(all);
}
