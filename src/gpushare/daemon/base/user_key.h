/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number for each user by which that user's processes recognise gpushared. While gpushared is not
 * running anybody may listen at its abstract socket, and in a user namespace a process cannot see
 * whether the other end belongs to root. Only gpushared and the user's jobs know the number.
 */
#ifndef GPUSHARE_DAEMON_USER_KEY_H
#define GPUSHARE_DAEMON_USER_KEY_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/*
 * Reads the secret from which the numbers are made from <socket>.key, or makes it. Programs that
 * continue through a restart of gpushared keep their user's number. Returns 0, or -1 with the
 * reason.
 */
int gs_user_key_init(const char *socket, struct gs_error *err);

/* The user's number, never 0. */
uint64_t gs_user_key(uid_t uid);

#endif
