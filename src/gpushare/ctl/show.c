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
#include "gpushare/ctl/layout.h"
#include "gpushare/ctl/notes.h"
#include "gpushare/ctl/screen.h"
#include "gpushare/ctl/table.h"
#include "gpushare/proto/job_name.h"

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
	if (!verb->command && !verb->more && optind + (verb->operand != NULL) < argc)
		return gs_ctl_usage(verb, "unexpected argument '%s'",
				    argv[optind + (verb->operand != NULL)]);
	return -1;
}

int gs_ctl_take_job(void *of, const char *text, struct gs_error *err)
{
	return gs_job_parse(text, of, err);
}

int gs_ctl_written(void)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return gs_ctl_fail("cannot write: %s", strerror(errno));
	return 0;
}

static int print_text(const struct gs_ctl_text *text)
{
	fwrite(text->bytes, 1, text->size, stdout);
	return gs_ctl_written();
}

static void list_columns(const struct gs_column *columns)
{
	for (; columns->key; columns++)
		printf("%-18s %s\n", columns->key, columns->words);
}

int gs_ctl_check_show(const struct gs_verb *verb, const struct gs_show *show,
		      const struct gs_column *columns)
{
	struct gs_layout layout;
	struct gs_error err;

	if (show->format && strcmp(show->format, "help") == 0) {
		list_columns(columns);
		return gs_ctl_written();
	}
	if (show->json && (show->format || show->sort))
		return gs_ctl_usage(verb,
				    "--json has all columns: --format and --sort are for tables");
	if (gs_layout_make(&layout, columns, show->format, NULL, &err) < 0)
		return gs_ctl_usage(verb, "--format: %s", err.text);
	gs_layout_free(&layout);
	if (gs_layout_make(&layout, columns, NULL, show->sort, &err) < 0)
		return gs_ctl_usage(verb, "--sort: %s", err.text);
	gs_layout_free(&layout);
	return -1;
}

int gs_ctl_show(const struct gs_show *show, const struct gs_column *columns, json_t *rows,
		struct gs_error *err)
{
	struct gs_layout layout;
	struct gs_lines lines;

	if (gs_layout_make(&layout, columns, show->format, show->sort, err) < 0)
		return -1;
	if (gs_table_lines(&lines, &layout, rows, gs_screen_width()) < 0) {
		gs_layout_free(&layout);
		return gs_fail(err, "no memory");
	}
	for (size_t i = show->no_header != 0; i < lines.n; i++)
		puts(lines.line[i]);
	gs_notes_print(stdout, &lines, &layout, rows, gs_screen_width());
	gs_lines_free(&lines);
	gs_layout_free(&layout);
	return 0;
}

static json_t *parse(const struct gs_ctl_text *text, struct gs_error *err)
{
	json_error_t where;
	json_t *value = json_loadb(text->bytes, text->size, 0, &where);

	if (!value)
		gs_fail(err, "gpushared's answer is no JSON: %s", where.text);
	return value;
}

json_t *gs_ctl_request(const char *socket_path, enum gs_query what, unsigned job,
		       struct gs_error *err)
{
	struct gs_ctl_text text;
	json_t *value;

	if (gs_ctl_get(socket_path, what, job, &text, err) < 0)
		return NULL;
	value = parse(&text, err);
	free(text.bytes);
	return value;
}

int gs_ctl_show_answer(const struct gs_show *show, struct gs_ctl_text *text, gs_ctl_printer *print,
		       const void *arg)
{
	struct gs_error err;
	json_t *answer = NULL;
	int status, rc = -1;

	if (show->json) {
		status = print_text(text);
	} else {
		answer = parse(text, &err);
		if (answer)
			rc = print(show, answer, arg, &err);
		status = rc < 0 ? gs_ctl_fail("%s", err.text) : gs_ctl_written();
	}
	json_decref(answer);
	free(text->bytes);
	return status;
}

int gs_ctl_show_query(const struct gs_show *show, const char *socket_path, enum gs_query what,
		      uint32_t job, gs_ctl_printer *print, const void *arg)
{
	struct gs_ctl_text text;
	struct gs_error err;

	if (gs_ctl_get(socket_path, what, job, &text, &err) < 0)
		return gs_ctl_fail("%s", err.text);
	return gs_ctl_show_answer(show, &text, print, arg);
}
