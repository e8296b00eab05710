/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers job steps and ends them.
 *
 * A step ends when the process that registered it says so or is gone. Clients that are still
 * connected then are disconnected; the memory of those that stay alive remains counted
 * (outlived.h).
 */
#ifndef GPUSHARE_DAEMON_STEPS_H
#define GPUSHARE_DAEMON_STEPS_H

#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"

/* Registers a step. NULL with the reason: it is registered already, there is no such GPU, its
 * shares or memory exceed what is free, or its user has too many (places.h). The daemon owns the
 * step. Does not save the state. */
struct gs_step *gs_step_add(struct gs_daemon *d, const struct gs_step_info *info,
			    struct gs_error *err);

/* Ends the step: returns its reservation, closes its clients, keeps its figures, and saves the
 * state. why: for the log. */
void gs_step_over(struct gs_daemon *d, struct gs_step *step, const char *why);

/* Ends the steps whose registrant is gone, and forgets processes that have outlived their step and
 * are gone by now. */
void gs_steps_sweep(struct gs_daemon *d);

/* Modules that must know when steps end add themselves as listeners, once, at the daemon's start.
 * Listeners are called in that order. */
typedef void gs_step_listener(struct gs_daemon *d, struct gs_step *step);
typedef void gs_alloc_listener(struct gs_daemon *d, struct gs_alloc *alloc);

/* The step has ended: it has no clients and no allocation any more, and its figures are final. */
void gs_steps_on_over(gs_step_listener *listener);
/*
 * The last step of the allocation has ended; called before its memory is returned and it is freed.
 */
void gs_allocs_on_over(gs_alloc_listener *listener);

/* The registration of each step in the state file. */
extern const struct gs_state_part gs_steps_part;

/* Frees all steps, at the daemon's end, without calling listeners. */
void gs_steps_fini(struct gs_daemon *d);

#endif
