/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpusharectl check found, collected and printed; see findings.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static const char *const words[] = {
	[GS_GOOD] = "good",
	[GS_DOUBT] = "doubtful",
	[GS_WRONG] = "wrong",
	[GS_UNCHECKED] = "unchecked",
};

void gs_check_add(struct gs_check *c, enum gs_finding finding, const char *name, const char *fix,
		  const char *fmt, ...)
{
	struct gs_check_item *grown = realloc(c->item, (c->n + 1) * sizeof(*grown));
	char *text;
	va_list ap;

	if (!grown)
		abort();
	c->item = grown;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	grown[c->n++] = (struct gs_check_item) {
		.finding = finding,
		.name = name,
		.text = text,
		.fix = fix ? strdup(fix) : NULL,
	};
}

size_t gs_check_count(const struct gs_check *c, enum gs_finding finding)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->item[i].finding == finding;
	return n;
}

void gs_check_print(const struct gs_check *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct gs_check_item *item = &c->item[i];

		printf("%-9s  %-12s  %s\n", words[item->finding], item->name, item->text);
		if (item->fix)
			printf("%-9s  %-12s  to do: %s\n", "", "", item->fix);
	}
	printf("\n%zu good, %zu wrong, %zu doubtful, %zu unchecked\n", gs_check_count(c, GS_GOOD),
	       gs_check_count(c, GS_WRONG), gs_check_count(c, GS_DOUBT),
	       gs_check_count(c, GS_UNCHECKED));
}

/* Paths may hold bytes that are no UTF-8. */
static json_t *json_text(const char *text)
{
	json_t *j = json_string(text);

	return j ? j : json_string("(not UTF-8)");
}

void gs_check_print_json(const struct gs_check *c)
{
	json_t *list = json_array(), *all = json_object();

	for (size_t i = 0; i < c->n; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "check", json_string(c->item[i].name));
		json_object_set_new(o, "finding", json_string(words[c->item[i].finding]));
		json_object_set_new(o, "text", json_text(c->item[i].text));
		json_object_set_new(o, "fix",
				    c->item[i].fix ? json_text(c->item[i].fix) : json_null());
		json_array_append_new(list, o);
	}
	for (int f = GS_GOOD; f <= GS_UNCHECKED; f++)
		json_object_set_new(
			all, words[f],
			json_integer((json_int_t)gs_check_count(c, (enum gs_finding)f)));
	json_object_set_new(all, "checks", list);
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

void gs_check_release(struct gs_check *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->item[i].text);
		free(c->item[i].fix);
	}
	free(c->item);
	gs_config_free(c->config);
	gs_slurm_conf_free(c->slurm);
}
