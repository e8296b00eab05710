/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines by a table of options. */
#ifndef GPUSHARE_COMMON_OPTIONS_H
#define GPUSHARE_COMMON_OPTIONS_H

#include <stdint.h>

#include "common/error.h"

/*
 * One option.  Where its value goes says what it is; with none of the values it takes no argument.
 * --help and -h need not be in the table.
 */
struct gs_option {
	const char *name;  /* --NAME; NULL ends a table */
	char letter;       /* -L; 0: none */
	int *given;        /* set to 1 when it is given, whatever its value; may be NULL */
	const char **text; /* its argument; argv outlives it */
	uint32_t *number;  /* from least to most */
	uint64_t *wide;    /* the same */
	int64_t least, most;
	uint64_t *duration; /* ns */
	/* Anything else: called with `of`.  0, or -1 with the reason. */
	int (*take)(void *of, const char *argument, struct gs_error *err);
	/* The same without an argument. */
	void (*act)(void *of);
	void *of;
};

/*
 * Take the options of a command line.  1: all are taken, argv[optind] and so on are operands; 0:
 * --help; -1 with the reason, which begins with the option's name.  operands_end: the first operand
 * ends the options (else they are moved behind all of them).
 */
int gs_options_take(const struct gs_option *options, int operands_end, int argc, char **argv,
		    struct gs_error *err);

#endif
