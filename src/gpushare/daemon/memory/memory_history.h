/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The most memory that earlier runs of a user's program took, by the user's name and the key of
 * common/program.h, for --gpushare-mem=auto. Comes from the history file, which has names and no
 * numbers of users, when the daemon starts, and from the steps that end afterwards. What one user's
 * runs took says nothing of another's. Not thread-safe.
 */
#ifndef GPUSHARE_DAEMON_MEMORY_HISTORY_H
#define GPUSHARE_DAEMON_MEMORY_HISTORY_H

#include <stdint.h>

struct gs_peaks;

/* How many programs are known at most. One more makes that one forgotten which ran before all
 * others of the user who has most of them (common/user_table.h). */
#define GS_PEAKS_MAX 8192

struct gs_peaks *gs_peaks_create(void); /* NULL: no memory */
void gs_peaks_destroy(struct gs_peaks *peaks);

/* A run of the user's program took this many bytes; a key or bytes of 0 are ignored. */
void gs_peaks_note(struct gs_peaks *peaks, const char *user, uint64_t key, uint64_t bytes);

/* The most bytes of its runs; 0: not known. */
uint64_t gs_peaks_find(const struct gs_peaks *peaks, const char *user, uint64_t key);

/* The bytes to reserve for the program: the most of its runs plus `percent`, in whole MiB, at most
 * `most`; 0: not known. */
uint64_t gs_peaks_estimate(const struct gs_peaks *peaks, const char *user, uint64_t key,
			   uint64_t percent, uint64_t most);

#endif
