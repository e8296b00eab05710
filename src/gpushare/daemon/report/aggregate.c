/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selecting steps and joining them; see aggregate.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/aggregate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/report/report_json.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/metrics/metrics.h"

struct group {
	char name[64];
	size_t first, n; /* of the ordered steps */
#define GROUP(key, type, kind, rank, head, value, join, words) type key;
#include "gpushare/columns/groups.def"
#undef GROUP
};

static const char *const headings[GS_GROUP_COUNT] = {
	[GS_GROUP_STEP] = "step",           [GS_GROUP_JOB] = "job", [GS_GROUP_USER] = "user",
	[GS_GROUP_PARTITION] = "partition", [GS_GROUP_GPU] = "gpu",
};

int gs_past_step_selected(const struct gs_past_step *s, const struct gs_msg_history *request)
{
	return (!s->end_s || s->end_s >= (int64_t)request->since) &&
	       (!request->job_id || s->job == request->job_id) &&
	       (!*request->user || strcmp(s->user, request->user) == 0) &&
	       (!*request->partition || strcmp(s->partition, request->partition) == 0);
}

/* ---- a line per step --------------------------------------------------- */

static void row_of(const struct gs_past_step *s, char *name, size_t size, struct gs_report_row *row)
{
	*row = (struct gs_report_row) {
		.job = s->job,
		.step = gs_step_name(s->step, name, size),
		.user = s->user,
		.partition = s->partition,
		.state = *s->state ? s->state : "over",
		.priority = s->priority,
		.priority_requested = -1,
		.start = s->start_s,
		.end = s->end_s,
		.reason = "",
		.account = "",
		.energy_j = NAN,
		.evictable_pct = NAN, /* the history has neither of these */
		.corun_progress = NAN,
		.gpu = s->gpu,
		.shares = s->shares,
		.kernels = s->kernels,
		.active_ms = s->active_ms,
		.waiting_ms = s->waiting_ms,
		.turnaround_ms = s->turnaround_ms,
		.ntt = gs_ntt_so_far(s->turnaround_ms, s->active_ms),
		.preemptions = s->preemptions,
		.evict_p50_us = s->evict_p50_us,
		.evict_p99_us = s->evict_p99_us,
		.memory_mb = s->memory_mb,
		.reserved_mb = s->reserved_mb,
	};
	gs_report_fill_punctual(row, &(struct gs_period) { 0 }, NULL);
}

static char *per_step(const struct gs_past_step **step, size_t n)
{
	struct gs_report_row *row = calloc(n + 1, sizeof(*row));
	char(*name)[16] = calloc(n + 1, sizeof(*name)), *text = NULL;

	if (row && name) {
		for (size_t i = 0; i < n; i++)
			row_of(step[i], name[i], sizeof(name[i]), &row[i]);
		text = gs_report_steps(row, n);
	}
	free(row);
	free(name);
	return text;
}

/* ---- a line per group -------------------------------------------------- */

static void name_group(const struct gs_past_step *s, uint32_t by, char *name, size_t size)
{
	switch (by) {
	case GS_GROUP_JOB:
		snprintf(name, size, "%u", s->job);
		break;
	case GS_GROUP_USER:
		snprintf(name, size, "%s", s->user);
		break;
	case GS_GROUP_PARTITION:
		snprintf(name, size, "%s", s->partition);
		break;
	default:
		snprintf(name, size, "%u", s->gpu);
	}
}

static int by_group(const void *a, const void *b, void *arg)
{
	const struct gs_past_step *x = *(const struct gs_past_step *const *)a;
	const struct gs_past_step *y = *(const struct gs_past_step *const *)b;
	uint32_t by = *(const uint32_t *)arg;

	if (by == GS_GROUP_JOB)
		return (x->job > y->job) - (x->job < y->job);
	if (by == GS_GROUP_USER)
		return strcmp(x->user, y->user);
	if (by == GS_GROUP_PARTITION)
		return strcmp(x->partition, y->partition);
	return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

#define JOIN_SUM(have, value) ((have) + (value))
#define JOIN_MOST(have, value) ((value) > (have) ? (value) : (have))
#define JOIN_NONE(have, value) (have)

static void join(struct group *g, const struct gs_past_step *s)
{
#define GROUP(key, type, kind, rank, head, value, how, words) g->key = JOIN_##how(g->key, value);
#include "gpushare/columns/groups.def"
#undef GROUP
	g->n++;
}

/* What needs all steps of the group; room for 2 x n doubles. */
static void finish(struct group *g, const struct gs_past_step **step, double *room)
{
	double *ntt = room, *shares = room + g->n;
	struct gs_sharing sharing;
	size_t used = 0;

	for (size_t i = g->first; i < g->first + g->n; i++) {
		if (step[i]->turnaround_ms <= 0)
			continue;
		ntt[used] = gs_ntt_so_far(step[i]->turnaround_ms, step[i]->active_ms);
		shares[used++] = step[i]->shares;
	}
	gs_sharing(ntt, shares, used, &sharing);
	g->served = sharing.served;
	g->unserved = sharing.unserved;
	g->antt = sharing.antt;
	g->dntt = sharing.dntt;
	g->jain = sharing.jain;
}

static size_t make_groups(const struct gs_past_step **step, size_t n, uint32_t by,
			  struct group *group, double *room)
{
	size_t groups = 0;

	qsort_r(step, n, sizeof(*step), by_group, &by);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_group(&step[i - 1], &step[i], &by) != 0) {
			struct group *g = &group[groups++];

			memset(g, 0, sizeof(*g));
			g->first = i;
			name_group(step[i], by, g->name, sizeof(g->name));
		}
		join(&group[groups - 1], step[i]);
	}
	for (size_t i = 0; i < groups; i++)
		finish(&group[i], step, room);
	return groups;
}

static char *groups_json(const struct group *g, size_t n, uint32_t by)
{
	json_t *all = json_array();

	for (; n; n--, g++) {
		json_t *o = json_object();

		if (by == GS_GROUP_JOB || by == GS_GROUP_GPU)
			json_object_set_new(o, headings[by], json_integer(atoll(g->name)));
		else
			json_object_set_new(o, headings[by], gs_report_json_text(g->name));
#define GROUP(key, type, kind, rank, head, value, how, words) \
	json_object_set_new(o, #key, JSON_##kind(g->key));
#include "gpushare/columns/groups.def"
#undef GROUP
		json_array_append_new(all, o);
	}
	return gs_report_json_dump(all);
}

static char *per_group(const struct gs_past_step **step, size_t n,
		       const struct gs_msg_history *request)
{
	struct group *group = calloc(n + 1, sizeof(*group));
	double *room = calloc(2 * n + 1, sizeof(*room));
	char *text = NULL;

	if (group && room) {
		size_t groups = make_groups(step, n, request->group, group, room);

		text = groups_json(group, groups, request->group);
	}
	free(group);
	free(room);
	return text;
}

char *gs_aggregate(const struct gs_past_step *step, size_t n, const struct gs_msg_history *request)
{
	const struct gs_past_step **chosen = calloc(n + 1, sizeof(*chosen));
	size_t count = 0;
	char *text;

	if (!chosen)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (gs_past_step_selected(&step[i], request))
			chosen[count++] = &step[i];
	text = request->group == GS_GROUP_STEP ? per_step(chosen, count) :
						 per_group(chosen, count, request);
	free(chosen);
	return text;
}
