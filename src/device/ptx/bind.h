/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One kernel of a module as a module of its own, over the variables of the first: only what the
 * kernel needs is kept, and each variable of the module is named by its address, which is known
 * once the module has been loaded.  Pure: text and addresses in, text out.
 */
#ifndef GPUSHARE_PTX_BIND_H
#define GPUSHARE_PTX_BIND_H

#include <stddef.h>
#include <stdint.h>

#include "device/ptx/transform.h"

/* A variable of the module that the kernel names. */
struct ptx_need {
	char *name;       /* the binding's */
	uint64_t address; /* the caller's to fill in; 0: not known */
};

/* What is known of the kernel, from ptx_bind_open to ptx_bind_close. */
struct ptx_bind;

/*
 * Look at the kernel of that name in `len` bytes of PTX, which must outlive the binding.  NULL with
 * "line N: reason" in err: the text cannot be parsed, or has no such kernel.  Whether the kernel
 * can be bound is told by ptx_bind_text().
 */
struct ptx_bind *ptx_bind_open(const char *text, size_t len, const char *kernel,
			       struct gs_error *err);
void ptx_bind_close(struct ptx_bind *b); /* NULL is fine */

/* The variables that it needs, *n of them. */
struct ptx_need *ptx_bind_needs(struct ptx_bind *b, uint32_t *n);

/*
 * The kernel's module, NUL-terminated and the caller's to free, *len bytes without the NUL.  Loads
 * from constant variables have become loads from their addresses.  A constant or a string literal
 * whose address is not known is copied.  NULL: it cannot be bound, *why says why (NONE: there is
 * no memory).
 */
char *ptx_bind_text(struct ptx_bind *b, size_t *len, enum ptx_reason *why);

#endif
