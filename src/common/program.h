/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same program with the same arguments, by number: for what earlier runs tell. */
#ifndef GPUSHARE_COMMON_PROGRAM_H
#define GPUSHARE_COMMON_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

/*
 * A key from the user, what is in the file argv[0] (its length, its first and
 * last 64 KiB; looked up in PATH as exec does), and the other arguments.  A
 * file that cannot be read counts by its name.  Never 0.  argc of argv count.
 */
uint64_t gs_program_key(uid_t uid, int argc, char *const argv[]);

#endif
