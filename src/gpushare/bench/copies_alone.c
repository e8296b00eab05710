/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies alone: a program without gpushare and one under it make the same copies in short rounds.
 * The speeds of two processes differ by some per cent even if both run the same program, so several
 * pairs of programs are started, and the median of the rounds' ratios counts.  In each round the
 * program under gpushare also copies past the shim.  That shows what the shim costs within one
 * process, where nothing else differs.
 */
#define _GNU_SOURCE
#include <math.h>

#include "common/clock.h"
#include "gpushare/bench/copies.h"
#include "gpushare/metrics/metrics.h"

#define SIZES 6 /* 4 KiB to 4 GiB, in steps of 16 */
/* How long one program copies in a round, and how many copies it makes at least and at most. */
#define BATCH_NS (20 * GS_NS_PER_MS)
#define BATCH_LEAST 4
#define BATCH_MOST 4000
#define WARM_UP 3
/* Rounds of a pair with one size.  Allocating the memory of large copies takes long, so fewer pairs
 * do it, each only once.  For smaller copies it is allocated anew for each round. */
#define ROUNDS 4
#define LARGE_BYTES (UINT64_C(64) << 20)
#define LARGE_ROUNDS 2
#define LARGE_PAIRS 2
#define ROUNDS_MAX (ROUNDS * BENCH_COPIES_PAIRS_MAX)

/* The programs of a pair.  IDLE is there since gpushared leaves the copies of an only client alone.
 */
enum { MANAGED, IDLE, NATIVE, PROGRAMS };
static const struct bench_part parts[PROGRAMS] = {
	{ .shares = 50, .priority = 10 },
	{ .shares = 50, .priority = 1 },
	{ .shares = 1, .native = 1 },
};

/* Who copies in a round. */
enum side { BY_NATIVE, BY_MANAGED, PAST_SHIM, SIDES };

/* The median time of a copy in each round, ms. */
struct figures {
	size_t rounds;
	double ms[SIDES][ROUNDS_MAX];
};

/* ---- measuring -------------------------------------------------------------------- */

static uint64_t bytes_of(int size)
{
	return UINT64_C(4096) << 4 * size;
}

static int copy(struct bench_workers *w, uint32_t program, uint32_t kind, uint64_t bytes,
		uint32_t count, double *ms, struct gs_error *err)
{
	struct bench_copies_row r;

	bench_copies_order(w, program, kind, bytes, count, 0);
	if (bench_workers_wait(w, program, BENCH_COPIES_RUN_S, err) < 0 ||
	    bench_copies_lateness(&w->page->slot[program], &r, err) < 0)
		return -1;
	*ms = r.p50;
	return 0;
}

static int by_side(struct bench_workers *w, enum side side, int back, uint64_t bytes,
		   uint32_t count, double *ms, struct gs_error *err)
{
	uint32_t kind = BENCH_COPY_PINNED | (back ? (uint32_t)BENCH_COPY_BACK : 0) |
			(side == PAST_SHIM ? (uint32_t)BENCH_COPY_PAST : 0);

	return copy(w, side == BY_NATIVE ? NATIVE : MANAGED, kind, bytes, count, ms, err);
}

/* Lets both programs allocate the memory at the same time, and finds how many copies a round has.
 */
static int warm_up(struct bench_workers *w, uint64_t bytes, uint32_t *count, struct gs_error *err)
{
	struct bench_copies_row r;

	bench_copies_order(w, NATIVE, BENCH_COPY_PINNED, bytes, WARM_UP, 0);
	bench_copies_order(w, MANAGED, BENCH_COPY_PINNED, bytes, WARM_UP, 0);
	if (bench_workers_wait_all(w, BENCH_COPIES_RUN_S, err) < 0 ||
	    bench_copies_lateness(&w->page->slot[NATIVE], &r, err) < 0)
		return -1;
	*count = BATCH_LEAST;
	if (r.p50 * BATCH_LEAST * 1e6 < (double)BATCH_NS)
		*count = r.p50 * BATCH_MOST * 1e6 < (double)BATCH_NS ?
				 BATCH_MOST :
				 (uint32_t)((double)BATCH_NS / 1e6 / r.p50);
	return 0;
}

/* Does rounds with one size in both directions.  Who copies first in one round is last in the next.
 */
static int do_rounds(struct bench_workers *w, int size, uint32_t rounds, struct figures f[2],
		     struct gs_error *err)
{
	uint64_t bytes = bytes_of(size);
	uint32_t count;

	if (warm_up(w, bytes, &count, err) < 0)
		return -1;
	for (uint32_t round = 0; round < rounds; round++)
		for (int back = 0; back < 2; back++) {
			struct figures *at = &f[back];

			for (int k = 0; k < SIDES; k++) {
				int side = at->rounds % 2 ? SIDES - 1 - k : k;

				if (by_side(w, (enum side)side, back, bytes, count,
					    &at->ms[side][at->rounds], err) < 0)
					return -1;
			}
			at->rounds++;
		}
	return 0;
}

/* Does the pair's rounds with all sizes. */
static int one_pair(const struct bench_copies *c, struct bench_workers *w, uint32_t pair,
		    struct figures f[SIZES][2], struct gs_error *err)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < SIZES && bytes_of(i) <= c->largest; i++)
			if (bytes_of(i) <= LARGE_BYTES && do_rounds(w, i, 1, f[i], err) < 0)
				return -1;
	for (int i = 0; i < SIZES && bytes_of(i) <= c->largest && pair < LARGE_PAIRS; i++)
		if (bytes_of(i) > LARGE_BYTES && do_rounds(w, i, LARGE_ROUNDS, f[i], err) < 0)
			return -1;
	return 0;
}

/* ---- telling ---------------------------------------------------------------------- */

static double median(const double *values, size_t n)
{
	double copy_of[ROUNDS_MAX];

	for (size_t i = 0; i < n; i++)
		copy_of[i] = values[i];
	return gs_quantile(copy_of, n, 0.5);
}

/* Prints what the program under gpushare keeps of that side's speed. */
static void tell(const struct bench_copies *c, struct bench_copies_row r, const struct figures *f,
		 enum side of)
{
	double ratio[ROUNDS_MAX], added[ROUNDS_MAX];

	for (size_t i = 0; i < f->rounds; i++) {
		ratio[i] = f->ms[of][i] / f->ms[BY_MANAGED][i];
		added[i] = (f->ms[BY_MANAGED][i] - f->ms[of][i]) * 1e6;
	}
	r.alone_p50 = median(f->ms[of], f->rounds);
	r.p50 = median(f->ms[BY_MANAGED], f->rounds);
	r.gib_s = (double)r.bytes / BENCH_GIB / (r.p50 / 1e3);
	r.kept = median(ratio, f->rounds);
	r.added_ns = median(added, f->rounds);
	bench_copies_print(c, &r);
}

int bench_copies_alone(struct bench_copies *c, const struct bench_copies_sharing *sharing,
		       struct gs_error *err)
{
	struct figures f[SIZES][2] = { 0 };
	struct bench_workers workers;

	for (uint32_t pair = 0; pair < c->pairs; pair++) {
		int rc = bench_enter(&workers, &c->common.stage, &sharing->way, parts, PROGRAMS,
				     c->memory, err);

		if (rc < 0)
			return -1;
		rc = one_pair(c, &workers, pair, f, err);
		bench_leave(&workers, &sharing->way, rc < 0);
		if (rc < 0)
			return -1;
	}
	for (int back = 0; back < 2; back++)
		for (int i = 0; i < SIZES && f[i][back].rounds; i++) {
			tell(c,
			     bench_copies_row("alone", BENCH_COPY_PINNED, back, sharing,
					      bytes_of(i)),
			     &f[i][back], BY_NATIVE);
			tell(c,
			     bench_copies_row("within", BENCH_COPY_PINNED, back, sharing,
					      bytes_of(i)),
			     &f[i][back], PAST_SHIM);
		}
	return 0;
}
