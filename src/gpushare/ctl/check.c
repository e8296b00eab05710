/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl check: is gpushare installed as it must be on this machine?  See check.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "gpushare/ctl/ctl.h"

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

static size_t count(const struct gs_check *c, enum gs_finding finding)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->item[i].finding == finding;
	return n;
}

static void print_text(const struct gs_check *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct gs_check_item *item = &c->item[i];

		printf("%-9s  %-12s  %s\n", words[item->finding], item->name, item->text);
		if (item->fix)
			printf("%-9s  %-12s  to do: %s\n", "", "", item->fix);
	}
	printf("\n%zu good, %zu wrong, %zu doubtful, %zu unchecked\n", count(c, GS_GOOD),
	       count(c, GS_WRONG), count(c, GS_DOUBT), count(c, GS_UNCHECKED));
}

/* Paths may hold bytes that are no UTF-8. */
static json_t *json_text(const char *text)
{
	json_t *j = json_string(text);

	return j ? j : json_string("(not UTF-8)");
}

static int print_json(const struct gs_check *c)
{
	json_t *list = json_array(), *all = json_object();
	int rc;

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
		json_object_set_new(all, words[f],
				    json_integer((json_int_t)count(c, (enum gs_finding)f)));
	json_object_set_new(all, "checks", list);
	rc = json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return rc;
}

static void release(struct gs_check *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->item[i].text);
		free(c->item[i].fix);
	}
	free(c->item);
	gs_config_free(c->config);
	gs_slurm_conf_free(c->slurm);
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_check c = { .config_path = getenv("GPUSHARE_CONF") };
	const char *slurm_conf = NULL;
	int json = 0, status;
	const struct gs_option options[] = {
		{ "config", 'c', .text = &c.config_path },
		{ "slurm-conf", .text = &slurm_conf },
		{ "json", .given = &json },
		{ NULL },
	};

	status = gs_ctl_options(verb, options, argc, argv);
	if (status >= 0)
		return status;
	/* The default is no choice of the user's: the configuration knows better. */
	c.socket = strcmp(socket, GS_SOCKET) == 0 ? NULL : socket;
	if (!c.config_path || !*c.config_path)
		c.config_path = GS_CONFIG_FILE;
	gs_check_node(&c);
	c.slurm_conf_path = gs_slurm_conf_path(slurm_conf ? slurm_conf :
					       c.config   ? c.config->slurm_conf :
							    NULL);
	gs_check_slurm(&c);
	gs_check_plugins(&c);
	gs_check_services(&c);
	status = count(&c, GS_WRONG) > 0;
	if (json)
		print_json(&c);
	else
		print_text(&c);
	release(&c);
	if (fflush(stdout) != 0 || ferror(stdout))
		return gs_ctl_fail("cannot write");
	return status;
}

const struct gs_verb gs_verb_check = {
	.name = "check",
	.usage = "[--config FILE] [--slurm-conf FILE] [--json]",
	.words = "Check the whole installation and say what to fix",
	.help = "  -c, --config FILE      gpushare.conf (default: $GPUSHARE_CONF,\n"
		"                         or " GS_CONFIG_FILE ")\n"
		"      --slurm-conf FILE  slurm.conf (default: SlurmConf of gpushare.conf,\n"
		"                         $SLURM_CONF, or where Slurm has it)\n"
		"      --json             print JSON\n"
		"\nThe exit status is 1 if something is wrong.  Some checks need root.\n",
	.run = run,
};
