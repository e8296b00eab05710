/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-mem run for one process: its device memory to the host, or back.
 * In a process of its own, because the driver takes its time.
 */
#ifndef GPUSHARE_DAEMON_CHECKPOINTER_H
#define GPUSHARE_DAEMON_CHECKPOINTER_H

#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"

struct gs_checkpointer;

/* Refused: the driver itself would not bring the memory back. */
enum gs_moved { GS_MOVED, GS_MOVE_FAILED, GS_MOVE_REFUSED, GS_MOVE_KILLED };

/* Called once, from the event loop; said: the program's last line, of the failure or the times. */
typedef void gs_checkpointer_done(void *arg, enum gs_moved result, const char *said);

/* It is there and may be run: 0; -1 with the reason, as an administrator reads it. */
int gs_checkpointer_check(const struct gs_config *config, struct gs_error *err);
/* At the start and after a reload: a warning if it is not and the configuration needs it. */
void gs_checkpointer_warn(const struct gs_config *config);

/*
 * Run "gpushare-mem VERB PID"; after preempt_timeout of MemoryParameters it is killed.  It
 * outlives the daemon.  NULL: it cannot be started.
 */
struct gs_checkpointer *gs_checkpointer_start(struct gs_daemon *d, const struct gs_device *device,
					      const char *verb, pid_t pid,
					      gs_checkpointer_done *done, void *arg);

/* Nobody waits for it any longer; it goes on.  NULL is fine. */
void gs_checkpointer_abandon(struct gs_checkpointer *checkpointer);

#endif
