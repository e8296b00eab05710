/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a function; see names.h. */
#include "device/ptx/bytes.h"
#include "device/ptx/names.h"

#include <stdlib.h>
#include <string.h>

static void link_name(struct ptx_names *t, uint32_t i)
{
	uint32_t *slot = &t->slot[t->name[i].hash & (t->nslot - 1)];

	t->name[i].older = *slot;
	*slot = i + 1;
}

static int grow(struct ptx_names *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 64;
	struct ptx_name *name = realloc(t->name, cap * sizeof(*name));
	uint32_t *slot;

	if (!name)
		return -1;
	t->name = name;
	slot = realloc(t->slot, cap * 2 * sizeof(*slot));
	if (!slot)
		return -1;
	t->slot = slot;
	t->cap = cap;
	t->nslot = cap * 2;
	memset(slot, 0, t->nslot * sizeof(*slot));
	for (uint32_t i = 0; i < t->n; i++)
		link_name(t, i);
	return 0;
}

int ptx_names_add(struct ptx_names *t, struct ptx_slice name, uint32_t range, int is_reg)
{
	struct ptx_name *n;

	if (t->n == t->cap && (t->cap > UINT32_MAX / 64 || grow(t) < 0))
		return -1;
	n = &t->name[t->n];
	n->s = name.s;
	n->len = name.len;
	n->hash = ptx_hash_bytes(name.s, name.len, 0);
	n->range = range;
	n->is_reg = (uint8_t)is_reg;
	n->scope = t->scope;
	link_name(t, t->n++);
	return 0;
}

void ptx_names_leave(struct ptx_names *t, uint32_t n)
{
	while (t->n > n) {
		const struct ptx_name *name = &t->name[--t->n];

		t->slot[name->hash & (t->nslot - 1)] = name->older;
	}
}

static const struct ptx_name *find(const struct ptx_names *t, const char *s, uint32_t len)
{
	uint32_t hash = ptx_hash_bytes(s, len, 0);

	for (uint32_t i = t->nslot ? t->slot[hash & (t->nslot - 1)] : 0; i;
	     i = t->name[i - 1].older) {
		const struct ptx_name *n = &t->name[i - 1];

		if (n->hash == hash && n->len == len && ptx_same_bytes(n->s, s, len))
			return n;
	}
	return NULL;
}

/* The number that ends the name, and where it begins; 0 digits: none, or one with a leading zero.
 */
static uint32_t trailing_digits(struct ptx_slice name, uint32_t *value)
{
	uint32_t n = 0;
	uint64_t v = 0;

	while (n < name.len && n < 10 && name.s[name.len - 1 - n] >= '0' &&
	       name.s[name.len - 1 - n] <= '9')
		n++;
	if (n > 1 && name.s[name.len - n] == '0')
		return 0;
	for (uint32_t i = name.len - n; i < name.len; i++)
		v = v * 10 + (uint64_t)(name.s[i] - '0');
	*value = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	return n;
}

enum ptx_named ptx_names_find(const struct ptx_names *t, struct ptx_slice name, uint16_t *scope)
{
	const struct ptx_name *n = find(t, name.s, name.len), *range = NULL;
	uint32_t number = 0, digits = trailing_digits(name, &number);

	if (n && n->range)
		n = NULL;
	if (digits)
		range = find(t, name.s, name.len - digits);
	if (range && number >= range->range)
		range = NULL;
	if (!n || (range && range > n)) /* the inner declaration is the later one */
		n = range;
	if (!n)
		return PTX_NAMED_NONE;
	*scope = n->scope;
	return n->is_reg ? PTX_NAMED_REG : PTX_NAMED_OTHER;
}

void ptx_names_free(struct ptx_names *t)
{
	free(t->name);
	free(t->slot);
	memset(t, 0, sizeof(*t));
}
