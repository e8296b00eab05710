/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs gpushare-mem for one process, which moves its device memory to the host or back. It is a
 * process of its own since the driver takes long. */
#ifndef GPUSHARE_DAEMON_CHECKPOINTER_H
#define GPUSHARE_DAEMON_CHECKPOINTER_H

#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

struct gs_checkpointer;

/* Refused: the driver itself would not move the memory back. */
enum gs_moved { GS_MOVED, GS_MOVE_FAILED, GS_MOVE_REFUSED, GS_MOVE_KILLED };

/* Called once, from the event loop. said: the program's last line, which describes the failure or
 * the times. */
typedef void gs_checkpointer_done(void *arg, enum gs_moved result, const char *said);

/* Is gpushare-mem installed and executable? Returns 0; -1 with the reason, for an administrator. */
int gs_checkpointer_check(const struct gs_config *config, struct gs_error *err);
/*
 * Call at the start and after a reload: logs a warning if it is not and the configuration needs it.
 */
void gs_checkpointer_warn(const struct gs_config *config);

/* Runs "gpushare-mem VERB PID" and calls `done` when it has ended. It is killed after
 * preempt_timeout of MemoryParameters, and outlives the daemon. NULL: it cannot be started. */
struct gs_checkpointer *gs_checkpointer_start(struct gs_daemon *d, const struct gs_device *device,
					      const char *verb, pid_t pid,
					      gs_checkpointer_done *done, void *arg);

/* Its process. From the call of `done` on another process may have its number. */
pid_t gs_checkpointer_pid(const struct gs_checkpointer *checkpointer);

/* `done` is not called any more; the program continues. NULL is fine. */
void gs_checkpointer_abandon(struct gs_checkpointer *checkpointer);

#endif
