/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl: ask the node's daemon, or run a program under it. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "gpushare/ctl/ctl.h"

static const struct gs_verb *const verbs[] = {
	&gs_verb_status, &gs_verb_top,     &gs_verb_report, &gs_verb_kernels, &gs_verb_trace,
	&gs_verb_plot,   &gs_verb_metrics, &gs_verb_memory, &gs_verb_policy,  &gs_verb_priority,
	&gs_verb_run,    &gs_verb_ping,    &gs_verb_check,
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void help(void)
{
	fputs("Usage: gpusharectl [OPTION]... VERB [ARGUMENT]...\n"
	      "See what the jobs on this node's GPUs get, or run a program among them.\n"
	      "\n",
	      stdout);
	for (size_t i = 0; i < VERB_COUNT; i++)
		printf("  %-8s %-40s %s\n", verbs[i]->name, verbs[i]->usage, verbs[i]->words);
	fputs("\n"
	      "  -s, --socket PATH  the daemon's socket (default: $GPUSHARE_SOCKET,\n"
	      "                     or " GS_SOCKET ")\n"
	      "  -h, --help         print this and exit; VERB --help prints that verb's options\n"
	      "  -V, --version      print the version and exit\n",
	      stdout);
}

static const struct gs_verb *find(const char *name)
{
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (strcmp(verbs[i]->name, name) == 0)
			return verbs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const char *socket = getenv("GPUSHARE_SOCKET");
	int version = 0, rc;
	const struct gs_option options[] = {
		{ "socket", 's', .text = &socket },
		{ "version", 'V', .given = &version },
		{ NULL },
	};
	const struct gs_verb *verb;
	struct gs_error err;

	rc = gs_options_take(options, 1, argc, argv, &err);
	if (rc == 0)
		help();
	else if (version)
		puts("gpusharectl " PACKAGE_VERSION);
	if (rc == 0 || version)
		return 0;
	if (rc < 0)
		fputs("Try 'gpusharectl --help'.\n", stderr);
	else if (optind == argc)
		fputs("gpusharectl: which verb?\nTry 'gpusharectl --help'.\n", stderr);
	else if (!(verb = find(argv[optind])))
		fprintf(stderr, "gpusharectl: there is no verb '%s'\nTry 'gpusharectl --help'.\n",
			argv[optind]);
	else
		return verb->run(verb, socket && *socket ? socket : GS_SOCKET, argc - optind,
				 argv + optind);
	return 2;
}
