/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names to numbers: open addressing; see symtab.h. */
#include "device/ptx/bytes.h"
#include "device/ptx/symtab.h"

#include <stdlib.h>
#include <string.h>

static struct ptx_sym *place(struct ptx_sym *slot, uint32_t nslot, struct ptx_slice name,
			     uint32_t tag)
{
	uint32_t i = ptx_hash_bytes(name.s, name.len, tag) & (nslot - 1);

	while (slot[i].name.s && (slot[i].tag != tag || slot[i].name.len != name.len ||
				  !ptx_same_bytes(slot[i].name.s, name.s, name.len)))
		i = (i + 1) & (nslot - 1);
	return &slot[i];
}

static int grow(struct ptx_symtab *t)
{
	uint32_t nslot = t->nslot ? t->nslot * 2 : 64;
	struct ptx_sym *slot = calloc(nslot, sizeof(*slot));

	if (!slot)
		return -1;
	for (uint32_t i = 0; i < t->nslot; i++)
		if (t->slot[i].name.s)
			*place(slot, nslot, t->slot[i].name, t->slot[i].tag) = t->slot[i];
	free(t->slot);
	t->slot = slot;
	t->nslot = nslot;
	return 0;
}

uint32_t ptx_symtab_put_tagged(struct ptx_symtab *t, struct ptx_slice name, uint32_t tag)
{
	struct ptx_sym *sym;

	if (t->n >= t->nslot / 2 && (t->nslot >= 1u << 30 || grow(t) < 0))
		return PTX_SYM_NONE;
	sym = place(t->slot, t->nslot, name, tag);
	if (!sym->name.s) {
		sym->name = name;
		sym->tag = tag;
		sym->id = t->n++;
	}
	return sym->id;
}

uint32_t ptx_symtab_get_tagged(const struct ptx_symtab *t, struct ptx_slice name, uint32_t tag)
{
	const struct ptx_sym *sym;

	if (!t->nslot)
		return PTX_SYM_NONE;
	sym = place(t->slot, t->nslot, name, tag);
	return sym->name.s ? sym->id : PTX_SYM_NONE;
}

uint32_t ptx_symtab_put(struct ptx_symtab *t, struct ptx_slice name)
{
	return ptx_symtab_put_tagged(t, name, 0);
}

uint32_t ptx_symtab_get(const struct ptx_symtab *t, struct ptx_slice name)
{
	return ptx_symtab_get_tagged(t, name, 0);
}

void ptx_symtab_free(struct ptx_symtab *t)
{
	free(t->slot);
	memset(t, 0, sizeof(*t));
}
