/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names declared in a function, by scope: what tells a register from a
 * variable, a label or a special register.  A range %r<10> is the name %r
 * with ten registers.
 */
#ifndef GPUSHARE_PTX_NAMES_H
#define GPUSHARE_PTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "device/ptx/ast.h"

struct ptx_name {
	const char *s;
	uint32_t len, hash;
	uint32_t older; /* of the same slot, +1; 0: none */
	uint32_t range; /* registers %r0 .. %r<range-1>; 0: the name itself */
	uint16_t scope;
	uint8_t is_reg;
};

struct ptx_names {
	struct ptx_name *name; /* in order of declaration */
	uint32_t n, cap;
	uint32_t *slot; /* newest name of each hash, +1 */
	uint32_t nslot; /* a power of two */
	uint16_t scope; /* given to what is added from here on */
};

/* A zeroed struct ptx_names is an empty table. */

/* -1 when memory is short. */
int ptx_names_add(struct ptx_names *names, struct ptx_slice name, uint32_t range, int is_reg);

/* Forget what was added since n names were there: the end of a scope. */
void ptx_names_leave(struct ptx_names *names, uint32_t n);

enum ptx_named { PTX_NAMED_NONE, PTX_NAMED_REG, PTX_NAMED_OTHER };
/* A register's scope goes to *scope. */
enum ptx_named ptx_names_find(const struct ptx_names *names, struct ptx_slice name,
			      uint16_t *scope);

void ptx_names_free(struct ptx_names *names);

#endif
