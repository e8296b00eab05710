/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports as JSON, and the line for AdminComment; see report.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/saturate.h"
#include "gpushare/daemon/report/report_json.h"
#include "gpushare/daemon/report/report_unmanaged.h"
#include "gpushare/metrics/metrics.h"
#include "gpushare/proto/msg.h"

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

const char *gs_report_made_of(uint32_t made_of)
{
	static const char *const names[GS_MADE_OF_COUNT] = { "", "PTX", "machine code", "program" };

	return made_of < GS_MADE_OF_COUNT ? names[made_of] : "?";
}

static void fill_copies(struct gs_report_row *row, const struct gs_copied *of)
{
	row->h2d_mb = (double)of[GS_COPY_TO_DEVICE].bytes / MIB;
	row->d2h_mb = (double)of[GS_COPY_TO_HOST].bytes / MIB;
	row->d2d_mb = (double)of[GS_COPY_OTHER].bytes / MIB;
	row->copies = 0;
	row->copying_ms = row->copy_waited_ms = 0;
	for (int way = 0; way < GS_COPY_DIRECTIONS; way++) {
		row->copies = gs_add_saturated(row->copies, of[way].copies);
		row->copying_ms += (double)of[way].host_ns / 1e6;
		row->copy_waited_ms += (double)of[way].waited_ns / 1e6;
	}
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
	row->evictable_pct = gs_step_usage_evictable_pct(&t->time);
	gs_step_usage_quantiles(&t->evicted);
	row->evict_p50_us = t->evicted.p50_us;
	row->evict_p99_us = t->evicted.p99_us;
	fill_copies(row, t->copied);
	row->corun_ms = (double)t->beside.ns / 1e6;
	row->corun_progress =
		t->beside.ns ? (double)t->beside.alone_ns / (double)t->beside.ns : (double)NAN;
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
		 row->active_ms / 1e3, ntt, row->waiting_ms, row->preemptions, ceil(row->memory_mb),
		 row->reserved_mb);
	at = strlen(buf);
	if (row->h2d_mb > 0 || row->d2h_mb > 0) {
		snprintf(buf + at, size - at, " copied=%.0f/%.0fMiB", ceil(row->h2d_mb),
			 ceil(row->d2h_mb));
		at = strlen(buf);
	}
	if (row->taken_mb > 0)
		snprintf(buf + at, size - at, " moved=%.0fMiB/%.2f/%.2fGiB/s", ceil(row->taken_mb),
			 row->to_host_gib_s, row->to_device_gib_s);
}

/* ---- steps ----------------------------------------------------------- */

json_t *gs_report_json_number(double v)
{
	if (!isfinite(v))
		return json_null();
	return json_real(round(v * 1000) / 1000);
}

json_t *gs_report_json_count(int is_positive, uint64_t value)
{
	return json_integer(is_positive && value > INT64_MAX ? INT64_MAX : (json_int_t)value);
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

#define COLUMN(key, type, kind, rank, head, words) \
	json_object_set_new(o, #key, JSON_##kind(row->key));
#include "gpushare/columns/steps.def"
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

char *gs_report_steps(const struct gs_report_row *row, size_t n)
{
	return gs_report_json_dump(steps_json(row, n));
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

#define GPU_COLUMN(key, kind, rank, head, value, words) \
	json_object_set_new(o, #key, JSON_##kind(value));
#include "gpushare/columns/gpus.def"
#undef GPU_COLUMN
	json_object_set_new(o, "classes", classes_json(g));
	return o;
}

char *gs_report_status(const struct gs_report_status *s)
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
