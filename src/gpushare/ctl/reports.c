/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs kernels, memory and metrics: what the daemon answers to one question. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "gpushare/ctl/ctl.h"

/* ---- kernels ---- */

static int show_kernels(const struct gs_show *show, json_t *all, const void *unused,
			struct gs_error *err)
{
	const struct gs_show plain = { .no_header = show->no_header };
	json_t *sums = json_object_get(all, "jobs");

	(void)unused;
	if (gs_ctl_show(show, gs_columns_kernels, json_object_get(all, "kernels"), err) < 0)
		return -1;
	if (show->format)
		return 0;
	json_array_append(sums, json_object_get(all, "all"));
	putchar('\n');
	return gs_ctl_show(&plain, gs_columns_sums, sums, err);
}

static int run_kernels(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_show show = { 0 };
	uint32_t job = 0;
	const struct gs_option options[] = {
		{ "job", 'j', .take = gs_ctl_take_job, .of = &job },
		GS_SHOW_OPTIONS(&show),
		{ NULL },
	};
	int status = gs_ctl_options(verb, options, argc, argv);

	if (status < 0)
		status = gs_ctl_check_show(verb, &show, gs_columns_kernels);
	if (status >= 0)
		return status;
	return gs_ctl_show_query(&show, socket, GS_QUERY_KERNELS, job, show_kernels, NULL);
}

/* ---- memory ---- */

static double figure(json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *words(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static int show_memory(const struct gs_show *show, json_t *all, const void *unused,
		       struct gs_error *err)
{
	json_t *gpu, *steps;
	int rc = 0;
	size_t i;

	(void)unused;
	json_array_foreach (all, i, gpu) {
		if (!show->format)
			printf("gpu %.0f: %.0f MiB, %.0f reserved, %.0f used; admission %s, "
			       "wake-up %s, cycle %.3g ms\n",
			       figure(gpu, "gpu"), figure(gpu, "memory_mb"),
			       figure(gpu, "reserved_mb"), figure(gpu, "used_mb"),
			       words(gpu, "admission"), words(gpu, "wake"),
			       figure(gpu, "cycle_ms"));
		steps = json_object_get(gpu, "steps");
		if (rc == 0 && json_array_size(steps))
			rc = gs_ctl_show(show, gs_columns_memory, steps, err);
	}
	return rc;
}

static int run_memory(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_show show = { 0 };
	const struct gs_option options[] = { GS_SHOW_OPTIONS(&show), { NULL } };
	int status = gs_ctl_options(verb, options, argc, argv);

	if (status < 0)
		status = gs_ctl_check_show(verb, &show, gs_columns_memory);
	if (status >= 0)
		return status;
	return gs_ctl_show_query(&show, socket, GS_QUERY_MEMORY, 0, show_memory, NULL);
}

/* ---- metrics ---- */

static int run_metrics(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	static const struct gs_option options[] = { { NULL } };
	static const struct gs_show as_it_is = { .json = 1 };
	int status = gs_ctl_options(verb, options, argc, argv);

	return status >= 0 ? status :
			     gs_ctl_show_query(&as_it_is, socket, GS_QUERY_METRICS, 0, NULL, NULL);
}

const struct gs_verb gs_verb_memory = {
	.name = "memory",
	.usage = "[OPTION]...",
	.words = "Show the GPUs' memory, who has reserved it, and who waits for it and why",
	.help = GS_SHOW_HELP,
	.run = run_memory,
};

const struct gs_verb gs_verb_kernels = {
	.name = "kernels",
	.usage = "[--job N] [OPTION]...",
	.words = "Show the kernels of each job step, and why some cannot leave",
	.help = "  -j, --job N        only the steps of job N\n" GS_SHOW_HELP
		"\nWith --format the sums of the jobs are left out.\n",
	.run = run_kernels,
};

const struct gs_verb gs_verb_metrics = {
	.name = "metrics",
	.usage = "",
	.words = "Print the figures as Prometheus text metrics",
	.help = "MetricsFile= of gpushare.conf has the daemon write them to a file.\n",
	.run = run_metrics,
};
