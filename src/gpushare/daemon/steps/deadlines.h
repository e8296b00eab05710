/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deadlines that steps have missed, in the log: a line per step and second at most, and no more of
 * a user than gs_user_log() allows. */
#ifndef GPUSHARE_DAEMON_STEPS_DEADLINES_H
#define GPUSHARE_DAEMON_STEPS_DEADLINES_H

struct gs_daemon;
struct gs_step;

/* Logs what the step has missed since this was last called for it, by its usage as it was last
 * copied. */
void gs_deadlines_say(struct gs_step *s);

/* The same for all registered steps, once a second at most, by their usages of now. */
void gs_deadlines_sweep(struct gs_daemon *d);

#endif
