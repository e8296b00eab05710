/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier runs of programs took; see memory_history.h. */
#include "gpushare/daemon/memory/memory_history.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/user_table.h"

#define MIB (UINT64_C(1) << 20)

struct gs_peaks {
	struct gs_user_table *programs;
	uint64_t bytes[GS_PEAKS_MAX]; /* by the program's place */
};

struct gs_peaks *gs_peaks_create(void)
{
	struct gs_peaks *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->programs = gs_user_table_create(GS_PEAKS_MAX);
	if (p->programs)
		return p;
	free(p);
	return NULL;
}

void gs_peaks_destroy(struct gs_peaks *p)
{
	if (!p)
		return;
	gs_user_table_destroy(p->programs);
	free(p);
}

/* Nobody chooses their own name. */
static uint64_t number_of(const char *user)
{
	return gs_hash(GS_HASH_EMPTY, user, strlen(user));
}

void gs_peaks_note(struct gs_peaks *p, const char *user, uint64_t key, uint64_t bytes)
{
	uint32_t place;
	int is_new;

	if (!p || !key || !bytes)
		return;
	place = gs_user_table_add(p->programs, number_of(user), key, &is_new);
	if (is_new || bytes > p->bytes[place])
		p->bytes[place] = bytes;
}

uint64_t gs_peaks_find(const struct gs_peaks *p, const char *user, uint64_t key)
{
	uint32_t place = p && key ? gs_user_table_find(p->programs, number_of(user), key) :
				    GS_USER_TABLE_NONE;

	return place == GS_USER_TABLE_NONE ? 0 : p->bytes[place];
}

uint64_t gs_peaks_estimate(const struct gs_peaks *p, const char *user, uint64_t key,
			   uint64_t percent, uint64_t most)
{
	uint64_t peak = gs_peaks_find(p, user, key);
	unsigned __int128 want = (unsigned __int128)peak * (100 + percent) / 100;

	if (!peak)
		return 0;
	want = (want + MIB - 1) / MIB * MIB;
	return want > most ? most : (uint64_t)want;
}
