/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the subcommands share: complaints, options, the stage and files; see bench.h. */
#define _GNU_SOURCE
#include <config.h>

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/units.h"
#include "gpushare/bench/bench.h"

int bench_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("gpushare-bench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return 1;
}

int bench_usage(const struct bench_verb *verb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "gpushare-bench %s: ", verb->name);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\nTry 'gpushare-bench %s --help'.\n", verb->name);
	va_end(ap);
	return 2;
}

int bench_take_conf(void *of, const char *line, struct gs_error *err)
{
	struct bench_stage *stage = of;

	if (stage->nconf == BENCH_CONF_MAX)
		return gs_fail(err, "too many of them");
	stage->conf[stage->nconf++] = line;
	return 0;
}

int bench_take_lengths(void *of, const char *list, struct gs_error *err)
{
	struct bench_lengths *l = of;
	char word[32];

	for (l->count = 0; *list; list += strcspn(list, ","), list += *list == ',') {
		size_t n = strcspn(list, ",");

		if (l->count == BENCH_LENGTHS_MAX)
			return gs_fail(err, "at most %d lengths", BENCH_LENGTHS_MAX);
		if (n >= sizeof(word))
			return gs_fail(err, "'%.40s' is too long for a duration", list);
		memcpy(word, list, n);
		word[n] = '\0';
		if (gs_parse_duration(word, &l->ns[l->count++], err) < 0)
			return -1;
	}
	return l->count ? 0 : gs_fail(err, "which lengths?");
}

int bench_options(const struct bench_verb *verb, struct bench_common *common,
		  const struct gs_option *options, int operands, int argc, char **argv, int *status)
{
	struct gs_error err;
	int rc = gs_options_take(options, 0, argc, argv, &err);

	common->argc = argc;
	common->argv = argv;
	if (rc > 0 && (operands || optind == argc))
		return 1;
	*status = 0;
	if (rc == 0)
		printf("usage: gpushare-bench %s %s\n%s.\n\n%s" BENCH_COMMON_HELP, verb->name,
		       verb->usage, verb->words, verb->help);
	else
		*status = bench_usage(verb, "%s", rc < 0 ? err.text : "unexpected argument");
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
