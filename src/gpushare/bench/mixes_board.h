/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tool and one program of a mix share: a mapped file.  The program says that it is ready;
 * the tool opens a window by the time at which it begins and its number; the program works, and
 * records what it has done, until that number is stopped.  What a program has recorded outlives it.
 * mixes_torch.py has the same layout.
 */
#ifndef GPUSHARE_BENCH_MIXES_BOARD_H
#define GPUSHARE_BENCH_MIXES_BOARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define MIXES_RECORDS_MAX (1u << 18)
#define MIXES_QUIT UINT64_C(1000000) /* the number of a window: the program ends */

struct mixes_record {
	uint64_t end_ns; /* of gs_clock_ns() */
	uint64_t value;  /* units done since the record before; of a request: when it was due, ns */
};

struct mixes_board {
	_Atomic uint64_t
		ready; /* program: 1 and the number of windows that are over; 0: it starts */
	_Atomic uint64_t records;  /* program */
	_Atomic uint64_t window;   /* tool: number of the one that is wanted, from 1 */
	_Atomic uint64_t begin_ns; /* tool: when it begins */
	_Atomic uint64_t stopped;  /* tool: number of the last that is to end */
	uint64_t capacity;         /* of record[] */
	uint64_t spare[2];
	struct mixes_record record[];
};

/* Make the file and map it; NULL with the reason. */
struct mixes_board *mixes_board_create(const char *path, struct gs_error *err);
struct mixes_board *mixes_board_open(const char *path, struct gs_error *err);
void mixes_board_close(struct mixes_board *board);

/* One more, if there is room. */
void mixes_board_record(struct mixes_board *board, uint64_t end_ns, uint64_t value);

/* Until another window than `last` is wanted; its number, MIXES_QUIT: none will be. */
uint64_t mixes_board_next(struct mixes_board *board, uint64_t last);

/*
 * Units done from from_ns to to_ns, by records in order of time whose work began at begin_ns: those
 * that cross a border count in proportion.
 */
double mixes_units(const struct mixes_record *record, size_t count, uint64_t begin_ns,
		   uint64_t from_ns, uint64_t to_ns);

/* The longest time from one record to the next within the window, the unfinished last one included,
 * ns. */
double mixes_longest(const struct mixes_record *record, size_t count, uint64_t from_ns,
		     uint64_t to_ns);

/*
 * Latencies, ns, of the requests due from from_ns to before to_ns, one every period_ns from
 * begin_ns on, into latency[], at most max; one that has not ended has until over_ns.  Their
 * number.
 */
size_t mixes_latencies(const struct mixes_record *record, size_t count, uint64_t begin_ns,
		       uint64_t period_ns, uint64_t from_ns, uint64_t to_ns, uint64_t over_ns,
		       double *latency, size_t max);

#endif
