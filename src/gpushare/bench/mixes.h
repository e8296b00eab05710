/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench mixes: pairs of real programs under every way of sharing, as parts of their rates
 * alone, and which bars are met.
 */
#ifndef GPUSHARE_BENCH_MIXES_H
#define GPUSHARE_BENCH_MIXES_H

#include <stdio.h>

#include "gpushare/bench/mixes_board.h"

enum mixes_program {
#define PROGRAM(id, name, torch, period_ms, gpus) MIXES_##id,
#include "gpushare/bench/mixes.def"
#undef PROGRAM
	MIXES_PROGRAMS
};

struct mixes_kind {
	const char *name;
	int torch;
	uint32_t period_ms; /* between requests; 0: it serves none */
	uint32_t gpus;
};
extern const struct mixes_kind mixes_kind[MIXES_PROGRAMS];

/* Half of a mix: so many of one program. */
struct mixes_side {
	enum mixes_program program;
	uint32_t count;
	uint32_t shares; /* of each */
};

struct mixes_mix {
	const char *name;
	struct mixes_side side[2];
	int urgent; /* the first side is of higher priority */
};
extern const struct mixes_mix mixes_mix[];
extern const size_t mixes_count;

/* Does the mix have a program like that? */
int mixes_torch(const struct mixes_mix *mix);
uint32_t mixes_gpus(const struct mixes_mix *mix);

enum mixes_way {
	MIXES_NONE,
	MIXES_SLICING,
	MIXES_MPS,
	MIXES_MPS_PRIORITIES,
	MIXES_CONTEXTS,
	MIXES_GS_MPS,
	MIXES_WAYS
};

/* "time-slicing" ...; NULL: there is none. */
const char *mixes_way_name(enum mixes_way way);

/* Several windows of one way, or the first or the last of a way that others are compared with. */
enum mixes_when { MIXES_ALL, MIXES_FIRST, MIXES_LAST, MIXES_WHENS };

/* "all", "first" or "last". */
const char *mixes_when_name(enum mixes_when when);

#define MIXES_NAME_MAX 24
#define MIXES_WHY_MAX 200

/* One row: a mix under a way. */
struct mixes_row {
	char mix[MIXES_NAME_MAX], policy[MIXES_NAME_MAX]; /* policy: of gpushare, else "-" */
	enum mixes_way way;
	enum mixes_when when;
	unsigned run;         /* of the tool: only rows of one are compared */
	int is_default;       /* the daemon's default policy */
	double seconds, skip; /* of a window, before it */
	unsigned windows;
	double alone[2]; /* what a program of each side does alone: units/s, requests: p50, ms */
	double part[2];  /* the sides' rates over those; of requests: the part that ended in time */
	double p50, p99[2]; /* of requests, ms; p99[1]: of the first side alone */
	unsigned requests;
	double longest[2]; /* step of each side, ms */
	double least; /* the part of the program that did least, over the mean of all, at least in a
			 window */
	double apart; /* how far the parts were from each other, of the larger, at most in a window
		       */
	char device[96], driver[24];
	char why[MIXES_WHY_MAX]; /* it failed; "": it did not */
};

/* A bar, held against the rows. */
enum mixes_relation { MIXES_AT_LEAST, MIXES_AT_MOST };
enum mixes_measure {
	MIXES_SUM,
	MIXES_SMALLER,
	MIXES_P50,
	MIXES_P99,
	MIXES_KEPT,
	MIXES_LONGEST,
	MIXES_APART,
	MIXES_LEAST,
	MIXES_P99_TIMES,  /* the 99th percentile over that alone */
	MIXES_OFF_SHARES, /* how far the parts are from the shares, of these */
	MIXES_MEASURES
};
enum mixes_verdict { MIXES_MET, MIXES_SHORT, MIXES_VOID, MIXES_UNKNOWN };

struct mixes_bar {
	const char *mix;
	enum mixes_way way;
	enum mixes_measure measure;
	enum mixes_relation relation;
	double factor;
	enum mixes_way reference;
	double or_met_by;
};
extern const struct mixes_bar mixes_bar[];
extern const size_t mixes_bars;

struct mixes_result {
	enum mixes_verdict verdict;
	double value, limit;
	double reference;          /* what it is compared with; 0: nothing */
	char words[MIXES_WHY_MAX]; /* why it is void or unknown */
};

const char *mixes_measure_name(enum mixes_measure measure);

/* Hold the bar against one row of gpushare's, with those of its reference among all. */
void mixes_judge(const struct mixes_bar *bar, const struct mixes_row *row,
		 const struct mixes_row *all, size_t count, struct mixes_result *result);

/* Is the row one of those that the bar is about? */
int mixes_concerns(const struct mixes_bar *bar, const struct mixes_row *row);

/* The table and the bars for a person; how many bars fell short. */
unsigned mixes_print(FILE *out, const struct mixes_row *row, size_t count);

/* CSV: its head, a row, and what such a file holds, added to *row (to be freed). */
void mixes_csv_head(FILE *out);
void mixes_csv_row(FILE *out, const struct mixes_row *row);
int mixes_csv_read(const char *path, unsigned run, struct mixes_row **row, size_t *count,
		   struct gs_error *err);

#endif
