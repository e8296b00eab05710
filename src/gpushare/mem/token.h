/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What CUDA C source is read into: tokens, macros and the open #if.  Pure. */
#ifndef GPUSHARE_MEM_TOKEN_H
#define GPUSHARE_MEM_TOKEN_H

#include <stddef.h>
#include <stdint.h>

enum mem_token_kind { MEM_WORD, MEM_NUMBER, MEM_TEXT, MEM_SIGN, MEM_END };

struct mem_token {
	enum mem_token_kind kind;
	const char *at; /* into the source's text */
	uint32_t len;
	uint32_t line;
	uint16_t file; /* index into mem_source.file */
	uint8_t maybe; /* under an #if that could not be evaluated */
};

struct mem_macro {
	char *name;
	struct mem_token *body;  /* with an END */
	struct mem_token *param; /* with an END; NULL: a macro without brackets */
	int ambiguous;           /* defined again with another text */
	int gone;                /* by #undef, where the reading has come to */
	int maybe; /* what was defined or undefined under an #if that could not be evaluated */
};

/* Ordered: what is inside of both is as sure as the less sure. */
enum mem_truth { MEM_NO, MEM_MAYBE, MEM_YES };

#define MEM_GROUPS_MAX 64

/* An #if that is open. */
struct mem_group {
	enum mem_truth outer, taken, now; /* around it; a branch before; this branch */
};

struct mem_source {
	char **file;
	char **text;
	size_t files;
	struct mem_token *token; /* all of them in order, one END behind */
	size_t tokens, room;
	struct mem_macro *macro;
	size_t macros;
	struct mem_group group[MEM_GROUPS_MAX];
	size_t groups, floor; /* those below are of the files that include this one */
	size_t too_deep;      /* open beyond MEM_GROUPS_MAX */
	int not_found;        /* a file was included that is not there */
};

/* NULL: no such macro. */
const struct mem_macro *mem_source_macro(const struct mem_source *source,
					 const struct mem_token *name);

/* `t` behind the others; 0, or -1: no memory. */
int mem_push(struct mem_token **list, size_t *n, size_t *room, struct mem_token t);

/* 1 if the token is exactly this word or sign. */
int mem_is(const struct mem_token *token, const char *text);

#endif
