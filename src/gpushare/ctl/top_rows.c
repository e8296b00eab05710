/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two answers of `status` compared; see top_rows.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/top_rows.h"

#include <stdio.h>
#include <string.h>

#include "gpushare/proto/job_name.h"

static double figure(json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *words(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* The same step in the answer before; NULL: it is new. */
static json_t *same(json_t *all, json_t *step)
{
	json_t *s;
	size_t i;

	json_array_foreach (all, i, s)
		if (figure(s, "job") == figure(step, "job") &&
		    strcmp(words(s, "step"), words(step, "step")) == 0)
			return s;
	return NULL;
}

static json_t *percent(json_t *step, json_t *was, const char *key, double ms)
{
	double had = figure(step, key) - (was ? figure(was, key) : 0);

	return json_real(ms > 0 && had > 0 ? 100 * had / ms : 0);
}

static json_t *copied(json_t *step, json_t *was, double ms)
{
	static const char *const keys[] = { "h2d_mb", "d2h_mb" };
	double mb = 0;

	for (size_t i = 0; i < 2; i++)
		mb += figure(step, keys[i]) - (was ? figure(was, keys[i]) : 0);
	return json_real(ms > 0 && mb > 0 ? mb / 1024 / (ms / 1e3) : 0);
}

/* By gpushared's own clock: its answer may have taken its time. */
void gs_top_parts(json_t *now, json_t *before)
{
	double ms = before ? 1e3 * (figure(now, "uptime_s") - figure(before, "uptime_s")) : 0;
	json_t *steps = json_object_get(now, "steps"), *old = json_object_get(before, "steps"), *s;
	size_t i;

	json_array_foreach (steps, i, s) {
		json_t *was = same(old, s);

		json_object_set_new(s, "gpu_pct", percent(s, was, "active_ms", ms));
		json_object_set_new(s, "wait_pct", percent(s, was, "waiting_ms", ms));
		json_object_set_new(s, "copy_gib_s", copied(s, was, ms));
	}
}

static int matches(json_t *step, const char *text)
{
	static const char *const keys[] = { "step", "user", "partition", "state" };
	char job[24];

	snprintf(job, sizeof(job), GS_JOB_F, GS_JOB((uint32_t)figure(step, "job")));
	if (strcasestr(job, text))
		return 1;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcasestr(words(step, keys[i]), text))
			return 1;
	return 0;
}

json_t *gs_top_filter(json_t *steps, const char *text)
{
	json_t *some = json_array(), *s;
	size_t i;

	json_array_foreach (steps, i, s)
		if (some && matches(s, text))
			json_array_append(some, s);
	return some;
}

static json_t *row_of(json_t *rows, const char *user)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (strcmp(words(row, "user"), user) == 0)
			return row;
	row = json_object();
	json_object_set_new(row, "user", json_string(user));
	json_array_append_new(rows, row);
	return row;
}

static void add(json_t *row, const char *key, double value)
{
	json_object_set_new(row, key, json_real(figure(row, key) + value));
}

static int is_whole_job(json_t *step)
{
	const char *name = words(step, "step");

	return strcmp(name, "batch") == 0 || strcmp(name, "interactive") == 0 ||
	       strcmp(name, "extern") == 0;
}

/* Is what the step holds within what its job holds already, by another one of these steps? */
static int is_within(json_t *steps, json_t *step)
{
	json_t *other;
	size_t i;

	json_array_foreach (steps, i, other) {
		if (other == step && is_whole_job(step))
			return 0; /* of several such steps the first counts */
		if (other != step && is_whole_job(other) &&
		    figure(other, "job") == figure(step, "job") &&
		    figure(other, "gpu") == figure(step, "gpu"))
			return 1;
	}
	return 0;
}

json_t *gs_top_users(json_t *steps)
{
	static const char *const sums[] = { "gpu_pct", "wait_pct" };
	static const char *const held[] = { "shares", "memory_mb" };
	json_t *rows = json_array(), *s;
	size_t i;

	json_array_foreach (steps, i, s) {
		json_t *row = row_of(rows, words(s, "user"));
		const char *state = words(s, "state");

		add(row, "steps", 1);
		add(row, "running", strcmp(state, "running") == 0);
		add(row, "waiting", strcmp(state, "waiting") == 0 || strcmp(state, "memory") == 0);
		for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++)
			add(row, sums[k], figure(s, sums[k]));
		for (size_t k = 0; k < sizeof(held) / sizeof(held[0]); k++)
			add(row, held[k], is_within(steps, s) ? 0 : figure(s, held[k]));
	}
	return rows;
}
