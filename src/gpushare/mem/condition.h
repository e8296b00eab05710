/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * #if and its like, in three values: what the compiler or a file that was not
 * read may have defined is not known.  Pure.
 */
#ifndef GPUSHARE_MEM_CONDITION_H
#define GPUSHARE_MEM_CONDITION_H

#include "gpushare/mem/token.h"

/* Does what is read now count? */
enum mem_truth mem_condition(const struct mem_source *source);

/* 1: if, ifdef, ifndef, elif, elifdef, elifndef, else or endif. */
int mem_condition_word(const struct mem_token *word);

/* Such a directive, and what stands behind it, with an END. */
void mem_condition_take(struct mem_source *source, const struct mem_token *word,
			const struct mem_token *rest);

/* A file begins; ends, with what the beginning gave. */
size_t mem_condition_enter(struct mem_source *source);
void mem_condition_leave(struct mem_source *source, size_t begun);

#endif
