/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the benchmarks have in common beyond the workers: the length of a
 * block-task on this device, and a set of workers per way of sharing.
 */
#ifndef GPUSHARE_BENCH_MEASURE_H
#define GPUSHARE_BENCH_MEASURE_H

#include "gpushare/bench/workers.h"
#include "gpushare/bench/ways.h"

/* The device, and a block-task of about the wanted length on it. */
struct bench_yard {
	uint32_t iterations;
	uint64_t wave_ns;  /* a block-task on every place of the device */
	uint64_t resident; /* places */
	uint64_t memory;
	char device[96], driver[24];
};

/* Program 0 of all workers measures it. */
int bench_calibrate(struct bench_workers *workers, uint64_t task_ns, struct bench_yard *yard,
		    struct gs_error *err);

/* The same with a set of workers of its own, under the driver. */
int bench_calibrate_device(struct bench_stage *stage, uint64_t task_ns, struct bench_yard *yard,
			   struct gs_error *err);

/* Waves for a kernel of that length, at least 2 so that it can be preempted. */
uint64_t bench_waves(const struct bench_yard *yard, uint64_t length_ns);

/* What program i launches from now on: waves x places block-tasks. */
void bench_set_kernel(struct bench_workers *workers, uint32_t i, const struct bench_yard *yard,
		      uint64_t waves);

/* Workers under this way, with the gpushared or the MPS that it needs. -1: all is ended again. */
int bench_enter(struct bench_workers *workers, struct bench_stage *stage,
		const struct bench_way *way, const struct bench_part *part, uint32_t count,
		uint64_t memory, struct gs_error *err);

/* End both; `failed`: show what gpushared logged. */
void bench_leave(struct bench_workers *workers, const struct bench_way *way, int failed);

/* What gpushared says of its GPU. */
struct bench_status {
	uint64_t handover_ns; /* what it takes a hand-over for now, by which its shortest quanta go
			       */
	uint64_t leave_ns;    /* the median of what the last evictions took, from the order on; 0:
				 there was none */
};

/* -1 with the reason. */
int bench_status_request(const struct bench_stage *stage, struct bench_status *is,
			 struct gs_error *err);

/*
 * What gpushared takes the kernel of each program alone for, ns; of several kernels, the one that
 * it has seen most of. 0: it has none, or does not know.  -1 with the reason.
 */
int bench_predicted_request(const struct bench_workers *workers,
			    uint64_t alone_ns[BENCH_PROGRAMS_MAX], struct gs_error *err);

/* One client that left the GPU, as gpushared's trace has it, ns of gs_clock_ns(). */
struct bench_eviction {
	uint64_t from_ns; /* it was decided */
	uint64_t told_ns; /* the order was written */
	uint64_t to_ns;   /* it was seen gone */
};

/*
 * Those decided since since_ns of all clients that gpushared remembers, in
 * order of time.  The number; *evictions is to be freed.  -1 with the reason.
 */
long bench_evictions(const struct bench_stage *stage, uint64_t since_ns,
		     struct bench_eviction **evictions, struct gs_error *err);

#endif
