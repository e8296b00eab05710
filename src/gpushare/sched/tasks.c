/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Index by id, ready heap and waiting line; see tasks.h. */
#include "gpushare/sched/tasks.h"

#include <stdlib.h>

#define BUCKETS_FIRST 64

static size_t bucket_of(const struct gs_index *index, uint64_t id)
{
	/*
	 * Ids are mostly consecutive, and neighbours are mostly looked up together, so they lie
	 * side by side in the index.
	 */
	return (size_t)(id + (id >> 16) + (id >> 32)) & (index->buckets - 1);
}

int gs_index_init(struct gs_index *index)
{
	index->bucket = calloc(BUCKETS_FIRST, sizeof(*index->bucket));
	index->buckets = BUCKETS_FIRST;
	index->count = 0;
	return index->bucket ? 0 : -1;
}

void gs_index_fini(struct gs_index *index)
{
	free(index->bucket);
}

struct gs_task *gs_index_find(const struct gs_index *index, uint64_t id)
{
	struct gs_task *task = index->bucket[bucket_of(index, id)];

	while (task && task->id != id)
		task = task->links.hash_next;
	return task;
}

static void index_link(struct gs_index *index, struct gs_task *task)
{
	struct gs_task **at = &index->bucket[bucket_of(index, task->id)];

	task->links.hash_next = *at;
	*at = task;
}

/* If there is no memory to grow, the chains get longer and nothing fails. */
static void index_grow(struct gs_index *index)
{
	struct gs_index old = *index;
	struct gs_task **bucket = calloc(old.buckets * 2, sizeof(*bucket));

	if (!bucket)
		return;
	index->bucket = bucket;
	index->buckets = old.buckets * 2;
	for (size_t i = 0; i < old.buckets; i++)
		while (old.bucket[i]) {
			struct gs_task *task = old.bucket[i];

			old.bucket[i] = task->links.hash_next;
			index_link(index, task);
		}
	free(old.bucket);
}

void gs_index_add(struct gs_index *index, struct gs_task *task)
{
	if (index->count >= index->buckets)
		index_grow(index);
	index_link(index, task);
	index->count++;
}

void gs_index_remove(struct gs_index *index, struct gs_task *task)
{
	struct gs_task **at = &index->bucket[bucket_of(index, task->id)];

	while (*at != task)
		at = &(*at)->links.hash_next;
	*at = task->links.hash_next;
	index->count--;
}

int gs_entry_before(const struct gs_entry *x, const struct gs_entry *y)
{
	if (x->key.round != y->key.round)
		return x->key.round < y->key.round;
	if (x->key.rank < y->key.rank || x->key.rank > y->key.rank)
		return x->key.rank < y->key.rank;
	return x->task->seq < y->task->seq;
}

int gs_ready_reserve(struct gs_ready *ready, size_t tasks)
{
	size_t room = ready->room ? ready->room : 16;
	struct gs_entry *entry;

	if (tasks <= ready->room)
		return 0;
	while (room < tasks)
		room *= 2;
	entry = realloc(ready->entry, room * sizeof(*entry));
	if (!entry)
		return -1;
	ready->entry = entry;
	ready->room = room;
	return 0;
}

void gs_ready_fini(struct gs_ready *ready)
{
	free(ready->entry);
}

static void put(struct gs_ready *ready, size_t at, const struct gs_entry *entry)
{
	ready->entry[at] = *entry;
	entry->task->links.heap_at = at;
}

/* Into this place, or where the order has it from there. */
static void sift(struct gs_ready *ready, size_t at, struct gs_entry entry)
{
	size_t child;

	for (; at > 0; at = (at - 1) / 2) {
		const struct gs_entry *parent = &ready->entry[(at - 1) / 2];

		if (!gs_entry_before(&entry, parent))
			break;
		put(ready, at, parent);
	}
	for (; (child = 2 * at + 1) < ready->count; at = child) {
		if (child + 1 < ready->count &&
		    gs_entry_before(&ready->entry[child + 1], &ready->entry[child]))
			child++;
		if (!gs_entry_before(&ready->entry[child], &entry))
			break;
		put(ready, at, &ready->entry[child]);
	}
	put(ready, at, &entry);
}

void gs_ready_add(struct gs_ready *ready, const struct gs_entry *entry)
{
	struct gs_task *task = entry->task;

	ready->count++;
	sift(ready, ready->count - 1, *entry);
	task->links.older = ready->newest;
	task->links.newer = NULL;
	if (ready->newest)
		ready->newest->links.newer = task;
	else
		ready->oldest = task;
	ready->newest = task;
}

void gs_ready_move(struct gs_ready *ready, const struct gs_entry *entry)
{
	sift(ready, entry->task->links.heap_at, *entry);
}

void gs_ready_remove(struct gs_ready *ready, struct gs_task *task)
{
	const struct gs_entry *last = &ready->entry[--ready->count];
	size_t at = task->links.heap_at;

	if (at != ready->count)
		sift(ready, at, *last);
	task->links.heap_at = GS_NOT_READY;
	if (task->links.older)
		task->links.older->links.newer = task->links.newer;
	else
		ready->oldest = task->links.newer;
	if (task->links.newer)
		task->links.newer->links.older = task->links.older;
	else
		ready->newest = task->links.older;
}

void gs_ready_restore(struct gs_ready *ready)
{
	size_t all = ready->count;

	for (ready->count = 0; ready->count < all;) {
		ready->count++;
		sift(ready, ready->count - 1, ready->entry[ready->count - 1]);
	}
}
