/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as a page for a browser; see html.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/html.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/layout.h"
#include "gpushare/proto/job_name.h"

#define USER_MAX 64

struct user {
	char name[USER_MAX];
	unsigned steps;
	unsigned served; /* of them, those that have had the GPU */
	double active_ms, waiting_ms, ntt_sum, memory_mb;
	json_int_t preemptions;
};

static const char style[] =
	"body{font:14px/1.45 system-ui,sans-serif;color:#222;background:#fff;max-width:1240px;margin:2em auto;padding:0 1em}"
	"h1{font-size:1.5em;margin:0}h2{font-size:1.15em;margin:2em 0 .4em}p{margin:.3em 0;color:#555}"
	"table{border-collapse:collapse;width:100%}th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #e4e4e4;"
	"white-space:nowrap}th{font-weight:600;color:#555}.l{text-align:left}"
	".b{text-align:left;width:22%}.b i{display:inline-block;height:.75em;background:#4f81bd;margin-right:.5em}"
	".b i+i{background:#e8d9a0;margin-left:-.5em}"
	".t{overflow-x:auto}svg{max-width:100%;height:auto}";

static void put(FILE *out, const char *text)
{
	for (; *text; text++) {
		const char *at = strchr("<>&\"", *text);
		static const char *const as[] = { "&lt;", "&gt;", "&amp;", "&quot;" };

		if (at)
			fputs(as[at - "<>&\""], out);
		else
			fputc(*text, out);
	}
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static const char *text(const json_t *row, const char *key)
{
	const char *s = json_string_value(json_object_get(row, key));

	return s ? s : "";
}

static uint32_t job_of(const json_t *row)
{
	return (uint32_t)json_integer_value(json_object_get(row, "job"));
}

/* "350 ms", "12.5 s", "4.2 min", "3.1 h" */
static void put_time(FILE *out, double ms)
{
	if (ms < 1e3)
		fprintf(out, "<td>%.0f ms</td>", ms);
	else if (ms < 6e4)
		fprintf(out, "<td>%.1f s</td>", ms / 1e3);
	else if (ms < 3.6e6)
		fprintf(out, "<td>%.1f min</td>", ms / 6e4);
	else
		fprintf(out, "<td>%.1f h</td>", ms / 3.6e6);
}

/* The part of a whole as a bar, and in words; beyond: a second part in another colour. */
static void put_bar(FILE *out, double part, double beyond, double whole)
{
	double most = 70; /* percent of the cell */

	if (whole <= 0) {
		fputs("<td class=b>-</td>", out);
		return;
	}
	part = part / whole > 1 ? 1 : part / whole;
	beyond = part + beyond / whole > 1 ? 1 - part : beyond / whole;
	fprintf(out, "<td class=b><i style=\"width:%.1f%%\"></i>", part * most);
	if (beyond > 0)
		fprintf(out, "<i style=\"width:%.1f%%\"></i>", beyond * most);
	fprintf(out, "%.0f %%</td>", part * 100);
}

static void put_slowdown(FILE *out, double slowdown)
{
	if (slowdown > 0)
		fprintf(out, "<td>%.2f</td>", slowdown);
	else
		fputs("<td>-</td>", out);
}

/* ---- users --------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return (x->active_ms < y->active_ms) - (x->active_ms > y->active_ms);
}

static struct user *user_of(struct user *all, size_t *count, const char *name)
{
	struct user *u = all;

	while (u < all + *count && strncmp(u->name, name, USER_MAX - 1) != 0)
		u++;
	if (u == all + *count) {
		snprintf(u->name, USER_MAX, "%s", name);
		++*count;
	}
	return u;
}

static size_t add_up(struct user *all, const json_t *steps)
{
	size_t count = 0, i;
	json_t *row;

	json_array_foreach (steps, i, row) {
		struct user *u = user_of(all, &count, text(row, "user"));
		double active = number(row, "active_ms");

		u->steps++;
		u->active_ms += active;
		u->waiting_ms += number(row, "waiting_ms");
		u->preemptions += json_integer_value(json_object_get(row, "preemptions"));
		if (number(row, "memory_mb") > u->memory_mb)
			u->memory_mb = number(row, "memory_mb");
		if (active > 0) {
			u->served++;
			u->ntt_sum += number(row, "ntt");
		}
	}
	qsort(all, count, sizeof(*all), by_time);
	return count;
}

/* Jain's index of what part of the wanted time each user got: 1 is all alike. */
static double fairness(const struct user *all, size_t count)
{
	double sum = 0, squares = 0, n = 0;

	for (size_t i = 0; i < count; i++) {
		double wanted = all[i].active_ms + all[i].waiting_ms, got;

		if (wanted <= 0)
			continue;
		got = all[i].active_ms / wanted;
		sum += got;
		squares += got * got;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : 0;
}

static void put_users(FILE *out, const struct user *all, size_t count)
{
	double total = 0, index = fairness(all, count);

	for (size_t i = 0; i < count; i++)
		total += all[i].active_ms;
	fputs("<h2>Users</h2>\n<p>Who got how much of the GPUs' time, and what part of the time "
	      "that each wanted.",
	      out);
	if (index > 0)
		fprintf(out, " Jain's index of the latter is %.2f; 1 is the same for all.", index);
	fputs("</p>\n<table><tr><th class=l>user<th>job steps<th>GPU time<th class=b>of all GPU "
	      "time<th>waited<th class=b>got of what it wanted<th>mean slowdown<th>preemptions"
	      "<th>most memory, MiB</tr>\n",
	      out);
	for (const struct user *u = all; u < all + count; u++) {
		fputs("<tr><td class=l>", out);
		put(out, u->name);
		fprintf(out, "</td><td>%u</td>", u->steps);
		put_time(out, u->active_ms);
		put_bar(out, u->active_ms, 0, total);
		put_time(out, u->waiting_ms);
		put_bar(out, u->active_ms, u->waiting_ms, u->active_ms + u->waiting_ms);
		put_slowdown(out, u->served ? u->ntt_sum / u->served : 0);
		fprintf(out, "<td>%lld</td><td>%.0f</td></tr>\n", (long long)u->preemptions,
			u->memory_mb);
	}
	fputs("</table>\n", out);
}

/* ---- memory -------------------------------------------------------------- */

static void put_memory(FILE *out, const json_t *memory)
{
	size_t i, j;
	json_t *gpu, *row;

	fputs("<h2>Memory</h2>\n<p>What is reserved of each GPU's memory, and who has it or waits "
	      "for it.</p>\n<table><tr><th class=l>GPU or job<th class=l>user<th class=l>state"
	      "<th>reserved, MiB<th>used, MiB<th class=b>of the GPU<th class=l>why</tr>\n",
	      out);
	json_array_foreach (memory, i, gpu) {
		double whole = number(gpu, "memory_mb");

		fprintf(out,
			"<tr><td class=l><b>GPU %lld</b></td><td class=l></td><td class=l>%.0f MiB"
			"</td><td>%.0f</td><td>%.0f</td>",
			(long long)json_integer_value(json_object_get(gpu, "gpu")), whole,
			number(gpu, "reserved_mb"), number(gpu, "used_mb"));
		put_bar(out, number(gpu, "reserved_mb"), 0, whole);
		fputs("<td></td></tr>\n", out);
		json_array_foreach (json_object_get(gpu, "steps"), j, row) {
			fprintf(out, "<tr><td class=l>job " GS_JOB_F "</td><td class=l>",
				GS_JOB(job_of(row)));
			put(out, text(row, "user"));
			fputs("</td><td class=l>", out);
			put(out, text(row, "state"));
			fprintf(out, "</td><td>%.0f</td><td>%.0f</td>", number(row, "memory_mb"),
				number(row, "used_mb"));
			put_bar(out, number(row, "memory_mb"), 0, whole);
			fputs("<td class=l>", out);
			put(out, text(row, "why"));
			fputs("</td></tr>\n", out);
		}
	}
	fputs("</table>\n", out);
}

/* ---- steps --------------------------------------------------------------- */

/* As in the table of `gpusharectl report`; to be freed.  NULL: no memory. */
static size_t *order_of(json_t *steps)
{
	struct gs_layout layout;
	struct gs_error err;
	size_t *order;

	if (gs_layout_make(&layout, gs_columns_steps, NULL, GS_REPORT_ORDER, &err) < 0)
		return NULL;
	order = gs_layout_order(&layout, steps);
	gs_layout_free(&layout);
	return order;
}

static void put_steps(FILE *out, json_t *steps, const size_t *order)
{
	fputs("<h2>Job steps</h2>\n<table><tr><th>job<th class=l>step<th class=l>user<th class=l>"
	      "partition<th>GPU<th>shares<th>GPU time<th>waited<th class=b>had the GPU, and waited"
	      "<th>slowdown<th>preemptions<th>memory, MiB</tr>\n",
	      out);
	for (size_t i = 0; i < json_array_size(steps); i++) {
		const json_t *row = json_array_get(steps, order[i]);

		fprintf(out, "<tr><td>" GS_JOB_F "</td>", GS_JOB(job_of(row)));
		for (const char *const *key =
			     (const char *const[]) { "step", "user", "partition", NULL };
		     *key; key++) {
			fputs("<td class=l>", out);
			put(out, text(row, *key));
			fputs("</td>", out);
		}
		fprintf(out, "<td>%lld</td><td>%lld</td>",
			(long long)json_integer_value(json_object_get(row, "gpu")),
			(long long)json_integer_value(json_object_get(row, "shares")));
		put_time(out, number(row, "active_ms"));
		put_time(out, number(row, "waiting_ms"));
		put_bar(out, number(row, "active_ms"), number(row, "waiting_ms"),
			number(row, "active_ms") + number(row, "waiting_ms"));
		put_slowdown(out, number(row, "active_ms") > 0 ? number(row, "ntt") : 0);
		fprintf(out, "<td>%lld</td><td>%.0f</td></tr>\n",
			(long long)json_integer_value(json_object_get(row, "preemptions")),
			number(row, "memory_mb"));
	}
	fputs("</table>\n", out);
}

static void put_head(FILE *out, const struct gs_html *page)
{
	fputs("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
	      "<meta name=viewport content=\"width=device-width\"><title>",
	      out);
	put(out, page->title);
	fprintf(out, "</title><style>%s</style></head><body>\n<h1>", style);
	put(out, page->title);
	fputs("</h1>\n<p>", out);
	put(out, page->about);
	fputs("</p>\n<h2>Timeline</h2>\n<div class=t>", out);
	if (page->timeline_words)
		put(out, page->timeline);
	else
		fputs(page->timeline, out);
	fputs("</div>\n", out);
}

int gs_html_write(FILE *out, const struct gs_html *page, struct gs_error *err)
{
	json_t *steps = json_loads(page->steps, 0, NULL),
	       *memory = json_loads(page->memory, 0, NULL);
	struct user *users = NULL;
	size_t *order = NULL;
	int rc = -1;

	if (!json_is_array(steps) || !json_is_array(memory)) {
		gs_fail(err, "the daemon's answer is not the JSON that was expected");
	} else if (!(order = order_of(steps)) ||
		   !(users = calloc(json_array_size(steps) + 1, sizeof(*users)))) {
		gs_fail(err, "no memory");
	} else {
		put_head(out, page);
		put_users(out, users, add_up(users, steps));
		put_memory(out, memory);
		put_steps(out, steps, order);
		fputs("</body></html>\n", out);
		rc = 0;
	}
	free(order);
	free(users);
	json_decref(steps);
	json_decref(memory);
	return rc;
}
