/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What earlier runs of programs took; see memory_history.h. */
#include "gpushare/daemon/memory/memory_history.h"

#include <stdlib.h>

#define MIB (UINT64_C(1) << 20)

struct gs_peaks {
	struct {
		uint64_t key, bytes;
	} known[GS_PEAKS_MAX];
	unsigned n, next; /* next: the entry to overwrite when the table is full */
};

struct gs_peaks *gs_peaks_create(void)
{
	return calloc(1, sizeof(struct gs_peaks));
}

void gs_peaks_destroy(struct gs_peaks *p)
{
	free(p);
}

void gs_peaks_note(struct gs_peaks *p, uint64_t key, uint64_t bytes)
{
	if (!p || !key || !bytes)
		return;
	for (unsigned i = 0; i < p->n; i++)
		if (p->known[i].key == key) {
			if (bytes > p->known[i].bytes)
				p->known[i].bytes = bytes;
			return;
		}
	if (p->n < GS_PEAKS_MAX)
		p->n++;
	p->known[p->next].key = key;
	p->known[p->next].bytes = bytes;
	p->next = (p->next + 1) % GS_PEAKS_MAX;
}

uint64_t gs_peaks_find(const struct gs_peaks *p, uint64_t key)
{
	for (unsigned i = 0; p && key && i < p->n; i++)
		if (p->known[i].key == key)
			return p->known[i].bytes;
	return 0;
}

uint64_t gs_peaks_estimate(const struct gs_peaks *p, uint64_t key, uint64_t percent, uint64_t most)
{
	uint64_t peak = gs_peaks_find(p, key);
	unsigned __int128 want = (unsigned __int128)peak * (100 + percent) / 100;

	if (!peak)
		return 0;
	want = (want + MIB - 1) / MIB * MIB;
	return want > most ? most : (uint64_t)want;
}
