/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What top draws; see top_screen.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/top_screen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpushare/ctl/screen.h"
#include "gpushare/ctl/status.h"
#include "gpushare/ctl/table.h"
#include "gpushare/ctl/top_rows.h"

#define STEPS \
	"job,step,user,partition,state,gpu,priority,shares,gpu_pct,wait_pct,ntt,preemptions," \
	"memory_mb,reserved_mb,start,reason"

/* Those that the key s goes through; the second is how equals stand. */
static const char *const orders[] = {
	"-gpu_pct,-wait_pct,job", "-wait_pct,job", "job,step", "user,job",
	"-memory_mb,job",         "-start,job",    "-ntt,job",
};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static const char *const help[] = {
	"q          quit                          s S   sort by the next, the one before",
	"u          a line per user, and back     r     reverse the order",
	"f or /     show only what has a text     Esc   show all again",
	"arrows, Page Up, Home ...   scroll        space look again at once",
	"h or ?     this, and back",
};

/* ---- tables ---- */

/* One of the orders may name columns that the users' table has not. */
static void sort_of(const struct gs_top_view *v, const struct gs_column *columns, char *buf,
		    size_t size)
{
	const char *order = v->sort ? v->sort : orders[v->order];
	size_t at = 0;

	buf[0] = '\0';
	while (*order) {
		size_t n = strcspn(order, ","), sign = *order == '-' || *order == '+';
		int falling = (*order == '-') != (v->reversed != 0 && at == 0);

		if (gs_column_find(columns, order + sign, (unsigned)(n - sign)) && at < size)
			at += (size_t)snprintf(buf + at, size - at, "%s%s%.*s", at ? "," : "",
					       falling ? "-" : "", (int)(n - sign), order + sign);
		order += n + (order[n] == ',');
	}
}

static int steps_layout(const struct gs_top_view *v, struct gs_layout *layout, struct gs_error *err)
{
	char sort[512];
	int rc;

	if (v->users) {
		sort_of(v, gs_columns_users, sort, sizeof(sort));
		return gs_layout_make(layout, gs_columns_users, NULL, *sort ? sort : "user", err);
	}
	sort_of(v, gs_columns_top, sort, sizeof(sort));
	rc = gs_layout_make(layout, gs_columns_top, v->format ? v->format : STEPS, sort, err);
	layout->chosen = v->format != NULL;
	layout->steady = 1;
	return rc;
}

/* ---- lines ---- */

struct drawing {
	FILE *out;
	size_t width, left; /* lines; SIZE_MAX: no limit */
	int screen, colour;
	int foot; /* the last line of the screen: one more would scroll it */
};

static void put_line(struct drawing *d, const char *text, const char *colour)
{
	if (!d->left)
		return;
	if (d->left != SIZE_MAX)
		d->left--;
	if (!d->colour)
		colour = "";
	fprintf(d->out, "%s%s%s%s%s", colour, text, *colour ? "\033[m" : "",
		d->screen ? "\033[K" : "", d->foot ? "" : "\n");
}

/* A line that need not fit. */
static void put_text(struct drawing *d, const char *text, const char *colour)
{
	char line[256];

	snprintf(line, sizeof(line), "%s", text);
	if (d->width && d->width < sizeof(line))
		line[d->width] = '\0';
	put_line(d, line, colour);
}

static const char *colour_of(json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "state"));

	if (!state)
		return "";
	if (strcmp(state, "running") == 0)
		return "\033[32m";
	if (strcmp(state, "waiting") == 0)
		return "\033[33m";
	return strcmp(state, "idle") == 0 ? "\033[2m" : "\033[35m";
}

/* The rows from `from` on. */
static int put_table(struct drawing *d, const struct gs_layout *layout, json_t *rows, size_t from,
		     struct gs_error *err)
{
	struct gs_lines lines;

	if (gs_table_lines(&lines, layout, rows, d->width) < 0)
		return gs_fail(err, "no memory");
	if (from + 1 >= lines.n) /* it has become shorter meanwhile */
		from = lines.n > 1 ? lines.n - 2 : 0;
	put_line(d, lines.line[0], "\033[7m");
	for (size_t i = from + 1; i < lines.n; i++)
		put_line(d, lines.line[i], colour_of(json_array_get(rows, lines.row[i - 1])));
	gs_lines_free(&lines);
	return 0;
}

static void put_title(struct drawing *d, json_t *status)
{
	char title[160], line[256], now[32] = "";
	time_t t = time(NULL);
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(now, sizeof(now), "%H:%M:%S", &tm);
	gs_status_title(status, title, sizeof(title));
	snprintf(line, sizeof(line), "%s, %s", title, now);
	put_text(d, line, "\033[1m");
}

static int put_gpus(struct drawing *d, json_t *status, struct gs_error *err)
{
	json_t *gpus = json_object_get(status, "gpus");
	struct gs_layout layout;
	int rc;

	gs_status_say_policies(gpus);
	if (gs_layout_make(&layout, gs_columns_gpus, NULL, NULL, err) < 0)
		return -1;
	layout.steady = 1;
	rc = put_table(d, &layout, gpus, 0, err);
	gs_layout_free(&layout);
	return rc;
}

static int put_steps(struct drawing *d, const struct gs_top_view *v, json_t *status,
		     struct gs_error *err)
{
	json_t *rows = gs_top_filter(json_object_get(status, "steps"), v->filter), *users;
	struct gs_layout layout;
	int rc;

	if (v->users) {
		users = gs_top_users(rows);
		json_decref(rows);
		rows = users;
	}
	if (!rows)
		return gs_fail(err, "no memory");
	rc = steps_layout(v, &layout, err);
	if (rc == 0) {
		rc = put_table(d, &layout, rows, v->scroll, err);
		gs_layout_free(&layout);
	}
	json_decref(rows);
	return rc;
}

/* The last line of the screen. */
static void put_foot(struct drawing *d, const struct gs_top_view *v)
{
	char line[256], sort[512];

	sort_of(v, v->users ? gs_columns_users : gs_columns_top, sort, sizeof(sort));
	if (v->typing)
		snprintf(line, sizeof(line), "Show only what has: %s_", v->filter);
	else
		snprintf(line, sizeof(line), "q quit  h help  u users  s sort: %.*s%s%s%s",
			 (int)strcspn(sort, ","), sort, *v->filter ? "  f filter: " : "  f filter",
			 v->filter, *v->filter ? " (Esc: all)" : "");
	d->left = d->foot = 1;
	put_text(d, line, "\033[7m");
}

int gs_top_draw(FILE *out, const struct gs_top_view *v, json_t *status, size_t width, size_t height,
		int colour, struct gs_error *err)
{
	struct drawing d = { .out = out,
			     .width = width,
			     .left = height ? height - 1 : SIZE_MAX,
			     .screen = height != 0,
			     .colour = colour };
	int rc;

	if (d.screen)
		fputs("\033[H", out);
	put_title(&d, status);
	rc = put_gpus(&d, status, err);
	put_line(&d, "", "");
	if (v->help)
		for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
			put_text(&d, help[i], "");
	if (rc == 0)
		rc = put_steps(&d, v, status, err);
	if (!d.screen)
		return rc;
	while (d.left)
		put_line(&d, "", "");
	put_foot(&d, v);
	return rc;
}

/* ---- keys ---- */

static int type_filter(struct gs_top_view *v, int key)
{
	size_t n = strlen(v->filter);

	if (key == '\r' || key == '\n') {
		v->typing = 0;
	} else if (key == '\033') {
		v->typing = 0;
		v->filter[0] = '\0';
	} else if ((key == 127 || key == '\b') && n) {
		v->filter[n - 1] = '\0';
	} else if (key < 127 && isprint(key) && n < sizeof(v->filter) - 1) {
		v->filter[n] = (char)key;
		v->filter[n + 1] = '\0';
	}
	v->scroll = 0;
	return 1;
}

static void scroll(struct gs_top_view *v, size_t page, int key)
{
	if (key == GS_KEY_UP || key == 'k')
		v->scroll -= v->scroll > 0;
	else if (key == GS_KEY_DOWN || key == 'j')
		v->scroll++;
	else if (key == GS_KEY_PAGE_UP)
		v->scroll -= v->scroll < page ? v->scroll : page;
	else if (key == GS_KEY_PAGE_DOWN)
		v->scroll += page;
	else
		v->scroll = key == GS_KEY_HOME ? 0 : SIZE_MAX / 2;
}

int gs_top_key(struct gs_top_view *v, int key, size_t page)
{
	if (key == GS_KEY_STOP || (key == 'q' && !v->typing))
		return -1;
	if (v->typing && key != GS_KEY_RESIZED)
		return type_filter(v, key);
	switch (key) {
	case 's':
	case 'S':
		v->order = (v->order + (key == 's' ? 1 : ORDERS - 1)) % ORDERS;
		v->sort = NULL;
		return 1;
	case 'r':
		v->reversed = !v->reversed;
		return 1;
	case 'u':
		v->users = !v->users;
		v->scroll = 0;
		return 1;
	case 'h':
	case '?':
		v->help = !v->help;
		return 1;
	case 'f':
	case '/':
		v->typing = 1;
		return 1;
	case '\033':
		v->filter[0] = '\0';
		return 1;
	case 'j':
	case 'k':
	case GS_KEY_UP:
	case GS_KEY_DOWN:
	case GS_KEY_PAGE_UP:
	case GS_KEY_PAGE_DOWN:
	case GS_KEY_HOME:
	case GS_KEY_END:
		scroll(v, page, key);
		return 1;
	default:
		return key == GS_KEY_RESIZED;
	}
}
