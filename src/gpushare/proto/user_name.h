/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name by which reports and messages know a user. */
#ifndef GPUSHARE_PROTO_USER_NAME_H
#define GPUSHARE_PROTO_USER_NAME_H

#include <sys/types.h>

/* With the NUL; as long as `user` of GS_MSG_HISTORY. */
#define GS_USER_NAME_MAX 32

/* Writes the user's login name, or the user id where the name is NULL or has no room: a name that
 * was cut could be that of two users. */
void gs_user_name(char name[GS_USER_NAME_MAX], const char *login, uid_t uid);

#endif
