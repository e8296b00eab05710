/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of C expressions, as far as constants, variables and macros tell.  Pure. */
#ifndef GPUSHARE_MEM_EVAL_H
#define GPUSHARE_MEM_EVAL_H

#include <stdint.h>

#include "gpushare/mem/token.h"
#include "gpushare/mem/value.h"

/* What a type is to sizeof. */
struct mem_type {
	uint64_t bytes;  /* 0: not known */
	uint64_t target; /* of a pointer: what it points to; 0: not known, or no pointer */
};

/* Who knows the names. */
struct mem_names {
	void *arg;
	const struct mem_source *source;
	/* 1 and its value; 0: no such variable. */
	int (*variable)(void *arg, const struct mem_token *name, struct mem_value *value);
	/* 1 and its type; 0: no such variable. */
	int (*variable_type)(void *arg, const struct mem_token *name, struct mem_type *type);
	/* The bytes of a type's name of the program's own; 0: none. */
	uint64_t (*type)(void *arg, const struct mem_token *name);
};

/* The value of tokens [at, end). */
struct mem_value mem_eval(const struct mem_names *names, const struct mem_token *at,
			  const struct mem_token *end);

/*
 * Is there the name of a type at `at`, pointer stars included?  Returns the
 * token behind it and what it is; NULL: no type.
 */
const struct mem_token *mem_type_at(const struct mem_names *names, const struct mem_token *at,
				    const struct mem_token *end, struct mem_type *type);

#endif
