/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macros with parameters put in, and the calls that allocate inside of macros.  Pure. */
#ifndef GPUSHARE_MEM_MACRO_H
#define GPUSHARE_MEM_MACRO_H

#include "gpushare/mem/token.h"

/*
 * The macro's body for a use of it, with the arguments that stand in the
 * bracket at `open`, if it has parameters: a list with an END, to be freed, and
 * in *behind the token behind the use.  NULL: not so many arguments, or no memory.
 */
struct mem_token *mem_macro_use(const struct mem_macro *macro, const struct mem_token *open,
				const struct mem_token *end, const struct mem_token **behind);

/*
 * The source's tokens, in which macros whose bodies allocate have become their
 * bodies: a list with an END, to be freed.  NULL: no memory.
 */
struct mem_token *mem_macro_calls(const struct mem_source *source);

#endif
