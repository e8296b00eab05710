/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The core's containers, which do not own the tasks: an index by id, the ready queue (a binary heap
 * by key), and the waiting line (in order of waiting). Every operation is O(1) or O(log n). */
#ifndef GPUSHARE_SCHED_TASKS_H
#define GPUSHARE_SCHED_TASKS_H

#include "gpushare/sched/policy.h"

struct gs_index {
	struct gs_task **bucket;
	size_t buckets; /* a power of two */
	size_t count;
};

int gs_index_init(struct gs_index *index); /* 0, or -1: no memory */
void gs_index_fini(struct gs_index *index);
/* The task with that id; NULL: there is none. */
struct gs_task *gs_index_find(const struct gs_index *index, uint64_t id);
/* Adds a task whose id is not in the index; removes one that is. */
void gs_index_add(struct gs_index *index, struct gs_task *task);
void gs_index_remove(struct gs_index *index, struct gs_task *task);

struct gs_ready {
	struct gs_entry *entry;
	size_t count, room;
	struct gs_task *oldest, *newest; /* the waiting line */
};

#define GS_NOT_READY SIZE_MAX /* gs_task_links.heap_at of a task that is not in the queue */

/* Makes room for `tasks` tasks, so that gs_ready_add() cannot fail. Returns 0; -1: no memory. */
int gs_ready_reserve(struct gs_ready *ready, size_t tasks);
void gs_ready_fini(struct gs_ready *ready);
/* Adds a task, which must not be in the queue, and puts it at the end of the waiting line. */
void gs_ready_add(struct gs_ready *ready, const struct gs_entry *entry);
/* Changes the key of a task in the queue; its place in the waiting line stays. */
void gs_ready_move(struct gs_ready *ready, const struct gs_entry *entry);
/* Removes a task, which must be in the queue. */
void gs_ready_remove(struct gs_ready *ready, struct gs_task *task);
/* Orders the heap again after another policy has changed all keys in place. */
void gs_ready_restore(struct gs_ready *ready);

/* Does x go before y? */
int gs_entry_before(const struct gs_entry *x, const struct gs_entry *y);

#endif
