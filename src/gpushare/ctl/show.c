/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every verb does: options, complaints, an answer on standard output; see ctl.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/ctl.h"

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

static void help(const struct gs_verb *verb)
{
	printf("Usage: gpusharectl %s %s\n%s.\n\n%s", verb->name, verb->usage, verb->words,
	       verb->help);
}

int gs_ctl_options(const struct gs_verb *verb, const struct gs_option *options, int argc,
		   char **argv)
{
	struct gs_error err;
	int rc = gs_options_take(options, verb->command, argc, argv, &err);

	if (rc == 0) {
		help(verb);
		return 0;
	}
	if (rc < 0)
		return gs_ctl_usage(verb, "%s", err.text);
	if (verb->operand && optind == argc)
		return gs_ctl_usage(verb, "which %s?", verb->operand);
	if (!verb->command && optind + (verb->operand != NULL) < argc)
		return gs_ctl_usage(verb, "unexpected argument '%s'",
				    argv[optind + (verb->operand != NULL)]);
	return -1;
}

int gs_ctl_print(const struct gs_ctl_text *text)
{
	fwrite(text->bytes, 1, text->size, stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		return gs_ctl_fail("cannot write: %s", strerror(errno));
	return 0;
}

int gs_ctl_query(const char *socket_path, enum gs_query what, unsigned job, int json)
{
	struct gs_ctl_text text;
	struct gs_error err;
	int rc;

	if (gs_ctl_get(socket_path, what, job, json, &text, &err) < 0)
		return gs_ctl_fail("%s", err.text);
	rc = gs_ctl_print(&text);
	free(text.bytes);
	return rc;
}
