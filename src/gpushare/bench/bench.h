/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench: one subcommand, one file, one entry of the table in main.c.
 */
#ifndef GPUSHARE_BENCH_BENCH_H
#define GPUSHARE_BENCH_BENCH_H

#include <stdio.h>

#include "common/options.h"
#include "gpushare/bench/stage.h"
#include "gpushare/bench/ways.h"

struct bench_verb {
	const char *name, *usage, *words, *help;
	int (*run)(int argc, char **argv); /* exit status */
};

extern const struct bench_verb bench_verb_copies, bench_verb_corun, bench_verb_daemon,
	bench_verb_eviction, bench_verb_handover, bench_verb_launch, bench_verb_memory,
	bench_verb_mix, bench_verb_mixes, bench_verb_overhead, bench_verb_pair, bench_verb_periodic,
	bench_verb_slices;

/* The options that every subcommand has. */
struct bench_common {
	struct bench_stage stage;
	const char *output; /* PREFIX of the files; NULL: none */
	int argc;           /* the command line, for the files' first lines */
	char **argv;
};

#define BENCH_COMMON_OPTIONS(common) \
	{ "driver", .text = &(common).stage.driver }, { "shim", .text = &(common).stage.shim }, \
		{ "conf", .take = bench_take_conf, .of = &(common).stage }, \
		{ "output", 'o', .text = &(common).output }, \
	{ \
		"keep", .given = &(common).stage.keep \
	}
int bench_take_conf(void *stage, const char *line, struct gs_error *err);

/* Lengths of time, and an option's list of them: "62.5us,1ms". */
#define BENCH_LENGTHS_MAX 16
struct bench_lengths {
	uint64_t ns[BENCH_LENGTHS_MAX];
	size_t count;
};
int bench_take_lengths(void *lengths, const char *list, struct gs_error *err);
#define BENCH_COMMON_HELP \
	"      --driver FILE     a libcuda.so.1 (default: that of gpushare.conf, or the\n" \
	"                        system's)\n" \
	"      --shim DIR        folder of gpushare's (default: that of gpushare.conf, or\n" \
	"                        where it is installed)\n" \
	"      --conf LINE       a further line of gpushare.conf; may be repeated\n" \
	"  -o, --output PREFIX   write PREFIX.csv, and what else there is\n" \
	"      --keep            leave the private folder with gpushared's log\n" \
	"  -h, --help            print this text\n"

/*
 * Take the command line of a verb.  1: all is taken; 0: that was all, be it for help or
 * for an error that has been said; the exit status is in *status.
 * operands: what is no option is the verb's: argv[optind] and so on.
 */
int bench_options(const struct bench_verb *verb, struct bench_common *common,
		  const struct gs_option *options, int operands, int argc, char **argv,
		  int *status);

/*
 * Open the stage, and PREFIX.csv if it is wanted (csv is NULL otherwise), measure,
 * and close both.  Says what goes wrong; returns the exit status.
 */
int bench_on_stage(struct bench_common *common,
		   int (*measure)(void *of, FILE *csv, struct gs_error *err), void *of);

/* Say what was wrong; returns 1, or 2 for wrong usage. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int bench_usage(const struct bench_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Open PREFIX and `suffix` for writing; NULL with a line on standard error. */
FILE *bench_output(const struct bench_common *common, const char *suffix);

/* Close it; -1 and a line on standard error when not all was written. */
int bench_output_close(FILE *file);

/* The first lines of a CSV: device, driver, date, command. */
void bench_output_head(FILE *file, const struct bench_common *common, const char *device,
		       const char *driver);

#endif
