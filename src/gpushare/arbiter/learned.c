/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of what was learned; see learned.h. */
#include "gpushare/arbiter/learned.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/user_table.h"

struct slot {
	struct gs_learned_entry entry;
	int news;
};

struct gs_learned {
	struct gs_user_table *keys;
	size_t news;
	struct slot slot[GS_LEARNED_MAX]; /* by the key's place */
};

struct gs_learned *gs_learned_create(void)
{
	struct gs_learned *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->keys = gs_user_table_create(GS_LEARNED_MAX);
	if (l->keys)
		return l;
	free(l);
	return NULL;
}

void gs_learned_destroy(struct gs_learned *l)
{
	if (!l)
		return;
	gs_user_table_destroy(l->keys);
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

static uint64_t user_of(uint64_t key)
{
	return key >> 32;
}

/* The slot of the key, emptied for it if it had none. */
static struct slot *make(struct gs_learned *l, uint64_t key)
{
	int is_new;
	struct slot *s = &l->slot[gs_user_table_add(l->keys, user_of(key), key, &is_new)];

	if (is_new) {
		l->news -= (size_t)s->news;
		*s = (struct slot) { .entry = { .key = key } };
	}
	return s;
}

uint64_t gs_learned_find(struct gs_learned *l, uint64_t key)
{
	uint32_t place = gs_user_table_find(l->keys, user_of(key), key);

	if (place == GS_USER_TABLE_NONE)
		return 0;
	gs_user_table_use(l->keys, place);
	return l->slot[place].entry.tpt_ps;
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
	if (entry->key && entry->tpt_ps && entry->tpt_ps <= UINT64_MAX / 8 &&
	    gs_user_table_find(l->keys, user_of(entry->key), entry->key) == GS_USER_TABLE_NONE)
		make(l, entry->key)->entry = *entry;
}

size_t gs_learned_news(struct gs_learned *l, struct gs_learned_entry *entry, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; l->news && n < max && i < gs_user_table_count(l->keys); i++) {
		struct slot *s = &l->slot[i];

		if (!s->news)
			continue;
		entry[n++] = s->entry;
		s->news = 0;
		l->news--;
	}
	return n;
}
