/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arbiter: one thread per GPU, which owns that GPU's scheduling state (gpu.h).
 *
 * While several clients share the GPU and one of them waits, or may make another one wait, it polls
 * requests, the states of launches, and deadlines. Otherwise it sleeps until a client makes a
 * request, the event loop calls, or its next deadline comes. Everything slow stays in the event
 * loop, which reaches the GPU's state only by gs_arbiter_call(). The arbiter takes no lock and
 * never waits for another thread.
 */
#ifndef GPUSHARE_DAEMON_ARBITER_H
#define GPUSHARE_DAEMON_ARBITER_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/arbiter/gpu.h"

struct gs_arbiter;

/* The values of Arbiter= in gpushare.conf. */
enum gs_arbiter_mode { GS_ARBITER_AUTO, GS_ARBITER_POLL, GS_ARBITER_SLEEP };

struct gs_arbiter_options {
	uint32_t index; /* of the GPU, for the log */
	enum gs_arbiter_mode mode;
	int cpu;       /* the processor that it is bound to; -1: none */
	int emulated;  /* the GPU is an emulated one */
	int real_time; /* RealTime= */
	int news_fd;   /* an eventfd that is written when gs_gpu_has_news(); the caller keeps it */
};

/* What GS_ARBITER_AUTO depends on. */
struct gs_arbiter_place {
	int emulated;
	int cpu;             /* as in gs_arbiter_options */
	unsigned processors; /* of the node */
	/* the node's load without this thread, as in the kernel's load average */
	double load;
};

/* May an arbiter with this mode poll at this place? Pure. */
int gs_arbiter_may_poll(enum gs_arbiter_mode mode, const struct gs_arbiter_place *place);

/* For `gpusharectl status`. */
struct gs_arbiter_status {
	int polls;       /* it is polling now */
	uint64_t cpu_ns; /* processor time that it has used, ns */
};

/* Makes an arbiter, without a thread yet, which takes over the GPU. NULL: no memory, and the GPU is
 * still the caller's. */
struct gs_arbiter *gs_arbiter_create(struct gs_gpu *gpu, const struct gs_arbiter_options *options);

/* Starts the thread. Returns 0; -1 with the reason. If it cannot be bound to its processor, that is
 * logged and it runs anywhere. */
int gs_arbiter_start(struct gs_arbiter *arbiter, struct gs_error *err);

/* Ends the thread, if there is one. From then on the caller itself runs what gs_arbiter_call() is
 * given. */
void gs_arbiter_stop(struct gs_arbiter *arbiter);

/* Stops the arbiter, frees it and destroys its GPU, which must have no clients. NULL is fine. */
void gs_arbiter_destroy(struct gs_arbiter *arbiter);

/* Sets the mode, from the next time that the arbiter decides whether to poll. */
void gs_arbiter_set_mode(struct gs_arbiter *arbiter, enum gs_arbiter_mode mode);

/*
 * Makes the arbiter call fn(gpu, arg) between two of its passes, and waits until it has, and has
 * done the pass that follows. Meanwhile fn has the GPU's state and the caller's to itself, so it
 * must be short. What both took counts as the caller's time (gs_user_waited()). One call at a
 * time: callers hold the loop's lock (event.h).
 */
void gs_arbiter_call(struct gs_arbiter *arbiter, void (*fn)(struct gs_gpu *gpu, void *arg),
		     void *arg);

/* Fills in *status. */
void gs_arbiter_status(const struct gs_arbiter *arbiter, struct gs_arbiter_status *status);

#endif
