/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the subcommands share: their options, their stage and their files; see bench.h. */
#define _GNU_SOURCE
#include <config.h>

#include <stdlib.h>
#include <time.h>

#include "gpushare/bench/bench.h"

/* 1: taken; 0: not one of those that every subcommand has; -1: that is all, with *status. */
static int common_option(struct bench_common *c, const struct bench_verb *verb, int option,
			 const char *value, int *status)
{
	switch (option) {
	case 'D':
		c->stage.driver = value;
		return 1;
	case 'S':
		c->stage.shim = value;
		return 1;
	case 'o':
		c->output = value;
		return 1;
	case 'K':
		c->stage.keep = 1;
		return 1;
	case 'C':
		if (c->stage.nconf == BENCH_CONF_MAX) {
			*status = bench_usage(verb, "too many --conf");
			return -1;
		}
		c->stage.conf[c->stage.nconf++] = value;
		return 1;
	case 'h':
		printf("usage: gpushare-bench %s %s\n%s.\n\n%s" BENCH_COMMON_HELP, verb->name,
		       verb->usage, verb->words, verb->help);
		*status = 0;
		return -1;
	case '?':
		*status = bench_usage(verb, "unknown option, or its value is missing");
		return -1;
	default:
		return 0;
	}
}

int bench_options(const struct bench_options *o, int argc, char **argv, int *status)
{
	const char *shorts = o->shorts ? o->shorts : "p:i:o:h";
	struct gs_error err;
	int option;

	o->common->argc = argc;
	o->common->argv = argv;
	while ((option = getopt_long(argc, argv, shorts, o->longs, NULL)) != -1) {
		int taken = common_option(o->common, o->verb, option, optarg, status);

		if (taken < 0)
			return 0;
		if (!taken)
			taken = bench_ways_option(o->ways, option, optarg, &err);
		if (taken < 0 || (!taken && o->set(o->of, option, optarg, &err) < 0)) {
			*status = bench_usage(o->verb, "%s", err.text);
			return 0;
		}
	}
	if (optind == argc || o->operands)
		return 1;
	*status = bench_usage(o->verb, "unexpected argument");
	return 0;
}

int bench_on_stage(struct bench_common *common,
		   int (*measure)(void *of, FILE *csv, struct gs_error *err), void *of)
{
	struct gs_error err;
	FILE *csv = NULL;
	int rc;

	if (common->output && !(csv = bench_output(common, ".csv")))
		return 1;
	rc = bench_stage_open(&common->stage, &err);
	if (rc == 0)
		rc = measure(of, csv, &err);
	if (rc < 0)
		bench_fail("%s", err.text);
	bench_stage_close(&common->stage);
	if (csv && bench_output_close(csv) < 0)
		rc = -1;
	return rc < 0;
}

FILE *bench_output(const struct bench_common *c, const char *suffix)
{
	char *path;
	FILE *f;

	if (asprintf(&path, "%s%s", c->output, suffix) < 0)
		return NULL;
	f = fopen(path, "we");
	if (!f)
		bench_fail("cannot write %s: %m", path);
	free(path);
	return f;
}

int bench_output_close(FILE *file)
{
	int bad = ferror(file);

	if (fclose(file) != 0 || bad) {
		bench_fail("cannot write the results");
		return -1;
	}
	return 0;
}

void bench_output_head(FILE *file, const struct bench_common *c, const char *device,
		       const char *driver)
{
	char date[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	fprintf(file, "# %s, CUDA driver %s, gpushare %s, %s\n# gpushare-bench", device, driver,
		PACKAGE_VERSION, date);
	for (int i = 0; i < c->argc; i++)
		fprintf(file, " %s", c->argv[i]);
	fputc('\n', file);
}
