/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much device memory does a CUDA C program allocate?  (RBDM, section
 * 3.1.)  What cannot be evaluated from the source alone is listed, never guessed.  Pure.
 */
#ifndef GPUSHARE_MEM_ESTIMATE_H
#define GPUSHARE_MEM_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/mem/lex.h"

/* One allocation in the source. */
struct mem_allocation {
	const char *file;
	uint32_t line;
	char call[40];  /* cudaMalloc; __device__ for a variable */
	char text[120]; /* its size, as it is written */
	int known;
	uint64_t bytes; /* of one call */
	uint64_t times; /* of a loop whose bounds are known; else 1 */
	char why[96];   /* not known */
	int maybe;      /* in an #if that could not be evaluated */
};

struct mem_estimate {
	struct mem_allocation *allocation;
	size_t n;
	uint64_t total; /* of the known ones */
	size_t unknown;
};

/* What a source allocates, added to *estimate, which begins zeroed.  0; -1: no memory. */
int mem_estimate(const struct mem_source *source, struct mem_estimate *estimate,
		 struct gs_error *err);
void mem_estimate_free(struct mem_estimate *estimate);

#endif
