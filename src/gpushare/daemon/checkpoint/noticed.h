/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SuspendMemory=checkpoint where Slurm tells nobody that it suspends a job (24.11 and later, or
 * task/gpushare is not in TaskPlugin): that all processes of an allocation are stopped is noticed,
 * and slurmctld is asked whether their job is suspended.
 *
 *	WATCHED   they are stopped; slurmctld is being asked, or has said no
 *	MOVING    the job is suspended: its memory is to leave. The driver needs threads of the
 *	          processes for that, so they are woken until it is on the host or has to stay
 *	ASLEEP    they are stopped again as Slurm had stopped them. slurmctld is asked once more,
 *	          since it may have resumed the job while they were awake, and again when they go
 *	          on: the user may have woken them
 *	FOUND     the state file says that an earlier daemon ended while they were awake, or before
 *	          slurmctld was asked once more. It is asked now. If the job is suspended, MOVING
 *	          and ASLEEP follow, without a second attempt to move what is on the GPU: the first
 *	          one may be what the daemon died of. If not, they are woken
 */
#ifndef GPUSHARE_DAEMON_NOTICED_H
#define GPUSHARE_DAEMON_NOTICED_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/daemon/base/state.h"

struct gs_alloc;

/* What slurmctld says of a job. */
enum gs_is_suspended { GS_IS_NOT_SUSPENDED, GS_IS_SUSPENDED, GS_IS_UNKNOWN };

/* Asks slurmctld without waiting; gs_noticed_answer() is called later, with the ticket that it
 * returns. 0: nobody can be asked. Set it at the daemon's start. */
typedef uint32_t gs_noticed_inquire(struct gs_daemon *d, uint32_t job_id);
void gs_noticed_set_inquire(gs_noticed_inquire *inquire);
void gs_noticed_answer(struct gs_daemon *d, uint32_t ticket, enum gs_is_suspended answer);

/* Looks at all allocations; to be called some times a second while gs_noticed_matters(), which it
 * does not while no step has a program. */
void gs_noticed_step(struct gs_daemon *d);
int gs_noticed_matters(const struct gs_daemon *d);
/* Are its processes awake because of this, so that their going on says nothing? */
int gs_noticed_is_moving(const struct gs_alloc *alloc);

/* Its memory is about to leave: wakes its processes. Returns 0, also if nobody has noticed them; -1
 * with the reason: they cannot be woken, or the state file cannot say so. */
int gs_noticed_wake(struct gs_daemon *d, struct gs_alloc *alloc, struct gs_error *err);

/* The allocation is gone. */
void gs_noticed_forget(struct gs_alloc *alloc);
/* The daemon is to end: stops again whatever is awake, and asks slurmctld whether that is right.
 * Returns how many allocations wait for the answer; call it again then, for some seconds. */
int gs_noticed_leave(struct gs_daemon *d);
/* The daemon ends: what still waits goes on, and is left to the next daemon. */
void gs_noticed_end(struct gs_daemon *d);

/* Which processes are awake, for the state file. */
extern const struct gs_state_part gs_noticed_part;

#endif
