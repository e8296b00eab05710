/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number for "the same program with the same arguments", under which the figures of earlier runs
 * are found.
 */
#ifndef GPUSHARE_COMMON_PROGRAM_H
#define GPUSHARE_COMMON_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A key from the user, what is in the file argv[0] (its length, its first and
 * last 64 KiB; looked up in PATH as exec does), and the other arguments.  A
 * file that cannot be read counts by its name.  Never 0.  argc of argv count.
 */
uint64_t gs_program_key(uid_t uid, int argc, char *const argv[]);

/* What a user says to be such a key, as one that no other user can name; 0 stays 0. */
uint64_t gs_program_key_said(uid_t uid, uint64_t key);

struct gs_program_user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* the supplementary ones */
	size_t ngroups;
};

/*
 * The same for root on behalf of a user, who has chosen the path: a process
 * with the user's rights opens the file.  One that does not come within a
 * second counts by its name.
 */
uint64_t gs_program_key_as(const struct gs_program_user *user, int argc, char *const argv[]);

#endif
