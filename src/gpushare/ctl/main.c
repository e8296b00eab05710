/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl: ask the node's daemon, or run a program under it. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "gpushare/ctl/ctl.h"

static const struct gs_verb *const verbs[] = {
	&gs_verb_status, &gs_verb_top, &gs_verb_report, &gs_verb_kernels, &gs_verb_trace,
	&gs_verb_plot, &gs_verb_metrics, &gs_verb_memory, &gs_verb_policy, &gs_verb_priority, &gs_verb_run,
	&gs_verb_ping, &gs_verb_check,
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void help(void)
{
	fputs("Usage: gpusharectl [OPTION]... VERB [ARGUMENT]...\n"
	      "See what the jobs on this node's GPUs get, or run a program among them.\n"
	      "\n", stdout);
	for (size_t i = 0; i < VERB_COUNT; i++)
		printf("  %-8s %-40s %s\n", verbs[i]->name, verbs[i]->usage, verbs[i]->words);
	fputs("\n"
	      "  -s, --socket PATH  the daemon's socket (default: $GPUSHARE_SOCKET,\n"
	      "                     or " GS_SOCKET ")\n"
	      "  -h, --help         print this and exit; VERB --help prints that verb's options\n"
	      "  -V, --version      print the version and exit\n", stdout);
}

int gs_ctl_fail(const char *fmt, ...)
{
	va_list ap;

	fputs("gpusharectl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}

int gs_ctl_usage(const struct gs_verb *verb, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "gpusharectl %s: ", verb->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry 'gpusharectl %s --help'.\n", verb->name);
	return 2;
}

void gs_ctl_help(const struct gs_verb *verb)
{
	printf("Usage: gpusharectl %s %s\n%s.\n\n%s", verb->name, verb->usage, verb->words,
	       verb->help);
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
	static const struct option longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	const char *socket = getenv("GPUSHARE_SOCKET");
	const struct gs_verb *verb;
	int c;

	if (!socket || !*socket)
		socket = GS_SOCKET;
	while ((c = getopt_long(argc, argv, "+s:hV", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			socket = optarg;
			break;
		case 'h':
			help();
			return 0;
		case 'V':
			puts("gpusharectl " PACKAGE_VERSION);
			return 0;
		default:
			fputs("Try 'gpusharectl --help'.\n", stderr);
			return 2;
		}
	}
	if (optind == argc) {
		fputs("gpusharectl: which verb?\nTry 'gpusharectl --help'.\n", stderr);
		return 2;
	}
	verb = find(argv[optind]);
	if (!verb) {
		fprintf(stderr, "gpusharectl: there is no verb '%s'\n"
			"Try 'gpusharectl --help'.\n", argv[optind]);
		return 2;
	}
	argc -= optind;
	argv += optind;
	optind = 0; /* 0 makes glibc reset getopt entirely, so that the verb parses from the start */
	return verb->run(socket, argc, argv);
}
