/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See user_name.h. */
#define _GNU_SOURCE
#include "gpushare/proto/user_name.h"

#include <stdio.h>
#include <string.h>

void gs_user_name(char name[GS_USER_NAME_MAX], const char *login, uid_t uid)
{
	if (login && strlen(login) < GS_USER_NAME_MAX)
		snprintf(name, GS_USER_NAME_MAX, "%s", login);
	else
		snprintf(name, GS_USER_NAME_MAX, "%u", (unsigned)uid);
}
