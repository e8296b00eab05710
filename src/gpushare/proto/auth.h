/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job step's registration, sealed by munge: slurmstepd makes the
 * credential as root, the daemon opens it and learns who made it.  Only the
 * daemon's user may decode it, it lives 60 seconds and decodes once.
 */
#ifndef GPUSHARE_PROTO_AUTH_H
#define GPUSHARE_PROTO_AUTH_H

#include <sys/types.h>

#include "gpushare/proto/msg.h"

/*
 * Seal `step` for the user decoder (0: root).  munge_socket NULL or "":
 * libmunge's default.  Writes a NUL-terminated credential of at most size
 * bytes.  Returns 0, or -1 with munge's reason.
 */
int gs_auth_seal(const struct gs_msg_step *step, uid_t decoder, const char *munge_socket,
		 char *cred, size_t size, struct gs_error *err);

/*
 * Open a credential: *step is what was sealed (strings checked), *uid who
 * sealed it.  Returns 0, or -1 with the reason (expired, replayed, not ours,
 * wrong payload).
 */
int gs_auth_open(const char *cred, const char *munge_socket, struct gs_msg_step *step, uid_t *uid,
		 struct gs_error *err);

#endif
