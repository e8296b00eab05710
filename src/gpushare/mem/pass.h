/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pass over a source: what pass.c (names, loops) and estimate.c (calls) share. */
#ifndef GPUSHARE_MEM_PASS_H
#define GPUSHARE_MEM_PASS_H

#include "gpushare/mem/estimate.h"
#include "gpushare/mem/scope.h"

#define LOOPS_MAX 32

struct pass {
	const struct mem_source *source;
	struct mem_names names;
	struct mem_scope scope;
	struct mem_estimate *estimate;
	struct {
		struct mem_value count;
		int depth;                    /* of the block around it */
		const struct mem_token *ends; /* of a loop without braces; NULL: with its block */
	} loop[LOOPS_MAX];
	size_t loops;
};

/* A call that allocates, if that is one.  0; -1: no memory. (estimate.c) */
int pass_call(struct pass *pass, const struct mem_token *name);
/* A variable in device memory, if that is one; at its first specifier. */
int pass_device_variable(struct pass *pass, const struct mem_token *at);
/* The extent or the channel descriptor that [at, end) is; 1, or 0: none. */
int pass_dims(struct pass *pass, const struct mem_token *at, const struct mem_token *end,
	      struct mem_dims *dims);

#endif
