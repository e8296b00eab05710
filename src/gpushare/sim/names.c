/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Bloom filter, and a second look at what it suspects; see names.h. */
#include "gpushare/sim/names.h"

#include <stdlib.h>
#include <string.h>

#include "gpushare/sim/reader.h"

#define BITS_PER_NAME 16
#define BITS_SET 8
#define SUSPECTS_MAX 1024

struct suspect {
	char name[SIM_NAME_MAX];
	int seen;
};

struct sim_names {
	const struct sim_text *text;
	uint64_t *word;
	uint64_t bits;
	uint64_t added;
	struct suspect suspect[SUSPECTS_MAX];
	size_t suspects;
};

struct sim_names *sim_names_create(const struct sim_text *text, uint64_t most)
{
	struct sim_names *n = calloc(1, sizeof(*n));
	uint64_t words = most / (64 / BITS_PER_NAME) + 1;

	if (!n)
		return NULL;
	n->text = text;
	n->bits = words * 64;
	n->word = calloc(words, sizeof(*n->word));
	if (!n->word) {
		free(n);
		return NULL;
	}
	return n;
}

void sim_names_destroy(struct sim_names *names)
{
	if (!names)
		return;
	free(names->word);
	free(names);
}

/* The last steps of splitmix64: every bit of x in every bit of the result. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static uint64_t hash_name(const char *name)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
	return mix(h);
}

/* Set the name's bits: were all of them set? */
static int known(struct sim_names *n, const char *name)
{
	uint64_t at = hash_name(name), by = mix(at) | 1, all = 1;

	for (int i = 0; i < BITS_SET; i++, at += by) {
		uint64_t bit = (uint64_t)(((unsigned __int128)at * n->bits) >> 64);
		uint64_t *word = &n->word[bit / 64];

		all &= *word >> (bit % 64);
		*word |= UINT64_C(1) << (bit % 64);
	}
	return (int)all;
}

int sim_names_add(struct sim_names *n, const char *name, struct gs_error *err)
{
	n->added++;
	if (!known(n, name))
		return 0;
	strcpy(n->suspect[n->suspects].name, name);
	n->suspect[n->suspects++].seen = 0;
	return n->suspects < SUSPECTS_MAX ? 0 : sim_names_settle(n, err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct suspect *)a)->name, ((const struct suspect *)b)->name);
}

/* Each suspect once, in order, for bsearch(). */
static void sort_suspects(struct sim_names *n)
{
	size_t kept = 0;

	qsort(n->suspect, n->suspects, sizeof(n->suspect[0]), by_name);
	for (size_t i = 0; i < n->suspects; i++)
		if (kept == 0 || by_name(&n->suspect[i], &n->suspect[kept - 1]) != 0)
			n->suspect[kept++] = n->suspect[i];
	n->suspects = kept;
}

static int look(struct sim_names *n, struct sim_reader *reader, struct gs_error *err)
{
	struct suspect wanted, *found;
	size_t column;

	for (uint64_t i = 0; i < n->added; i++) {
		int rc = sim_reader_name(reader, wanted.name, &column, err);

		if (rc <= 0)
			return rc;
		found = bsearch(&wanted, n->suspect, n->suspects, sizeof(wanted), by_name);
		if (found && found->seen++)
			return sim_line_fail(&reader->line, column, err,
					     "name: there is a kernel of this name already");
	}
	return 0;
}

int sim_names_settle(struct sim_names *n, struct gs_error *err)
{
	struct sim_reader reader;
	int rc;

	if (n->suspects == 0)
		return 0;
	if (sim_reader_open(&reader, n->text, err) < 0)
		return -1;
	sort_suspects(n);
	rc = look(n, &reader, err);
	sim_reader_close(&reader);
	n->suspects = 0;
	return rc;
}
