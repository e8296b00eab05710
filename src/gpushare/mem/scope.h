/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The variables and types of a program, by scope.  A variable has a value as
 * long as every assignment so far said the same, or came in its own block.
 */
#ifndef GPUSHARE_MEM_SCOPE_H
#define GPUSHARE_MEM_SCOPE_H

#include "gpushare/mem/eval.h"

/* A cudaExtent or a channel descriptor that a variable holds. */
struct mem_dims {
	int extent; /* 1: w, h, d; 0: a descriptor's bytes */
	struct mem_value part[3];
	uint64_t element; /* bytes; 0: not known */
};

struct mem_variable {
	struct mem_token name;
	int depth; /* of the block it belongs to */
	struct mem_value value;
	struct mem_type type;
	struct mem_dims dims;
};

struct mem_scope {
	struct mem_variable *variable;
	size_t n, room;
	struct {
		struct mem_token name;
		uint64_t bytes;
	} * type;
	size_t types, type_room;
	int depth;
};

/* A new variable in the current block; NULL: no memory. */
struct mem_variable *mem_declare(struct mem_scope *scope, const struct mem_token *name,
				 struct mem_type type);
/* The innermost of that name, NULL. */
struct mem_variable *mem_find(const struct mem_scope *scope, const struct mem_token *name);
/* A type of that size; 0, or -1: no memory. */
int mem_declare_type(struct mem_scope *scope, const struct mem_token *name, uint64_t bytes);
uint64_t mem_find_type(const struct mem_scope *scope, const struct mem_token *name);
/* The current block ends: its variables go. */
void mem_leave(struct mem_scope *scope);
void mem_scope_free(struct mem_scope *scope);

#endif
