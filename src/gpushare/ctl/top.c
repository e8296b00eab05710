/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpusharectl top: the GPUs and who uses them, again and again.  Two answers
 * of `status`, an interval apart, tell what each step had of the time between.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/ctl/ctl.h"

#define INTERVAL_MIN_NS (50 * GS_NS_PER_MS)
#define LINES_MAX 100000

struct inspect {
	json_t *status;
	uint64_t at_ns;
};

/* A step's part of the interval. */
struct line {
	json_t *step;
	double gpu, wait; /* percent */
};

static double figure(json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *words(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && *s ? s : "-";
}

static int inspect(const char *socket, struct inspect *l, struct gs_error *err)
{
	struct gs_ctl_text text;
	json_error_t where;

	if (gs_ctl_get(socket, GS_QUERY_STATUS, 0, 1, &text, err) < 0)
		return -1;
	l->at_ns = gs_clock_ns();
	l->status = json_loadb(text.bytes, text.size, 0, &where);
	free(text.bytes);
	return l->status ? 0 : gs_fail(err, "gpushared's status is no JSON: %s", where.text);
}

/* The same step in the look before; NULL: it is new. */
static json_t *before(const struct inspect *old, json_t *step)
{
	json_t *all = json_object_get(old->status, "steps"), *s;
	size_t i;

	json_array_foreach (all, i, s)
		if (figure(s, "job") == figure(step, "job") &&
		    strcmp(words(s, "step"), words(step, "step")) == 0)
			return s;
	return NULL;
}

static double percent(const struct inspect *old, const struct inspect *now, json_t *step,
		      const char *key)
{
	json_t *was = before(old, step);
	double ms = (double)(now->at_ns - old->at_ns) / 1e6;

	return ms > 0 ? 100 * (figure(step, key) - (was ? figure(was, key) : 0)) / ms : 0;
}

static int busiest_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double dx = x->gpu + x->wait / 1e3, dy = y->gpu + y->wait / 1e3;

	if (dx > dy || dx < dy)
		return dx > dy ? -1 : 1;
	dx = figure(x->step, "job");
	dy = figure(y->step, "job");
	return (dx > dy) - (dx < dy);
}

/* 1 while a process of the step has the turn. */
static int has_gpu(json_t *status, json_t *step)
{
	json_t *gpus = json_object_get(status, "gpus"), *g;
	char want[64];
	size_t i;

	snprintf(want, sizeof(want), "job %.0f.%s ", figure(step, "job"), words(step, "step"));
	json_array_foreach (gpus, i, g)
		if (strncmp(words(g, "holder"), want, strlen(want)) == 0)
			return 1;
	return 0;
}

/* "sjf, urgent: rr": the GPU's policy, and those of classes that have their own. */
static void print_policies(json_t *gpu)
{
	json_t *classes = json_object_get(gpu, "classes"), *c;
	int width = printf("%s", words(gpu, "policy"));
	size_t i;

	json_array_foreach (classes, i, c)
		if (json_is_true(json_object_get(c, "own")))
			width += printf(", %s: %s", words(c, "class"), words(c, "policy"));
	printf("%*s", width < 5 ? 5 - width : 0, "");
}

static unsigned print_gpus(json_t *status, unsigned room)
{
	json_t *gpus = json_object_get(status, "gpus"), *g;
	unsigned n = 0;
	size_t i;

	json_array_foreach (gpus, i, g) {
		if (n++ >= room)
			break;
		printf("gpu %-3.0f ", figure(g, "gpu"));
		print_policies(g);
		printf(" %3.0f/%-3.0f shares  %.0f/%.0f MiB  %.0f clients, %.0f waiting  "
		       "%.0f evictions, p99 %.0f us  ANTT %.2f DNTT %.2f STP %.2f Jain %.2f\n",
		       figure(g, "shares_taken"), figure(g, "shares"), figure(g, "reserved_mb"),
		       figure(g, "memory_mb"), figure(g, "clients"), figure(g, "waiting"),
		       figure(g, "evictions"), figure(g, "evict_p99_us"), figure(g, "antt"),
		       figure(g, "dntt"), figure(g, "stp"), figure(g, "jain"));
	}
	return n;
}

static void print_steps(const struct inspect *old, const struct inspect *now, unsigned room)
{
	json_t *steps = json_object_get(now->status, "steps"), *s;
	struct line *line = calloc(json_array_size(steps) + 1, sizeof(*line));
	size_t n = 0, i;

	if (!line)
		return;
	json_array_foreach (steps, i, s)
		line[n++] = (struct line) { s, percent(old, now, s, "active_ms"),
					    percent(old, now, s, "waiting_ms") };
	qsort(line, n, sizeof(*line), busiest_first);
	printf("%-1s %10s %-11s %-12s %-12s %3s %6s %6s %6s %7s %9s %10s\n", "", "job", "step",
	       "user", "partition", "gpu", "shares", "gpu%", "wait%", "NTT", "preempt.",
	       "memory MiB");
	for (i = 0; i < n && i < room; i++) {
		s = line[i].step;
		printf("%-1s %10.0f %-11.11s %-12.12s %-12.12s %3.0f %6.0f %6.1f %6.1f %7.2f %9.0f "
		       "%10.0f\n",
		       has_gpu(now->status, s) ? "*" : "", figure(s, "job"), words(s, "step"),
		       words(s, "user"), words(s, "partition"), figure(s, "gpu"),
		       figure(s, "shares"), line[i].gpu, line[i].wait, figure(s, "ntt"),
		       figure(s, "preemptions"), figure(s, "memory_mb"));
	}
	free(line);
}

static unsigned screen_lines(void)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 6)
		return w.ws_row;
	return LINES_MAX;
}

static void print_all(const struct inspect *old, const struct inspect *now, int screen)
{
	unsigned room = screen ? screen_lines() - 4 : LINES_MAX, used;
	char clock[32] = "";
	time_t t = time(NULL);
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (screen)
		fputs("\033[H\033[J", stdout);
	printf("gpushared %s, %s, up %.0f s\n", words(now->status, "version"), clock,
	       figure(now->status, "uptime_s"));
	used = print_gpus(now->status, room);
	putchar('\n');
	print_steps(old, now, room > used ? room - used : 0);
}

static void wait_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / GS_NS_PER_S), (long)(ns % GS_NS_PER_S) };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static int watch(const char *socket, uint64_t interval_ns, int once)
{
	int screen = !once && isatty(STDOUT_FILENO);
	struct inspect old = { NULL, 0 }, now = { NULL, 0 };
	struct gs_error err;
	int rc = inspect(socket, &old, &err);

	while (rc == 0) {
		wait_ns(interval_ns);
		rc = inspect(socket, &now, &err);
		if (rc < 0)
			break;
		print_all(&old, &now, screen);
		json_decref(old.status);
		old = now;
		if (fflush(stdout) != 0 || ferror(stdout))
			rc = gs_fail_errno(&err, "cannot write");
		if (once)
			break;
	}
	json_decref(old.status);
	return rc < 0 ? gs_ctl_fail("%s", err.text) : 0;
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	uint64_t interval = GS_NS_PER_S;
	int once = 0, status;
	const struct gs_option options[] = {
		{ "once", .given = &once },
		{ "interval", 'i', .duration = &interval },
		{ NULL },
	};

	status = gs_ctl_options(verb, options, argc, argv);
	if (status >= 0)
		return status;
	if (interval < INTERVAL_MIN_NS)
		return gs_ctl_usage(verb, "--interval: at least 50 ms");
	return watch(socket, interval, once);
}

const struct gs_verb gs_verb_top = {
	.name = "top",
	.usage = "[--once] [--interval TIME]",
	.words = "Watch what each job step gets of the GPUs",
	.help = "  -i, --interval TIME  between two looks (default: 1s; at least 50ms)\n"
		"      --once           print one table and exit\n",
	.run = run,
};
