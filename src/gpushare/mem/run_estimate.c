/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-mem estimate: the options, and the result for people or as JSON. */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpushare/mem/estimate.h"
#include "gpushare/mem/image.h"
#include "gpushare/mem/mem.h"

#define STATUS_INCOMPLETE 3 /* something could not be evaluated */

static void print_text(const struct mem_estimate *e)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct mem_allocation *a = &e->allocation[i];

		printf("%s:", a->file);
		if (a->line) /* not of a compiled file */
			printf("%u:", a->line);
		printf(" %s: ", a->call);
		if (a->known && a->times != 1)
			printf("%" PRIu64 " x %" PRIu64 " bytes: %s\n", a->times, a->bytes,
			       a->text);
		else if (a->known)
			printf("%" PRIu64 " bytes: %s\n", a->bytes, a->text);
		else
			printf("not known: %s (%s)\n", a->text, a->why);
	}
	printf("%s%" PRIu64 " bytes", e->unknown ? "at least " : "", e->total);
	if (e->total >= 1u << 20)
		printf(", %" PRIu64 " MiB", (e->total + (1u << 20) - 1) >> 20);
	if (e->unknown)
		printf("; %zu of %zu allocations are not known", e->unknown, e->n);
	putchar('\n');
}

static json_t *text_json(const char *text)
{
	json_t *j = json_string(text);

	return j ? j : json_string("?"); /* not UTF-8 */
}

static int print_json(const struct mem_estimate *e)
{
	json_t *all = json_object(), *list = json_array();
	int rc;

	for (size_t i = 0; i < e->n; i++) {
		const struct mem_allocation *a = &e->allocation[i];
		json_t *o = json_object();

		json_object_set_new(o, "file", text_json(a->file));
		json_object_set_new(o, "line", json_integer(a->line));
		json_object_set_new(o, "call", text_json(a->call));
		json_object_set_new(o, "size", text_json(a->text));
		json_object_set_new(o, "bytes",
				    a->known ? json_integer((json_int_t)a->bytes) : json_null());
		json_object_set_new(o, "times",
				    a->known ? json_integer((json_int_t)a->times) : json_null());
		json_object_set_new(o, "why", a->known ? json_null() : text_json(a->why));
		json_array_append_new(list, o);
	}
	json_object_set_new(all, "total_bytes", json_integer((json_int_t)e->total));
	json_object_set_new(all, "unknown", json_integer((json_int_t)e->unknown));
	json_object_set_new(all, "allocations", list);
	rc = json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return rc;
}

/* Compiled files at once, the others together: source goes over several. */
static int inspect(struct mem_source *source, char **file, int n, struct mem_estimate *e,
		   struct gs_error *err)
{
	int sources = 0, compiled;

	for (int i = 0; i < n; i++) {
		compiled = mem_image(file[i], e, err);
		if (compiled < 0 || (!compiled && mem_source_load(source, file[i], err) < 0))
			return -1;
		sources += !compiled;
	}
	return sources ? mem_estimate(source, e, err) : 0;
}

static int run(struct mem_source *source, char **file, int n, int json)
{
	struct mem_estimate e = { 0 };
	struct gs_error err;
	int status;

	if (inspect(source, file, n, &e, &err) < 0) {
		fprintf(stderr, "gpushare-mem: %s\n", err.text);
		mem_estimate_free(&e);
		return 1;
	}
	if (json)
		print_json(&e);
	else
		print_text(&e);
	status = e.unknown ? STATUS_INCOMPLETE : 0;
	mem_estimate_free(&e);
	return status;
}

int mem_run_estimate(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "define", required_argument, NULL, 'D' },
		{ NULL, 0, NULL, 0 },
	};
	struct mem_source source = { 0 };
	struct gs_error err;
	int c, json = 0, status = -1;

	while ((c = getopt_long(argc, argv, "D:", longs, NULL)) != -1) {
		if (c == 'J') {
			json = 1;
		} else if (c != 'D' || mem_source_define(&source, optarg, &err) < 0) {
			status = 2;
			break;
		}
	}
	if (status < 0 && optind == argc) {
		fputs("gpushare-mem: which file?\n", stderr);
		status = 2;
	}
	if (status < 0)
		status = run(&source, argv + optind, argc - optind, json);
	else
		fputs("Try 'gpushare-mem --help'.\n", stderr);
	mem_source_free(&source);
	return status;
}
