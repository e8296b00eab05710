/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run another program on behalf of this one: pass signals on to it, and end with its exit status.
 */
#ifndef GPUSHARE_COMMON_CHILD_H
#define GPUSHARE_COMMON_CHILD_H

#include "common/error.h"

/* Exit statuses of a program that cannot be executed, or is not there, as shells give them. */
#define GS_CHILD_CANNOT_RUN 126
#define GS_CHILD_NOT_FOUND 127

/*
 * Run argv (argv[0] is looked up in PATH) as a child and wait for its end;
 * TERM, INT, HUP, QUIT, USR1 and USR2 are passed on to it meanwhile and stay
 * blocked in the caller afterwards.  All of the caller's children that end
 * meanwhile are waited for.  Its exit status, 128 + the number of the
 * signal that ended it, or one of the above (the child says why on standard
 * error, as `who`); -1 if there could be no child.
 */
int gs_child_run(const char *who, char **argv, struct gs_error *err);

#endif
