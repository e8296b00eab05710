/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs that print what the daemon answers to one question. */
#include <stdlib.h>

#include "gpushare/ctl/ctl.h"

static int run_report(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	int json = 0, status;
	uint32_t job = 0;
	const struct gs_option options[] = {
		{ "json", .given = &json },
		/* The last one: it is not every report's. */
		{ verb->query == GS_QUERY_KERNELS ? "job" : NULL, 'j', .number = &job, .least = 1,
		  .most = UINT32_MAX },
		{ NULL },
	};

	status = gs_ctl_options(verb, options, argc, argv);
	return status < 0 ? gs_ctl_query(socket, verb->query, job, json) : status;
}

static int run_metrics(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	static const struct gs_option options[] = { { NULL } };
	int status = gs_ctl_options(verb, options, argc, argv);

	return status < 0 ? gs_ctl_query(socket, verb->query, 0, 0) : status;
}

static int run_ping(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	static const struct gs_option options[] = { { NULL } };
	int status = gs_ctl_options(verb, options, argc, argv);
	struct gs_ctl_text text;
	struct gs_error err;

	if (status >= 0)
		return status;
	if (gs_ctl_get(socket, verb->query, 0, 1, &text, &err) < 0)
		return gs_ctl_fail("%s", err.text);
	free(text.bytes);
	return 0;
}

const struct gs_verb gs_verb_status = {
	.name = "status",
	.usage = "[--json]",
	.words = "Show the GPUs, who holds them, and the registered job steps",
	.help = "  --json     print JSON\n",
	.query = GS_QUERY_STATUS,
	.run = run_report,
};

const struct gs_verb gs_verb_memory = {
	.name = "memory",
	.usage = "[--json]",
	.words = "Show the GPUs' memory, who has reserved it, and who waits for it and why",
	.help = "  --json     print JSON\n",
	.query = GS_QUERY_MEMORY,
	.run = run_report,
};

const struct gs_verb gs_verb_kernels = {
	.name = "kernels",
	.usage = "[--job N] [--json]",
	.words = "Show the kernels of each job step, and why some cannot leave",
	.help = "  --job N    only the steps of job N\n"
		"  --json     print JSON\n",
	.query = GS_QUERY_KERNELS,
	.run = run_report,
};

const struct gs_verb gs_verb_metrics = {
	.name = "metrics",
	.usage = "",
	.words = "Print the figures as Prometheus text metrics",
	.help = "MetricsFile= of gpushare.conf has the daemon write them to a file.\n",
	.query = GS_QUERY_METRICS,
	.run = run_metrics,
};

const struct gs_verb gs_verb_ping = {
	.name = "ping",
	.usage = "",
	.words = "Exit with status 0 if the daemon answers",
	.help = "",
	.query = GS_QUERY_STATUS,
	.run = run_ping,
};
