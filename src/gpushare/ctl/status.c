/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl status: the GPUs, the registered steps, and who uses GPUs past gpushare. */
#define _GNU_SOURCE
#include "gpushare/ctl/status.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpushare/ctl/cell.h"
#include "gpushare/ctl/ctl.h"

static const char *words(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static const char *fell_back(json_t *o)
{
	return json_is_true(json_object_get(o, "fell_back")) ? " (fell back)" : "";
}

static void say_policy(json_t *gpu)
{
	json_t *classes = json_object_get(gpu, "classes"), *c;
	char text[1024];
	size_t at, i;

	at = (size_t)snprintf(text, sizeof(text), "%s%s", words(gpu, "policy"), fell_back(gpu));
	json_array_foreach (classes, i, c)
		if (at < sizeof(text) && (json_is_true(json_object_get(c, "own")) || *fell_back(c)))
			at += (size_t)snprintf(text + at, sizeof(text) - at, ", %s: %s%s",
					       words(c, "class"), words(c, "policy"), fell_back(c));
	json_object_set_new(gpu, "policy", json_string(text));
}

void gs_status_say_policies(json_t *gpus)
{
	json_t *g;
	size_t i;

	json_array_foreach (gpus, i, g)
		say_policy(g);
}

void gs_status_title(json_t *status, char *buf, size_t size)
{
	char up[32];

	gs_print_duration(up, sizeof(up), json_number_value(json_object_get(status, "uptime_s")));
	snprintf(buf, size, "gpushared %s, pid %.0f, up %s", words(status, "version"),
		 json_number_value(json_object_get(status, "pid")), up);
}

static int show_steps(const struct gs_show *show, json_t *status, struct gs_error *err)
{
	json_t *steps = json_object_get(status, "steps");

	if (json_array_size(steps))
		return gs_ctl_show(show, gs_columns_steps, steps, err);
	if (!show->format)
		puts("no job steps");
	return 0;
}

/* Everything: the GPUs, the steps by what the user said of them, and who is unmanaged, if anybody
 * is. */
static int show_all(const struct gs_show *show, json_t *status, struct gs_error *err)
{
	const struct gs_show plain = { .no_header = show->no_header };
	json_t *unmanaged = json_object_get(status, "unmanaged");
	char title[160];

	gs_status_title(status, title, sizeof(title));
	printf("%s\n\n", title);
	if (gs_ctl_show(&plain, gs_columns_gpus, json_object_get(status, "gpus"), err) < 0)
		return -1;
	putchar('\n');
	if (show_steps(show, status, err) < 0)
		return -1;
	if (!json_array_size(unmanaged))
		return 0;
	fputs("\nunmanaged: they use a GPU past gpushare\n\n", stdout);
	return gs_ctl_show(&plain, gs_columns_unmanaged, unmanaged, err);
}

static int show_status(const struct gs_show *show, json_t *status, const void *gpus,
		       struct gs_error *err)
{
	gs_status_say_policies(json_object_get(status, "gpus"));
	if (*(const int *)gpus)
		return gs_ctl_show(show, gs_columns_gpus, json_object_get(status, "gpus"), err);
	return show->format ? show_steps(show, status, err) : show_all(show, status, err);
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_show show = { 0 };
	int gpus = 0, status;
	const struct gs_option options[] = {
		{ "gpus", .given = &gpus },
		GS_SHOW_OPTIONS(&show),
		{ NULL },
	};

	status = gs_ctl_options(verb, options, argc, argv);
	if (status < 0)
		status = gs_ctl_check_show(verb, &show, gpus ? gs_columns_gpus : gs_columns_steps);
	if (status >= 0)
		return status;
	return gs_ctl_show_query(&show, socket, GS_QUERY_STATUS, 0, show_status, &gpus);
}

const struct gs_verb gs_verb_status = {
	.name = "status",
	.usage = "[OPTION]...",
	.words = "Show the GPUs, who holds them, and the registered job steps",
	.help = "      --gpus         only the GPUs; --format and --sort are of their columns then\n" GS_SHOW_HELP
		"\nWith --format only the steps are shown.\n",
	.run = run,
};
