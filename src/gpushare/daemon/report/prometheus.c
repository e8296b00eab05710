/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The status in Prometheus' text exposition format; see report.h and metrics.def. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/report/report_unmanaged.h"

/* A label's value: backslash, quote and newline escaped; UTF-8 is asked for, so ASCII it is. */
static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; value && *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value >= ' ' && *value < 127 ? *value : '?', out);
	}
	fputc('"', out);
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* gpu and UUID are what dcgm-exporter calls them, so that its metrics can be joined with these. */
static void gpu_labels(FILE *out, uint32_t gpu, const char *uuid)
{
	fprintf(out, "gpu=\"%u\",", gpu);
	put_label(out, "UUID", uuid);
}

/* What is no number has no sample. */
static void gpu_line(FILE *out, const char *name, const struct gs_report_gpu *g, double value)
{
	if (isnan(value))
		return;
	fprintf(out, "%s{", name);
	gpu_labels(out, g->gpu, g->uuid);
	fprintf(out, "} %.15g\n", value);
}

static void step_line(FILE *out, const char *name, const struct gs_report_row *r, double value)
{
	if (isnan(value))
		return;
	fprintf(out, "%s{job=\"%u\",", name, r->job);
	put_label(out, "step", r->step);
	fputc(',', out);
	put_label(out, "user", r->user);
	fputc(',', out);
	put_label(out, "account", r->account);
	fputc(',', out);
	put_label(out, "partition", r->partition);
	fputc(',', out);
	gpu_labels(out, r->gpu, r->uuid);
	fprintf(out, "} %.15g\n", value);
}

static void policies(FILE *out, const struct gs_report_status *s)
{
	head(out, "gpushare_info", "gauge", "1; the daemon's version and each GPU's policy.");
	for (size_t i = 0; i < s->ngpu; i++) {
		fputs("gpushare_info{", out);
		gpu_labels(out, s->gpu[i].gpu, s->gpu[i].uuid);
		fputc(',', out);
		put_label(out, "policy", s->gpu[i].now.policy);
		fputc(',', out);
		put_label(out, "version", s->version);
		fputs("} 1\n", out);
	}
	head(out, "gpushare_uptime_seconds", "gauge", "How long the daemon has served.");
	fprintf(out, "gpushare_uptime_seconds %.3f\n", s->uptime_s);
}

static void gpu_metrics(FILE *out, const struct gs_report_status *s)
{
#define GPU_METRIC(name, type, help, value) \
	head(out, #name, #type, help); \
	for (const struct gs_report_gpu *g = s->gpu; g < s->gpu + s->ngpu; g++) \
		gpu_line(out, #name, g, value);
#define STEP_METRIC(name, type, help, value)
#include "gpushare/daemon/report/metrics.def"
#undef GPU_METRIC
#undef STEP_METRIC
}

static void step_metrics(FILE *out, const struct gs_report_status *s)
{
	if (!s->nstep) /* a HELP without samples is of no use */
		return;
#define GPU_METRIC(name, type, help, value)
#define STEP_METRIC(name, type, help, value) \
	head(out, #name, #type, help); \
	for (const struct gs_report_row *r = s->step; r < s->step + s->nstep; r++) \
		step_line(out, #name, r, value);
#include "gpushare/daemon/report/metrics.def"
#undef GPU_METRIC
#undef STEP_METRIC
}

char *gs_report_metrics(const struct gs_report_status *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	policies(out, s);
	gpu_metrics(out, s);
	step_metrics(out, s);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
