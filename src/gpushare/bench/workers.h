/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs of a benchmark, together: started, given orders, waited for, ended. */
#ifndef GPUSHARE_BENCH_WORKERS_H
#define GPUSHARE_BENCH_WORKERS_H

#include <signal.h>

#include "gpushare/bench/page.h"
#include "gpushare/bench/stage.h"

struct bench_workers {
	struct bench_stage *stage;
	struct bench_page *page;
	pid_t pid[BENCH_PROGRAMS_MAX];
	uint32_t count;
};

/* Set when the tool is told to end: waiting ends with an error then. */
extern volatile sig_atomic_t bench_interrupted;

/* Start them and wait until each has a context and its module. */
int bench_workers_start(struct bench_workers *workers, struct bench_stage *stage,
			enum bench_share share, const struct bench_part *part, uint32_t count,
			struct gs_error *err);

/* Every program ends; also after a failure of bench_workers_start(). */
void bench_workers_stop(struct bench_workers *workers);

/* Give program i an order; it is carried out beside the others'. */
void bench_workers_order(struct bench_workers *workers, uint32_t i, enum bench_order order);

/* Until program i has carried out its orders; -1: it failed, died, or took longer. */
int bench_workers_wait(struct bench_workers *workers, uint32_t i, unsigned timeout_s,
		       struct gs_error *err);

/* The same for all. */
int bench_workers_wait_all(struct bench_workers *workers, unsigned timeout_s, struct gs_error *err);

/*
 * Program i, alone, launches `launches` times one after another.  Returns the
 * median of launch to finish, ns, the first (which warms up) not counted if there are
 * more; 0: failed, with the reason.
 */
uint64_t bench_workers_alone(struct bench_workers *workers, uint32_t i, uint32_t launches,
			     struct gs_error *err);

#endif
