/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports as tables and as JSON; see report.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/metrics/metrics.h"

#define MIB 1048576.0
#define CELL_MAX 160

const char *gs_report_form(uint32_t form)
{
	static const char *const names[] = { "as is", "persistent", "guarded", "sliced" };

	return form < sizeof(names) / sizeof(names[0]) ? names[form] : "?";
}

const char *gs_report_reason(uint32_t reason)
{
	/* The list is the transformer's; its words only, none of its code. */
	static const char *const words[] = {
#define PTX_REASON(name, text) text,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	};

	return reason < sizeof(words) / sizeof(words[0]) ? words[reason] : "?";
}

void gs_report_fill(struct gs_report_row *row, struct gs_tally *t, uint64_t peak,
		    uint64_t reserved)
{
	row->kernels = t->launches;
	row->active_ms = (double)t->active_ns / 1e6;
	row->waiting_ms = (double)t->waiting_ns / 1e6;
	row->turnaround_ms = (double)t->turnaround_ns / 1e6;
	row->ntt = gs_ntt(row->turnaround_ms, row->active_ms);
	row->preemptions = t->preemptions;
	gs_tally_quantiles(t);
	row->evict_p50_us = t->p50_us;
	row->evict_p99_us = t->p99_us;
	row->memory_mb = (double)peak / MIB;
	row->reserved_mb = (double)reserved / MIB;
}

void gs_report_comment(const struct gs_report_row *row, uint32_t gpu_shares, char *buf,
		       size_t size)
{
	snprintf(buf, size, "gpushare: gpu=%u share=%u%% ntt=%.2f waiting=%.0fms preempt=%" PRIu64
		 " mem=%.0f/%.0fMiB", row->gpu,
		 gpu_shares ? (unsigned)(100.0 * row->shares / gpu_shares + 0.5) : 0, row->ntt,
		 row->waiting_ms, row->preemptions, ceil(row->memory_mb), row->reserved_mb);
}

/* ---- tables ---------------------------------------------------------- */

/* A table of texts, column by column as wide as its widest cell. */
struct table {
	char *buf;
	size_t len;
	FILE *out;
	char (*cell)[CELL_MAX];
	size_t columns, cells, room;
	int failed;
};

static void table_open(struct table *t, size_t columns)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->out = open_memstream(&t->buf, &t->len);
	t->failed = !t->out;
}

static void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;

	if (t->cells == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		void *grown = realloc(t->cell, room * sizeof(*t->cell));

		if (!grown) {
			t->failed = 1;
			return;
		}
		t->cell = grown;
		t->room = room;
	}
	va_start(ap, fmt);
	vsnprintf(t->cell[t->cells++], CELL_MAX, fmt, ap);
	va_end(ap);
}

/* Figures stand right, words left; the last column is not padded. */
static int is_figure(const char *cell)
{
	return cell[0] >= '0' && cell[0] <= '9' && cell[strspn(cell, "0123456789.")] == '\0';
}

/* Positive: figures, to the right; negative: words, to the left. */
static int column_width(const struct table *t, size_t column)
{
	size_t width = 0;
	int figures = 1;

	for (size_t i = column; i < t->cells; i += t->columns) {
		if (strlen(t->cell[i]) > width)
			width = strlen(t->cell[i]);
		if (i >= t->columns)
			figures &= is_figure(t->cell[i]);
	}
	return figures ? (int)width : -(int)width;
}

/* Print the collected cells and begin anew with that many columns. */
static void table_print(struct table *t, size_t next_columns)
{
	int width[64];

	for (size_t c = 0; c < t->columns && c < 64; c++)
		width[c] = column_width(t, c);
	for (size_t i = 0; !t->failed && i < t->cells; i++) {
		size_t c = i % t->columns;
		int last = c + 1 == t->columns;

		if (last && width[c] < 0)
			fprintf(t->out, "%s", t->cell[i]);
		else
			fprintf(t->out, "%*s", width[c], t->cell[i]);
		fputs(last ? "\n" : "  ", t->out);
	}
	t->cells = 0;
	t->columns = next_columns;
}

static char *table_close(struct table *t)
{
	int bad = t->failed;

	if (t->out)
		bad |= fclose(t->out) != 0;
	free(t->cell);
	if (bad) {
		free(t->buf);
		return NULL;
	}
	return t->buf;
}

/* ---- steps ----------------------------------------------------------- */

static size_t count_columns(void)
{
	size_t n = 0;

#define COLUMN(key, type, kind, words) n++;
#include "gpushare/daemon/report.def"
#undef COLUMN
	return n;
}

static void steps_table(struct table *t, const struct gs_report_row *row, size_t n)
{
#define COLUMN(key, type, kind, words) table_cell(t, "%s", #key);
#include "gpushare/daemon/report.def"
#undef COLUMN
	for (; n; n--, row++) {
#define CELL_TEXT(v) table_cell(t, "%s", *(v) ? (v) : "-")
#define CELL_COUNT(v) table_cell(t, "%" PRIu64, (uint64_t)(v))
#define CELL_NUMBER(v) table_cell(t, "%.2f", (v))
#define COLUMN(key, type, kind, words) CELL_##kind(row->key);
#include "gpushare/daemon/report.def"
#undef COLUMN
	}
}

/* Three decimals: microseconds of a millisecond. */
static json_t *number(double v)
{
	return json_real(round(v * 1000) / 1000);
}

/* A user's text may be any bytes; JSON is UTF-8. */
static json_t *text(const char *s)
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

#define JSON_TEXT(v) text(v)
#define JSON_COUNT(v) json_integer((json_int_t)(v))
#define JSON_NUMBER(v) number(v)
#define COLUMN(key, type, kind, words) json_object_set_new(o, #key, JSON_##kind(row->key));
#include "gpushare/daemon/report.def"
#undef COLUMN
		json_array_append_new(all, o);
	}
	return all;
}

/* Frees the value. */
static char *dump(json_t *value)
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
	struct table t;

	if (json)
		return dump(steps_json(row, n));
	table_open(&t, count_columns());
	steps_table(&t, row, n);
	table_print(&t, 0);
	return table_close(&t);
}

/* ---- status ---------------------------------------------------------- */

static json_t *gpu_json(const struct gs_report_gpu *g)
{
	json_t *o = json_object();

	json_object_set_new(o, "gpu", json_integer(g->gpu));
	json_object_set_new(o, "policy", text(g->policy));
	json_object_set_new(o, "holder", *g->holder ? text(g->holder) : json_null());
	json_object_set_new(o, "clients", json_integer(g->clients));
	json_object_set_new(o, "waiting", json_integer(g->waiting));
	json_object_set_new(o, "shares", json_integer(g->shares));
	json_object_set_new(o, "shares_taken", json_integer(g->shares_taken));
	json_object_set_new(o, "memory_mb", number(g->memory_mb));
	json_object_set_new(o, "reserved_mb", number(g->reserved_mb));
	json_object_set_new(o, "evictions", json_integer((json_int_t)g->evictions));
	json_object_set_new(o, "overdue", json_integer((json_int_t)g->overdue));
	json_object_set_new(o, "policy_faults", json_integer(g->policy_faults));
	return o;
}

static char *status_json(const struct gs_report_status *s)
{
	json_t *o = json_object(), *gpus = json_array();

	json_object_set_new(o, "version", text(s->version));
	json_object_set_new(o, "pid", json_integer(s->pid));
	json_object_set_new(o, "uptime_s", number(s->uptime_s));
	for (size_t i = 0; i < s->ngpu; i++)
		json_array_append_new(gpus, gpu_json(&s->gpu[i]));
	json_object_set_new(o, "gpus", gpus);
	json_object_set_new(o, "steps", steps_json(s->step, s->nstep));
	return dump(o);
}

static void status_gpus(struct table *t, const struct gs_report_status *s)
{
	static const char *const heads[] = { "gpu", "policy", "shares", "taken", "memory_mb",
					     "reserved_mb", "clients", "waiting", "evictions",
					     "overdue", "holder" };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < s->ngpu; i++) {
		const struct gs_report_gpu *g = &s->gpu[i];

		table_cell(t, "%u", g->gpu);
		table_cell(t, "%s%s", g->policy, g->policy_faults ? " (fell back)" : "");
		table_cell(t, "%u", g->shares);
		table_cell(t, "%u", g->shares_taken);
		table_cell(t, "%.0f", g->memory_mb);
		table_cell(t, "%.0f", g->reserved_mb);
		table_cell(t, "%u", g->clients);
		table_cell(t, "%u", g->waiting);
		table_cell(t, "%" PRIu64, g->evictions);
		table_cell(t, "%" PRIu64, g->overdue);
		table_cell(t, "%s", *g->holder ? g->holder : "-");
	}
	table_print(t, count_columns());
}

char *gs_report_status(const struct gs_report_status *s, int json)
{
	struct table t;

	if (json)
		return status_json(s);
	table_open(&t, 11);
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
	table_print(&t, 0);
	return table_close(&t);
}

/* ---- kernels --------------------------------------------------------- */

static double mean_ms(const struct gs_tally_kernel *k)
{
	return k->finished ? (double)k->turnaround_ns / (double)k->finished / 1e6 : 0;
}

static json_t *kernel_json(const struct gs_report_kernel *r)
{
	const struct gs_tally_kernel *k = r->kernel;
	json_t *o = json_object();

	json_object_set_new(o, "job", json_integer(r->job));
	json_object_set_new(o, "step", text(r->step));
	json_object_set_new(o, "kernel", text(k->name));
	json_object_set_new(o, "form", text(gs_report_form(k->form)));
	json_object_set_new(o, "reason", text(gs_report_reason(k->reason)));
	json_object_set_new(o, "registers", json_integer(k->registers));
	json_object_set_new(o, "launches", json_integer((json_int_t)k->launches));
	json_object_set_new(o, "preemptions", json_integer((json_int_t)k->preemptions));
	json_object_set_new(o, "alone_ms", number((double)k->alone_ns / 1e6));
	json_object_set_new(o, "mean_ms", number(mean_ms(k)));
	return o;
}

static void kernel_cells(struct table *t, const struct gs_report_kernel *r)
{
	const struct gs_tally_kernel *k = r->kernel;

	table_cell(t, "%u", r->job);
	table_cell(t, "%s", r->step);
	table_cell(t, "%s", k->name);
	table_cell(t, "%s", gs_report_form(k->form));
	table_cell(t, "%u", k->registers);
	table_cell(t, "%" PRIu64, k->launches);
	table_cell(t, "%" PRIu64, k->preemptions);
	table_cell(t, "%.3f", (double)k->alone_ns / 1e6);
	table_cell(t, "%.3f", mean_ms(k));
	table_cell(t, "%s", k->reason ? gs_report_reason(k->reason) : "-");
}

char *gs_report_kernels(const struct gs_report_kernel *kernel, size_t n, int json)
{
	static const char *const heads[] = { "job", "step", "kernel", "form", "registers",
					     "launches", "preemptions", "alone_ms", "mean_ms",
					     "reason" };
	struct table t;

	if (json) {
		json_t *all = json_array();

		for (size_t i = 0; i < n; i++)
			json_array_append_new(all, kernel_json(&kernel[i]));
		return dump(all);
	}
	table_open(&t, sizeof(heads) / sizeof(heads[0]));
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < n; i++)
		kernel_cells(&t, &kernel[i]);
	table_print(&t, 0);
	return table_close(&t);
}
