/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time per block-task of kernels that ran before, so that the first launch of a kernel in a new
 * job can be predicted. A kernel is identified by its user, its module's content, its name, its
 * block dimensions and its grid's size class, whatever the program; if the content is not known,
 * the program is used instead. A user's kernels never affect predictions for another user. The
 * table is bounded: a new entry replaces the one that was unused for longest of the user who has
 * most (common/user_table.h). Pure; not thread-safe.
 */
#ifndef GPUSHARE_ARBITER_LEARNED_H
#define GPUSHARE_ARBITER_LEARNED_H

#include <stddef.h>
#include <stdint.h>

#define GS_LEARNED_MAX 16384

struct gs_learned;

struct gs_learned_entry {
	uint64_t key;
	uint64_t tpt_ps; /* time per block-task of the whole GPU, picoseconds */
};

struct gs_learned *gs_learned_create(void);          /* NULL: no memory */
void gs_learned_destroy(struct gs_learned *learned); /* NULL is fine */

/* The key of a kernel, never 0; its upper half is the user's number. content: the hash that the
 * client announced; 0: not known, and then `program` is used. */
uint64_t gs_learned_key(uint32_t uid, uint64_t content, const char *program, const char *kernel);

/* The key of that kernel's launches with these gs_slot_dims(); 0 for the key 0. */
uint64_t gs_learned_of_dims(uint64_t key, uint32_t dims);

/* The learned time per block-task, picoseconds of the whole GPU; 0: never seen. Counts as a use. */
uint64_t gs_learned_find(struct gs_learned *learned, uint64_t key);

/* A launch reported its time per block-task, ps: it contributes a quarter to the stored mean.
 * Ignores a zero key or time, and absurd times. */
void gs_learned_note(struct gs_learned *learned, uint64_t key, uint64_t tpt_ps);

/* Restores an entry from the state file, unless there is one for its key already; it does not count
 * as new. */
void gs_learned_restore(struct gs_learned *learned, const struct gs_learned_entry *entry);

/* Moves up to `max` entries that changed since they were last fetched into `entry`; returns how
 * many. */
size_t gs_learned_news(struct gs_learned *learned, struct gs_learned_entry *entry, size_t max);

#endif
