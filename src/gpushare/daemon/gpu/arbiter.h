/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arbiter: one thread per GPU, which owns that GPU's scheduling state (gpu.h).
 *
 * While clients share the GPU and one of them waits, or may make another one wait, it polls: their
 * requests, the states of their launches, deadlines.  Otherwise it sleeps until a client asks, the
 * event loop has something to say, or its next deadline.  Everything slow stays in the event loop,
 * which reaches the GPU's state by gs_arbiter_call() only.  The arbiter takes no lock and waits for
 * nobody.
 */
#ifndef GPUSHARE_DAEMON_ARBITER_H
#define GPUSHARE_DAEMON_ARBITER_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/arbiter/gpu.h"

struct gs_arbiter;

/* Arbiter=. */
enum gs_arbiter_mode { GS_ARBITER_AUTO, GS_ARBITER_POLL, GS_ARBITER_SLEEP };

struct gs_arbiter_options {
	uint32_t index; /* of the GPU, for the log */
	enum gs_arbiter_mode mode;
	int cpu;       /* the processor that it has; -1: none of its own */
	int emulated;  /* the GPU is no real one */
	int real_time; /* RealTime= */
	int news_fd;   /* an eventfd, written when gs_gpu_has_news(); the caller's */
};

/* What AUTO decides on. */
struct gs_arbiter_place {
	int emulated;
	int cpu;             /* as above */
	unsigned processors; /* of the node */
	double load; /* that wants to run besides this thread, as the kernel's load average counts
			it */
};

/* May a thread of that mode poll there?  Pure. */
int gs_arbiter_may_poll(enum gs_arbiter_mode mode, const struct gs_arbiter_place *place);

/* For `gpusharectl status`. */
struct gs_arbiter_status {
	int polls;       /* at this moment */
	uint64_t cpu_ns; /* processor time that it has had */
};

/* An arbiter of that GPU, which is its own from now on, without a thread yet.  NULL: no memory, the
 * GPU is the caller's. */
struct gs_arbiter *gs_arbiter_create(struct gs_gpu *gpu, const struct gs_arbiter_options *options);

/* Start the thread; -1 with the reason.  A processor that it cannot have is logged, and it runs
 * anywhere. */
int gs_arbiter_start(struct gs_arbiter *arbiter, struct gs_error *err);

/* End the thread, if there is one; calls are carried out by the caller then. */
void gs_arbiter_stop(struct gs_arbiter *arbiter);

/* Stop it and destroy the GPU, which must have no clients.  NULL is fine. */
void gs_arbiter_destroy(struct gs_arbiter *arbiter);

/* From the next decision to poll on. */
void gs_arbiter_set_mode(struct gs_arbiter *arbiter, enum gs_arbiter_mode mode);

/*
 * Have the arbiter call fn(gpu, arg) between two of its turns, and wait until it has.  Meanwhile fn
 * has the GPU's state and the caller's to itself, so it is to be short; the next turn follows at
 * once.  One call at a time: callers hold the loop's lock (event.h).
 */
void gs_arbiter_call(struct gs_arbiter *arbiter, void (*fn)(struct gs_gpu *gpu, void *arg),
		     void *arg);

void gs_arbiter_status(const struct gs_arbiter *arbiter, struct gs_arbiter_status *status);

#endif
