/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes what a setuid program's caller has set; see secure_env.h. */
#define _GNU_SOURCE
#include "gpushare/client/secure_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "GPUSHARE_"

void gs_secure_env(void)
{
	char name[128];

	if (!getauxval(AT_SECURE) || !environ)
		return;
	for (char **e = environ; *e;) {
		size_t length = strcspn(*e, "=");

		/* A longer name is none of gpushare's, and what has no = neither getenv() nor
		 * unsetenv() takes for a variable. */
		if (strncmp(*e, PREFIX, strlen(PREFIX)) != 0 || length >= sizeof(name) ||
		    (*e)[length] != '=') {
			e++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)length, *e);
		unsetenv(name);
		e = environ; /* the others have moved */
	}
}
