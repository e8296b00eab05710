/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl: a table of verbs, one file per verb. */
#ifndef GPUSHARE_CTL_CTL_H
#define GPUSHARE_CTL_CTL_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/options.h"
#include "gpushare/client/exchange.h"
#include "gpushare/ctl/columns.h"

struct gs_verb {
	const char *name;
	const char *usage;   /* its arguments */
	const char *words;   /* what it does, a line */
	const char *help;    /* its options, for `gpusharectl VERB --help` */
	const char *operand; /* what its one operand is; NULL: it takes none */
	int more;            /* it may have operands, and sees to them itself */
	int command;         /* the operand begins a command line, which ends the verb's options */
	/* argv[0] is the verb; returns the exit status. */
	int (*run)(const struct gs_verb *verb, const char *socket, int argc, char **argv);
};

extern const struct gs_verb gs_verb_status, gs_verb_report, gs_verb_kernels, gs_verb_run,
	gs_verb_ping, gs_verb_policy, gs_verb_priority, gs_verb_trace, gs_verb_plot, gs_verb_top,
	gs_verb_metrics, gs_verb_memory, gs_verb_check;

/* Print "gpusharectl: ..." on standard error; returns 1, the exit status. */
int gs_ctl_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A usage error of a verb: the reason and where the help is; returns 2. */
int gs_ctl_usage(const struct gs_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Take a verb's options and see that its operand is there: argv[optind].  -1: go on; else that was
 * all, be it for help or for an error that has been said, and this is the exit status.
 */
int gs_ctl_options(const struct gs_verb *verb, const struct gs_option *options, int argc,
		   char **argv);

/* The value of --job, for a table of options: of a uint32_t, "12" or "L3". */
int gs_ctl_take_job(void *of, const char *text, struct gs_error *err);

/*
 * The value of --since, for struct gs_option's take: "90m" ago, or a date: YYYY-MM-DD, with THH:MM
 * or THH:MM:SS behind it, of the local time. *of: uint64_t, seconds since 1970.
 */
int gs_ctl_since(void *of, const char *text, struct gs_error *err);

/* What of the daemon's trace is drawn, and how. */
struct gs_timeline_query {
	int svg;         /* a picture; 0: Chrome trace events */
	uint32_t job_id; /* 0: of all jobs */
	uint64_t since;  /* seconds since 1970; 0: all that there is */
};

/* Ask the daemon for its trace and write it. 0, or -1 with the reason. */
int gs_ctl_timeline(FILE *out, const char *socket, const struct gs_timeline_query *query,
		    struct gs_error *err);

/*
 * Write the report that *msg (HISTORY, JSON) asks for as a page for a browser; selects: the history
 * answers. The exit status.
 */
int gs_ctl_report_html(const char *socket, struct gs_msg *msg, int selects, const char *path);

/* Write it to the file, "-" being standard output; the exit status. */
int gs_ctl_save(const char *path, const char *bytes, size_t size);

/* ---- tables ---- */

/* What the user wants of a verb's table. */
struct gs_show {
	int json, no_header;
	const char *format, *sort; /* NULL: as the verb has it */
};

/* Rows of the table of options. */
#define GS_SHOW_OPTIONS(show) \
	{ "json", .given = &(show)->json }, { "format", 'o', .text = &(show)->format }, \
		{ "sort", 'S', .text = &(show)->sort }, \
	{ \
		"noheader", .given = &(show)->no_header \
	}

#define GS_SHOW_HELP \
	"  -o, --format LIST  these columns, as in job,user:12,ntt; help lists them\n" \
	"  -S, --sort LIST    by these columns, as in -ntt,job\n" \
	"      --noheader     without the line of headings\n" \
	"      --json         print JSON\n"

/*
 * Are these names of those columns?  -1: go on; else that was all, be it for --format help or for
 * an error that has been said, and this is the exit status.
 */
int gs_ctl_check_show(const struct gs_verb *verb, const struct gs_show *show,
		      const struct gs_column *columns);

/* Print the rows as a table that fits the terminal.  -1 with the reason. */
int gs_ctl_show(const struct gs_show *show, const struct gs_column *columns, json_t *rows,
		struct gs_error *err);

/* The answer to a question, which is JSON; NULL with the reason. */
json_t *gs_ctl_request(const char *socket, enum gs_query what, unsigned job, struct gs_error *err);

/*
 * Prints an answer, which it frees: as it is with --json, else by `print`, which returns 0, or -1
 * with the reason. Returns the exit status.
 */
typedef int gs_ctl_printer(const struct gs_show *show, json_t *answer, const void *arg,
			   struct gs_error *err);
int gs_ctl_show_answer(const struct gs_show *show, struct gs_ctl_text *text, gs_ctl_printer *print,
		       const void *arg);
/* The same with the daemon's answer to this question. */
int gs_ctl_show_query(const struct gs_show *show, const char *socket, enum gs_query what,
		      uint32_t job, gs_ctl_printer *print, const void *arg);

/* Standard output is whole: 0, else the exit status after the reason has been said. */
int gs_ctl_written(void);

#endif
