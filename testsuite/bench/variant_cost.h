/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of variant_cost: what a guarded variant that is never evicted costs, part by part. */
#ifndef TESTSUITE_VARIANT_COST_H
#define TESTSUITE_VARIANT_COST_H

#include <stdint.h>

/* What is launched: each way adds something to the one before it. */
enum way {
	WRITTEN,     /* the kernel as written */
	GUARD,       /* its guarded variant alone */
	END,         /* with the kernel behind it that reports its end */
	WATCH,       /* with a watcher, launched before the first event */
	WATCH_TIMED, /* with a watcher, launched behind the first event */
	WAYS
};

/* A kernel and its launch. */
struct subject {
	const char *name;
	int memory; /* it reads memory instead of computing */
	unsigned int threads, waves;
	/* this part of a wave's places is free in the last wave, percent */
	unsigned int free_percent;
	int room; /* a watcher fits beside the blocks */
	/* set by subject_prepare() */
	unsigned int places, blocks, n;
	double block_us;
};

/* us: by the two events; on the host from the first call until the stream has ended. */
struct times {
	double event_us, host_us;
};

/* Ends the program with 77 without a driver, and with 3 where a call fails. bytes: what a kernel
 * reads. */
void gpu_open(uint64_t bytes);
const char *gpu_name(void);

/* Finds out how many blocks the GPU holds, and makes one take about block_us. */
void subject_prepare(struct subject *s, double block_us);

/* queued: behind a kernel that gives the host time to launch all of it. */
struct times launch_once(const struct subject *s, enum way way, int queued);

#endif
