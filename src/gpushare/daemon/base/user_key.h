/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number for each user by which that user's processes know gpushared.  Anybody may listen at an
 * abstract socket while gpushared does not, and in a user namespace a process cannot see
 * whether root is at its other end.  Nobody but gpushared and the user's jobs have the number.
 */
#ifndef GPUSHARE_DAEMON_USER_KEY_H
#define GPUSHARE_DAEMON_USER_KEY_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/*
 * Read the secret that the numbers are made with from <socket>.key, or make it: programs that
 * run on through a restart of gpushared keep their user's number.  0, or -1 with the reason.
 */
int gs_user_key_init(const char *socket, struct gs_error *err);

/* Never 0. */
uint64_t gs_user_key(uid_t uid);

#endif
