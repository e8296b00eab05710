/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmstepd's two requests to gpushared: a step begins, a step is over. */
#ifndef GPUSHARE_PLUGINS_SPANK_DAEMON_H
#define GPUSHARE_PLUGINS_SPANK_DAEMON_H

#include "common/error.h"
#include "gpushare/proto/msg.h"
#include "plugins/values.h"

enum gs_answer {
	GS_ANSWER_YES,
	GS_ANSWER_REFUSED, /* the daemon's own words are in err */
	GS_ANSWER_ABSENT,  /* no daemon within the time, or no munge to convince it with */
};

/*
 * Register the step; *granted is the daemon's answer when it is YES.  Waits
 * args->timeout_ms at most, also for a daemon that is just restarting.
 */
enum gs_answer gs_daemon_register(const struct gs_spank_args *args, const struct gs_msg_step *step,
				  struct gs_msg_registered *granted, struct gs_error *err);

/* The step is over; returns once its report is out, after timeout_ms at most. */
enum gs_answer gs_daemon_unregister(const struct gs_spank_args *args,
				    const struct gs_msg_step *step, uint32_t timeout_ms,
				    struct gs_error *err);

#endif
