/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time per block-task of kernels that ran before, so that the first launch
 * of a kernel in a new job is predicted.  A kernel is known by its user, the
 * content of its module, its name and the shape of its blocks and its grid's size, whatever the
 * program; by the program where the content is not known.  Nobody's kernels
 * speak for another user's.  Bounded: what was not used for longest gives way.
 * Pure.
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

/*
 * Never 0, and never that of another user's kernel, whatever the texts.  content: as the client
 * announced the kernel; 0: not known.
 */
uint64_t gs_learned_key(uint32_t uid, uint64_t content, const char *program, const char *kernel);

/* The key of its launches in blocks of that gs_slot_dims(); 0 for the key 0. */
uint64_t gs_learned_of_dims(uint64_t key, uint32_t dims);

/* ps; 0: never seen. */
uint64_t gs_learned_find(struct gs_learned *learned, uint64_t key);

/* A launch told its time per block-task: a quarter of the new one goes into the old. */
void gs_learned_note(struct gs_learned *learned, uint64_t key, uint64_t tpt_ps);

/* From the file: not news to it. */
void gs_learned_restore(struct gs_learned *learned, const struct gs_learned_entry *entry);

/* What is news to the file, at most `max`; taken, it is none any more. */
size_t gs_learned_news(struct gs_learned *learned, struct gs_learned_entry *entry, size_t max);

#endif
