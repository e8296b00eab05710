/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Talking to nvidia-cuda-mps-control, whose commands are lines on its
 * standard input.  Everything here may block: for the start, the stop and
 * the helper processes of mps.c.
 */
#ifndef GPUSHARE_DAEMON_MPS_CONTROL_H
#define GPUSHARE_DAEMON_MPS_CONTROL_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "gpushare/config/config.h"

#define GS_MPS_PATH_MAX 320
#define GS_MPS_PIPE "CUDA_MPS_PIPE_DIRECTORY"
/* Of a client, fixed as it starts: 0 normal, 1 below normal (driver 580 has these two). */
#define GS_MPS_PRIORITY "CUDA_MPS_CLIENT_PRIORITY"

/* Which control program, and which MPS. */
struct gs_mps_place {
	char program[GS_MPS_PATH_MAX];
	char dir[GS_MPS_PATH_MAX];
	int all_users; /* the control daemon is told to let all users share root's server */
};

/* The folder that the configuration names, and the program: the first in PATH, else where drivers
 * put it.  -1: there is none. */
int gs_mps_find(const struct gs_config *config, struct gs_mps_place *place, struct gs_error *err);

/*
 * Run the control program with that input; what it says on either output is in
 * `answer`, without the last newline.  0, or -1: it cannot be run, failed, or
 * took longer than timeout_ms (and was killed).
 */
int gs_mps_query(const struct gs_mps_place *place, const char *command, char *answer, size_t room,
		 int timeout_ms, struct gs_error *err);

/*
 * Wait until the control daemon `control` answers, have it start a server of
 * this process's user, and wait for that; its pid, or -1.
 */
pid_t gs_mps_server_up(const struct gs_mps_place *place, pid_t control, int timeout_ms,
		       struct gs_error *err);

/* terminate_client on the server that has this client.  0, or -1: none has it, or MPS refuses. */
int gs_mps_terminate_now(const struct gs_mps_place *place, pid_t client, struct gs_error *err);

#endif
