/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registering job steps, and ending them.
 *
 * A step is over when whoever registered it says so or is gone.  Clients
 * that it leaves behind are disconnected; the memory of those that go on
 * living stays counted (outlived.h).
 */
#ifndef GPUSHARE_DAEMON_STEPS_H
#define GPUSHARE_DAEMON_STEPS_H

#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"

/*
 * Register a step, or refuse with the reason: it is there already, no such
 * GPU, shares or memory beyond what is free.  Does not save the state.
 */
struct gs_step *gs_step_add(struct gs_daemon *d, const struct gs_step_info *info,
			    struct gs_error *err);

/* The step is over: reservation back, its clients closed, its figures kept.  Saves the state. */
void gs_step_over(struct gs_daemon *d, struct gs_step *step, const char *why);

/* End the steps whose registrant is gone, and forget who outlived one and is gone, too. */
void gs_steps_sweep(struct gs_daemon *d);

/* What must know of it calls itself a listener, once, at the daemon's start; they are called in
 * that order. */
typedef void gs_step_listener(struct gs_daemon *d, struct gs_step *step);
typedef void gs_alloc_listener(struct gs_daemon *d, struct gs_alloc *alloc);

/* The step is over: it has no clients and no allocation any more, its figures are its last. */
void gs_steps_on_over(gs_step_listener *listener);
/* The last step of the allocation is over: before its memory is given back and it is freed. */
void gs_allocs_on_over(gs_alloc_listener *listener);

/* The registration of each step, for the state file. */
extern const struct gs_state_part gs_steps_part;

/* Free all of them, at the daemon's end; nothing is reported over. */
void gs_steps_fini(struct gs_daemon *d);

#endif
