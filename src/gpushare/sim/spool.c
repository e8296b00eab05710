/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A write-back cache, direct mapped, before a temporary file; see spool.h. */
#define _GNU_SOURCE
#include "gpushare/sim/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/sim/temporary.h"

#define RECORDS 32 /* of a block */
#define SLOTS_FIRST 512
#define EMPTY UINT64_MAX

struct slot {
	uint64_t block; /* that it holds, or EMPTY */
	int dirty;
};

struct sim_spool {
	size_t block;            /* bytes of one */
	size_t size;             /* bytes of a record */
	int fd;                  /* -1: not needed so far */
	int failed;
	struct gs_error why;
	struct slot *slot;
	size_t slots;
	unsigned char *cache;    /* a block for each slot */
};

/* Empty ones instead of those that there are. */
static int make_slots(struct sim_spool *s, size_t slots)
{
	struct slot *slot = malloc(slots * sizeof(*slot));
	unsigned char *cache = malloc(slots * s->block);

	if (!slot || !cache) {
		free(slot);
		free(cache);
		return -1;
	}
	for (size_t i = 0; i < slots; i++)
		slot[i] = (struct slot){ .block = EMPTY };
	free(s->slot);
	free(s->cache);
	s->slot = slot;
	s->slots = slots;
	s->cache = cache;
	return 0;
}

struct sim_spool *sim_spool_create(size_t size)
{
	struct sim_spool *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->size = size;
	s->block = size * RECORDS;
	s->fd = -1;
	if (make_slots(s, SLOTS_FIRST) == 0)
		return s;
	free(s);
	return NULL;
}

void sim_spool_destroy(struct sim_spool *spool)
{
	if (!spool)
		return;
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->slot);
	free(spool->cache);
	free(spool);
}

static int put_out(struct sim_spool *s, size_t i)
{
	struct slot *slot = &s->slot[i];

	if (!slot->dirty)
		return 0;
	slot->dirty = 0;
	if (s->fd < 0 && (s->fd = sim_temporary(&s->why)) < 0)
		return -1;
	return sim_temporary_write(s->fd, slot->block * s->block, s->cache + i * s->block,
				   s->block, &s->why);
}

/* What the file does not have is zero. */
static int fetch(struct sim_spool *s, size_t slot, uint64_t block)
{
	unsigned char *to = s->cache + slot * s->block;
	size_t have = 0;

	while (s->fd >= 0 && have < s->block) {
		ssize_t n = pread(s->fd, to + have, s->block - have,
				  (off_t)(block * s->block + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return gs_fail_errno(&s->why, "cannot read a temporary file");
		if (n == 0)
			break;
		have += (size_t)n;
	}
	memset(to + have, 0, s->block - have);
	return 0;
}

void sim_spool_widen(struct sim_spool *s, size_t records)
{
	if (records <= s->slots * RECORDS || s->failed)
		return;
	for (size_t i = 0; i < s->slots; i++)
		if (put_out(s, i) < 0)
			s->failed = 1;
	make_slots(s, s->slots * 2);
}

static size_t slot_of(const struct sim_spool *s, uint64_t number)
{
	return number / RECORDS % s->slots;
}

const void *sim_spool_get(struct sim_spool *s, uint64_t number)
{
	uint64_t block = number / RECORDS;
	size_t i = slot_of(s, number);

	if (s->slot[i].block != block && !s->failed) {
		if (put_out(s, i) < 0 || fetch(s, i, block) < 0)
			s->failed = 1;
		s->slot[i].block = block;
	}
	return s->cache + i * s->block + number % RECORDS * s->size;
}

void *sim_spool_set(struct sim_spool *s, uint64_t number)
{
	const void *record = sim_spool_get(s, number);

	s->slot[slot_of(s, number)].dirty = 1;
	return (void *)record;
}

int sim_spool_check(const struct sim_spool *spool, struct gs_error *err)
{
	return spool->failed ? gs_fail(err, "%s", spool->why.text) : 0;
}
