/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports as tables and as JSON; see report.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/report/report_json.h"
#include "gpushare/daemon/report/report_unmanaged.h"
#include "gpushare/daemon/report/table.h"
#include "gpushare/metrics/metrics.h"

#define MIB 1048576.0
#define GIB 1073741824.0

const char *gs_report_transform(uint32_t transform)
{
	static const char *const names[] = { "as is", "persistent", "guarded", "sliced" };

	return transform < sizeof(names) / sizeof(names[0]) ? names[transform] : "?";
}

const char *gs_report_reason(uint32_t reason)
{
	/* The list is the transformer's; its words only, none of its code. */
	static const char *const words[] = {
#define PTX_REASON(name, text, best) text,
#include "common/reasons.def"
#undef PTX_REASON
	};

	return reason < sizeof(words) / sizeof(words[0]) ? words[reason] : "?";
}

void gs_report_fill(struct gs_report_row *row, struct gs_step_usage *t, uint64_t peak,
		    uint64_t reserved)
{
	row->kernels = t->launches;
	row->active_ms = (double)t->active_ns / 1e6;
	row->waiting_ms = (double)t->waiting_ns / 1e6;
	row->turnaround_ms = (double)t->turnaround_ns / 1e6;
	row->ntt = gs_ntt_so_far(row->turnaround_ms, row->active_ms);
	row->preemptions = t->preemptions;
	gs_step_usage_quantiles(t);
	row->evict_p50_us = t->p50_us;
	row->evict_p99_us = t->p99_us;
	row->memory_mb = (double)peak / MIB;
	row->reserved_mb = (double)reserved / MIB;
}

static double gib_s(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes / GIB / ((double)ns / 1e9) : 0;
}

void gs_report_fill_moved(struct gs_report_row *row, const struct gs_moves *m)
{
	row->taken_mb = (double)m->out_bytes / MIB;
	row->to_host_s = (double)m->out_ns / 1e9;
	row->to_host_gib_s = gib_s(m->out_bytes, m->out_ns);
	row->to_device_s = (double)m->back_ns / 1e9;
	row->to_device_gib_s = gib_s(m->back_bytes, m->back_ns);
}

void gs_report_comment(const struct gs_report_row *row, uint32_t gpu_shares, char *buf, size_t size)
{
	char ntt[32] = "-";
	size_t at;

	if (!isnan(row->ntt))
		snprintf(ntt, sizeof(ntt), "%.2f", row->ntt);
	snprintf(buf, size,
		 "gpushare: gpu=%u share=%u%% used=%.3fs ntt=%s waiting=%.0fms "
		 "preempt=%" PRIu64 " mem=%.0f/%.0fMiB",
		 row->gpu, gpu_shares ? (unsigned)(100.0 * row->shares / gpu_shares + 0.5) : 0,
		 row->active_ms / 1e3, ntt, row->waiting_ms, row->preemptions,
		 ceil(row->memory_mb), row->reserved_mb);
	at = strlen(buf);
	if (row->taken_mb > 0)
		snprintf(buf + at, size - at, " moved=%.0fMiB/%.2f/%.2fGiB/s", ceil(row->taken_mb),
			 row->to_host_gib_s, row->to_device_gib_s);
}

/* ---- steps ----------------------------------------------------------- */

static size_t count_columns(void)
{
	size_t n = 0;

#define COLUMN(key, type, kind, words) n++;
#include "gpushare/daemon/report/report.def"
#undef COLUMN
	return n;
}

static void steps_table(struct gs_table *t, const struct gs_report_row *row, size_t n)
{
#define COLUMN(key, type, kind, words) gs_table_cell(t, "%s", #key);
#include "gpushare/daemon/report/report.def"
#undef COLUMN
	for (; n; n--, row++) {
#define CELL_TEXT(v) gs_table_cell(t, "%s", *(v) ? (v) : "-")
#define CELL_COUNT(v) gs_table_cell(t, "%" PRIu64, (uint64_t)(v))
#define CELL_NUMBER(v) gs_table_cell(t, isnan(v) ? "-" : "%.2f", (v))
#define COLUMN(key, type, kind, words) CELL_##kind(row->key);
#include "gpushare/daemon/report/report.def"
#undef COLUMN
	}
}

json_t *gs_report_json_number(double v)
{
	if (!isfinite(v))
		return json_null();
	return json_real(round(v * 1000) / 1000);
}

json_t *gs_report_json_text(const char *s)
{
	json_t *j = json_string(s);
	char plain[256];
	size_t i;

	if (j)
		return j;
	for (i = 0; s[i] && i < sizeof(plain) - 1; i++)
		plain[i] = (unsigned char)s[i] < 0x80 ? s[i] : '?';
	plain[i] = '\0';
	return json_string(plain);
}

static json_t *steps_json(const struct gs_report_row *row, size_t n)
{
	json_t *all = json_array();

	for (; n; n--, row++) {
		json_t *o = json_object();

#define JSON_TEXT(v) gs_report_json_text(v)
#define JSON_COUNT(v) json_integer((json_int_t)(v))
#define JSON_NUMBER(v) gs_report_json_number(v)
#define JSON_BOOLEAN(v) json_boolean(v)
#define JSON_NAME(v) (*(v) ? gs_report_json_text(v) : json_null())
#define COLUMN(key, type, kind, words) json_object_set_new(o, #key, JSON_##kind(row->key));
#include "gpushare/daemon/report/report.def"
#undef COLUMN
		json_array_append_new(all, o);
	}
	return all;
}

char *gs_report_json_dump(json_t *value)
{
	char *s = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(15)), *line = NULL;

	json_decref(value);
	if (s && asprintf(&line, "%s\n", s) < 0)
		line = NULL;
	free(s);
	return line;
}

char *gs_report_steps(const struct gs_report_row *row, size_t n, int json)
{
	struct gs_table t;

	if (json)
		return gs_report_json_dump(steps_json(row, n));
	gs_table_open(&t, count_columns());
	steps_table(&t, row, n);
	gs_table_print(&t, 0);
	return gs_table_close(&t);
}

/* ---- status ---------------------------------------------------------- */

static json_t *classes_json(const struct gs_report_gpu *g)
{
	json_t *all = json_array();

	for (size_t i = 0; i < g->now.nclasses; i++) {
		const struct gs_gpu_class *c = &g->now.class[i];
		json_t *o = json_object();

		json_object_set_new(o, "class", gs_report_json_text(c->name));
		json_object_set_new(o, "policy", gs_report_json_text(c->is.policy));
		json_object_set_new(o, "own", json_boolean(c->is.own));
		json_object_set_new(o, "fell_back", json_boolean(c->is.broke != NULL));
		json_array_append_new(all, o);
	}
	return all;
}

static json_t *gpu_json(const struct gs_report_gpu *g)
{
	json_t *o = json_object();

#define STATUS_JSON(key, kind, value) json_object_set_new(o, #key, JSON_##kind(value));
#define STATUS_CELL(head, format, value)
#include "gpushare/daemon/report/status.def"
#undef STATUS_JSON
#undef STATUS_CELL
	json_object_set_new(o, "classes", classes_json(g));
	return o;
}

static char *status_json(const struct gs_report_status *s)
{
	json_t *o = json_object(), *gpus = json_array();

	json_object_set_new(o, "version", gs_report_json_text(s->version));
	json_object_set_new(o, "pid", json_integer(s->pid));
	json_object_set_new(o, "uptime_s", gs_report_json_number(s->uptime_s));
	for (size_t i = 0; i < s->ngpu; i++)
		json_array_append_new(gpus, gpu_json(&s->gpu[i]));
	json_object_set_new(o, "gpus", gpus);
	json_object_set_new(o, "steps", steps_json(s->step, s->nstep));
	json_object_set_new(o, "unmanaged", gs_report_unmanaged_json(s));
	return gs_report_json_dump(o);
}

static const char *fell_back(const char *broke)
{
	return broke ? " (fell back)" : "";
}

/* "sjf, urgent: rr": the GPU's policy, and the classes' where it is another matter. */
static void policy_text(const struct gs_report_gpu *g, char *text, size_t size)
{
	size_t at = (size_t)snprintf(text, size, "%s%s", g->now.policy, fell_back(g->now.broke));

	for (size_t i = 0; i < g->now.nclasses && at < size; i++) {
		const struct gs_gpu_class *c = &g->now.class[i];

		if (c->is.own || c->is.broke)
			at += (size_t)snprintf(text + at, size - at, ", %s: %s%s", c->name,
					       c->is.policy, fell_back(c->is.broke));
	}
}

static size_t status_columns(void)
{
	size_t n = 0;

#define STATUS_JSON(key, kind, value)
#define STATUS_CELL(head, format, value) n++;
#include "gpushare/daemon/report/status.def"
#undef STATUS_CELL
	return n;
}

static void status_gpus(struct gs_table *t, const struct gs_report_status *s)
{
	char policy[GS_SCHED_CLASSES_MAX * 320];

#define STATUS_CELL(head, format, value) gs_table_cell(t, "%s", head);
#include "gpushare/daemon/report/status.def"
#undef STATUS_CELL
	for (const struct gs_report_gpu *g = s->gpu; g < s->gpu + s->ngpu; g++) {
		policy_text(g, policy, sizeof(policy));
#define STATUS_CELL(head, format, value) gs_table_cell(t, format, value);
#include "gpushare/daemon/report/status.def"
#undef STATUS_CELL
#undef STATUS_JSON
	}
	gs_table_print(t, count_columns());
}

char *gs_report_status(const struct gs_report_status *s, int json)
{
	struct gs_table t;

	if (json)
		return status_json(s);
	gs_table_open(&t, status_columns());
	if (!t.failed)
		fprintf(t.out, "gpushared %s, pid %u, up %.0f s\n\n", s->version, s->pid,
			s->uptime_s);
	status_gpus(&t, s);
	if (!t.failed)
		fputs("\n", t.out);
	if (s->nstep)
		steps_table(&t, s->step, s->nstep);
	else if (!t.failed)
		fputs("no job steps\n", t.out);
	gs_report_unmanaged_table(&t, s);
	gs_table_print(&t, 0);
	return gs_table_close(&t);
}
