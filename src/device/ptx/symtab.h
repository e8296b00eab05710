/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names to small numbers, in order of first sight: functions, registers, labels. */
#ifndef GPUSHARE_PTX_SYMTAB_H
#define GPUSHARE_PTX_SYMTAB_H

#include <stdint.h>

#include "device/ptx/ast.h"

#define PTX_SYM_NONE UINT32_MAX

struct ptx_symtab {
	struct ptx_sym {
		struct ptx_slice name;
		uint32_t id, tag;
	} * slot;
	uint32_t n, nslot; /* a power of two, or 0 */
};

/* A zeroed struct is an empty table. */

/* The name's number, a new one if it has none; PTX_SYM_NONE when memory is short. */
uint32_t ptx_symtab_put(struct ptx_symtab *t, struct ptx_slice name);
/* The same for names told apart by a tag (a register's scope); without one it is 0. */
uint32_t ptx_symtab_put_tagged(struct ptx_symtab *t, struct ptx_slice name, uint32_t tag);
uint32_t ptx_symtab_get_tagged(const struct ptx_symtab *t, struct ptx_slice name, uint32_t tag);
/* The name's number, or PTX_SYM_NONE. */
uint32_t ptx_symtab_get(const struct ptx_symtab *t, struct ptx_slice name);
void ptx_symtab_free(struct ptx_symtab *t);

#endif
