/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The most memory that earlier runs of a program took, by common/program.h's
 * key: for --gpushare-mem=auto.  From the history's file when the daemon
 * starts, from the steps that end since then.
 */
#ifndef GPUSHARE_DAEMON_MEMORY_HISTORY_H
#define GPUSHARE_DAEMON_MEMORY_HISTORY_H

#include <stdint.h>

struct gs_peaks;

/* Programs that are known at most; the oldest are forgotten. */
#define GS_PEAKS_MAX 8192

struct gs_peaks *gs_peaks_create(void); /* NULL: no memory */
void gs_peaks_destroy(struct gs_peaks *peaks);

/* A run of the program took so many bytes; key or bytes of 0 are ignored. */
void gs_peaks_note(struct gs_peaks *peaks, uint64_t key, uint64_t bytes);

/* The most of its runs, bytes; 0: not known. */
uint64_t gs_peaks_find(const struct gs_peaks *peaks, uint64_t key);

/*
 * What to reserve for it: the most of its runs and percent more, in whole MiB, at most
 * `most` bytes; 0: not known.
 */
uint64_t gs_peaks_estimate(const struct gs_peaks *peaks, uint64_t key, uint64_t percent,
			   uint64_t most);

#endif
