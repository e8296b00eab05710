/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bind.c, which finds out what a kernel needs, and bind_text.c, which writes its module, both
 * know of it. */
#ifndef GPUSHARE_PTX_BIND_STATE_H
#define GPUSHARE_PTX_BIND_STATE_H

#include "device/ptx/bind.h"
#include "device/ptx/symtab.h"

/* What becomes of a variable in the kernel's own module. */
enum ptx_fate { PTX_FATE_DROPPED, PTX_FATE_KEPT, PTX_FATE_BOUND, PTX_FATE_COPIED };

struct ptx_bind {
	struct ptx_module *m;
	struct ptx_symtab vars, funcs; /* a name's number is that of its first declaration */
	uint8_t *var_fate;             /* by number of the name */
	uint8_t *func_kept;            /* the same */
	uint32_t *var_need;            /* by number: its need */
	uint32_t *var_at;              /* by number: its index in the module */
	struct ptx_need *need;
	uint32_t nneed;
	uint8_t names_const; /* an instruction of it works on constant space */
	enum ptx_reason why; /* known beforehand */
};

/* The variable of that name, and its number; NULL: none. */
static inline const struct ptx_var *ptx_bind_var_of(const struct ptx_bind *b, struct ptx_slice name,
						    uint32_t *id)
{
	*id = ptx_symtab_get(&b->vars, name);
	return *id == PTX_SYM_NONE ? NULL : &b->m->var[b->var_at[*id]];
}

/* Has it no address that could be written into the text? */
static inline int ptx_bind_is_opaque(const struct ptx_var *v)
{
	return v->type == PTX_T_TEXREF || v->type == PTX_T_SAMPLERREF || v->type == PTX_T_SURFREF ||
	       v->space == PTX_SPACE_TEX;
}

#endif
