/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set-associative table of what was learned; see learned.h. */
#include "gpushare/arbiter/learned.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define WAYS 8
#define SETS (GS_LEARNED_MAX / WAYS)

struct slot {
	struct gs_learned_entry entry; /* key 0: empty */
	uint64_t used;                 /* value of the table's use counter at its last use */
	int news;
};

struct gs_learned {
	uint64_t uses;
	size_t news;
	struct slot slot[SETS][WAYS];
};

struct gs_learned *gs_learned_create(void)
{
	return calloc(1, sizeof(struct gs_learned));
}

void gs_learned_destroy(struct gs_learned *l)
{
	free(l);
}

/*
 * The user's number as it is, and half of the hash: whoever chooses names and content can make any
 * hash, but no key of another user's.
 */
static uint64_t users(uint32_t uid, uint64_t h)
{
	uint32_t half = (uint32_t)(h ^ h >> 32);

	return (uint64_t)uid << 32 | (half ? half : 1);
}

uint64_t gs_learned_key(uint32_t uid, uint64_t content, const char *program, const char *kernel)
{
	uint64_t h = GS_HASH_EMPTY;

	h = gs_hash(h, &content, sizeof(content));
	/* The NUL of a text separates it from what follows. */
	if (!content)
		h = gs_hash(h, program, strlen(program) + 1);
	return users(uid, gs_hash(h, kernel, strlen(kernel) + 1));
}

uint64_t gs_learned_of_dims(uint64_t key, uint32_t dims)
{
	return key ? users((uint32_t)(key >> 32), gs_hash(key, &dims, sizeof(dims))) : 0;
}

static struct slot *find(struct gs_learned *l, uint64_t key)
{
	struct slot *set = l->slot[key % SETS];

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].entry.key == key)
			return &set[i];
	return NULL;
}

/*
 * The slot of the key. If there is none, the least recently used slot of its set is emptied for it.
 */
static struct slot *make(struct gs_learned *l, uint64_t key)
{
	struct slot *set = l->slot[key % SETS], *s = find(l, key);

	if (!s) {
		s = &set[0];
		for (size_t i = 1; i < WAYS; i++)
			if (set[i].used < s->used)
				s = &set[i];
		l->news -= (size_t)s->news;
		*s = (struct slot) { .entry = { .key = key } };
	}
	s->used = ++l->uses;
	return s;
}

uint64_t gs_learned_find(struct gs_learned *l, uint64_t key)
{
	struct slot *s = find(l, key);

	if (!s)
		return 0;
	s->used = ++l->uses;
	return s->entry.tpt_ps;
}

void gs_learned_note(struct gs_learned *l, uint64_t key, uint64_t tpt_ps)
{
	struct slot *s;
	uint64_t old;

	if (!key || !tpt_ps || tpt_ps > UINT64_MAX / 8)
		return;
	s = make(l, key);
	old = s->entry.tpt_ps;
	s->entry.tpt_ps = old ? (3 * old + tpt_ps) / 4 : tpt_ps;
	l->news += !s->news;
	s->news = 1;
}

void gs_learned_restore(struct gs_learned *l, const struct gs_learned_entry *entry)
{
	if (entry->key && entry->tpt_ps && entry->tpt_ps <= UINT64_MAX / 8 && !find(l, entry->key))
		make(l, entry->key)->entry = *entry;
}

size_t gs_learned_news(struct gs_learned *l, struct gs_learned_entry *entry, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; l->news && n < max && i < (size_t)SETS * WAYS; i++) {
		struct slot *s = &l->slot[i / WAYS][i % WAYS];

		if (!s->news)
			continue;
		entry[n++] = s->entry;
		s->news = 0;
		l->news--;
	}
	return n;
}
