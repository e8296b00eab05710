/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table whose keys are also in a list per user, by their last use; see user_table.h. */
#include "common/user_table.h"

#include <stdlib.h>

#define NONE GS_USER_TABLE_NONE

struct entry {
	uint64_t key;
	uint64_t used;         /* value of the table's use counter at its last use */
	uint32_t part;         /* index in `part` */
	uint32_t next;         /* in its bucket */
	uint32_t older, newer; /* of the same part */
};

/* The keys of a user. */
struct part {
	uint64_t user;
	uint32_t n; /* keys; 0: the record is free */
	uint32_t oldest, newest;
};

struct gs_user_table {
	uint32_t most, n;
	uint32_t nparts; /* records below this number are in use, or were */
	uint32_t mask;   /* of bucket numbers */
	uint64_t uses;
	struct entry *entry;
	struct part *part;
	uint32_t *bucket;
};

struct gs_user_table *gs_user_table_create(uint32_t most)
{
	struct gs_user_table *t = calloc(1, sizeof(*t));
	uint32_t buckets = 1;

	if (!t)
		return NULL;
	while (buckets < most)
		buckets *= 2;
	t->most = most;
	t->mask = buckets - 1;
	t->entry = calloc(most, sizeof(*t->entry));
	t->part = calloc(most, sizeof(*t->part));
	t->bucket = malloc(buckets * sizeof(*t->bucket));
	if (!t->entry || !t->part || !t->bucket) {
		gs_user_table_destroy(t);
		return NULL;
	}
	for (uint32_t i = 0; i < buckets; i++)
		t->bucket[i] = NONE;
	return t;
}

void gs_user_table_destroy(struct gs_user_table *t)
{
	if (!t)
		return;
	free(t->entry);
	free(t->part);
	free(t->bucket);
	free(t);
}

/*
 * Users can choose keys that fall into one bucket. The bucket depends on the user as well, so they
 * make their own searches longer, by the length of the table at most.
 */
static uint32_t *bucket_of(const struct gs_user_table *t, uint64_t user, uint64_t key)
{
	uint64_t h = (user + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ key;

	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return &t->bucket[(uint32_t)(h >> 32) & t->mask];
}

uint32_t gs_user_table_find(const struct gs_user_table *t, uint64_t user, uint64_t key)
{
	uint32_t i = *bucket_of(t, user, key);

	while (i != NONE && (t->entry[i].key != key || t->part[t->entry[i].part].user != user))
		i = t->entry[i].next;
	return i;
}

static void detach(struct gs_user_table *t, uint32_t place)
{
	struct entry *e = &t->entry[place];
	struct part *p = &t->part[e->part];

	*(e->older == NONE ? &p->oldest : &t->entry[e->older].newer) = e->newer;
	*(e->newer == NONE ? &p->newest : &t->entry[e->newer].older) = e->older;
	p->n--;
}

static void attach(struct gs_user_table *t, uint32_t place)
{
	struct entry *e = &t->entry[place];
	struct part *p = &t->part[e->part];

	e->used = ++t->uses;
	e->older = p->n++ ? p->newest : NONE;
	e->newer = NONE;
	*(e->older == NONE ? &p->oldest : &t->entry[e->older].newer) = place;
	p->newest = place;
}

void gs_user_table_use(struct gs_user_table *t, uint32_t place)
{
	detach(t, place);
	attach(t, place);
}

/* The place of the key that is to go for a new one of the user's. */
static uint32_t victim(const struct gs_user_table *t, uint64_t user)
{
	uint32_t most = 0, place = 0;

	for (uint32_t i = 0; i < t->nparts; i++) {
		const struct part *p = &t->part[i];
		uint32_t n = p->n && p->user == user ? p->n + 1 : p->n;

		if (n > most ||
		    (n && n == most && t->entry[p->oldest].used < t->entry[place].used)) {
			most = n;
			place = p->oldest;
		}
	}
	return place;
}

static void forget(struct gs_user_table *t, uint32_t place)
{
	const struct entry *e = &t->entry[place];
	uint32_t *at = bucket_of(t, t->part[e->part].user, e->key);

	while (*at != place)
		at = &t->entry[*at].next;
	*at = e->next;
	detach(t, place);
}

/* There are as many records as keys, so one is free for the user of a key that is not in yet. */
static uint32_t part_of(struct gs_user_table *t, uint64_t user)
{
	uint32_t is_free = NONE;

	for (uint32_t i = 0; i < t->nparts; i++) {
		if (t->part[i].n && t->part[i].user == user)
			return i;
		if (!t->part[i].n && is_free == NONE)
			is_free = i;
	}
	if (is_free == NONE)
		is_free = t->nparts++;
	t->part[is_free].user = user;
	return is_free;
}

uint32_t gs_user_table_add(struct gs_user_table *t, uint64_t user, uint64_t key, int *is_new)
{
	uint32_t place = gs_user_table_find(t, user, key), *bucket;

	*is_new = place == NONE;
	if (!*is_new) {
		gs_user_table_use(t, place);
		return place;
	}
	place = t->n;
	if (t->n < t->most) {
		t->n++;
	} else {
		place = victim(t, user);
		forget(t, place);
	}
	bucket = bucket_of(t, user, key);
	t->entry[place] = (struct entry) { .key = key, .part = part_of(t, user), .next = *bucket };
	*bucket = place;
	attach(t, place);
	return place;
}

uint32_t gs_user_table_count(const struct gs_user_table *t)
{
	return t->n;
}
