/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPS's folder and the control daemon's process. */
#ifndef GPUSHARE_DAEMON_MPS_PROCESS_H
#define GPUSHARE_DAEMON_MPS_PROCESS_H

#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"
#include "gpushare/daemon/mps/mps_control.h"

/* Make the folders.  -1: they cannot be ours, or the driver below the shim has no MPS. */
int gs_mps_prepare(const struct gs_config *config, const struct gs_mps_place *place,
		   struct gs_error *err);

/*
 * Start `nvidia-cuda-mps-control -f` in a session of its own and record it.
 * It sees the configured GPUs alone if all their UUIDs are known.  Its pid, or -1.
 */
pid_t gs_mps_spawn(const struct gs_daemon *d, const struct gs_mps_place *place,
		   struct gs_error *err);

/* The recorded control daemon if it still runs, else 0. */
pid_t gs_mps_record_find(const struct gs_mps_place *place);
void gs_mps_record_remove(const struct gs_mps_place *place);

/* The last line that the control daemon printed, in text; text. */
const char *gs_mps_last_words(const struct gs_mps_place *place, char *text, size_t room);

/* Into our log, what MPS has logged last: why it ended stands nowhere else. */
void gs_mps_show_logs(const struct gs_mps_place *place);

#endif
