/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of gpushare-bench copies share: its options, its table, and its orders. */
#ifndef GPUSHARE_BENCH_COPIES_H
#define GPUSHARE_BENCH_COPIES_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"

/* At most so many pairs of programs copy alone. */
#define BENCH_COPIES_PAIRS_MAX 16
#define BENCH_COPIES_RUN_S 500
#define BENCH_COPIES_START_NS (30 * GS_NS_PER_MS)
#define BENCH_GIB 1073741824.0

/* Who decides whose copies go first. */
struct bench_copies_sharing {
	const char *name;
	struct bench_way way;
	const char *line; /* of gpushare.conf; NULL: without gpushare */
};

struct bench_copies {
	struct bench_common common;
	const char *sharing, *kind; /* lists */
	uint64_t small, large, largest, period_ns, memory;
	uint32_t count, pairs;
	uint64_t last_ns[2]; /* when the last copy that way ended */
	FILE *csv;
};

/* A line of the table; what does not apply is NAN. */
struct bench_copies_row {
	const char *measure, *kind, *direction, *sharing;
	uint64_t bytes;
	double alone_p50, p50, p90, p99; /* ms */
	double gib_s, kept, added_ns;    /* kept: of the driver's, or of what the small ones left */
};

/* A row whose figures are all NAN. */
struct bench_copies_row bench_copies_row(const char *measure, uint32_t kind, int back,
					 const struct bench_copies_sharing *sharing,
					 uint64_t bytes);

/* Print it, as a line of the table and of the CSV. */
void bench_copies_print(const struct bench_copies *c, const struct bench_copies_row *row);

/* Let program i make `count` copies of that kind (enum bench_copy) and size, one every period_ns,
 * or without pause if that is 0. */
void bench_copies_order(struct bench_workers *workers, uint32_t i, uint32_t kind, uint64_t bytes,
			uint32_t count, uint64_t period_ns);

/* How many copies of that slot have samples. */
size_t bench_copies_samples(const struct bench_slot *slot);

/* Fill in the quantiles of the time from release to finish. The first copy, which warms up, does
 * not count.  -1 with the reason. */
int bench_copies_lateness(const struct bench_slot *slot, struct bench_copies_row *row,
			  struct gs_error *err);

/*
 * Measure copies of pinned memory alone, by programs under that sharing and by programs without
 * gpushare, and print what the former keep of the latter's speed.  -1 with the reason.
 */
int bench_copies_alone(struct bench_copies *c, const struct bench_copies_sharing *sharing,
		       struct gs_error *err);

#endif
