/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CUDA C source as tokens, with its object-like macros.  Pure but for
 * mem_source_load, which reads the file and what it includes by quotes.
 */
#ifndef GPUSHARE_MEM_LEX_H
#define GPUSHARE_MEM_LEX_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum mem_token_kind { MEM_WORD, MEM_NUMBER, MEM_TEXT, MEM_SIGN, MEM_END };

struct mem_token {
	enum mem_token_kind kind;
	const char *at;     /* into the source's text */
	uint32_t len;
	uint32_t line;
	uint16_t file;      /* index into mem_source.file */
};

struct mem_macro {
	char *name;
	struct mem_token *body; /* with an END */
	int ambiguous;          /* defined again with another text */
};

struct mem_source {
	char **file;
	char **text;
	size_t files;
	struct mem_token *token; /* all of them in order, one END behind */
	size_t tokens, room;
	struct mem_macro *macro;
	size_t macros;
};

/* Tokens of a text, as of a file of this name.  0; -1: no memory. */
int mem_source_add(struct mem_source *source, const char *name, const char *text,
		   struct gs_error *err);

/* The same for a file and what it includes by "...".  -1 with the reason. */
int mem_source_load(struct mem_source *source, const char *path, struct gs_error *err);

/* NAME or NAME=VALUE, as of a compiler's -D: it wins over the source's.  0 or -1. */
int mem_source_define(struct mem_source *source, const char *text, struct gs_error *err);

/* NULL: no such macro. */
const struct mem_macro *mem_source_macro(const struct mem_source *source,
					 const struct mem_token *name);

/* 1 if the token is exactly this word or sign. */
int mem_is(const struct mem_token *token, const char *text);

void mem_source_free(struct mem_source *source);

#endif
