/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What #if and its like leave out; see condition.h. */
#define _GNU_SOURCE
#include "gpushare/mem/condition.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/mem/eval.h"

static enum mem_truth less(enum mem_truth a, enum mem_truth b)
{
	return a < b ? a : b;
}

enum mem_truth mem_condition(const struct mem_source *s)
{
	enum mem_truth now = s->groups ? s->group[s->groups - 1].now : MEM_YES;

	return s->too_deep ? less(now, MEM_MAYBE) : now;
}

/* ---- names --------------------------------------------------------------- */

static int begins(const struct mem_token *t, const char *with)
{
	return t->len >= strlen(with) && strncmp(t->at, with, strlen(with)) == 0;
}

static enum mem_truth defined(const struct mem_source *s, const struct mem_token *name)
{
	const struct mem_macro *m = mem_source_macro(s, name);

	if (m && m->maybe)
		return MEM_MAYBE;
	if (m)
		return m->gone ? MEM_NO : MEM_YES;
	if (mem_is(name, "__CUDACC__") || mem_is(name, "__NVCC__") || mem_is(name, "__cplusplus"))
		return MEM_YES;
	/* The compiler's, the C library's and CUDA's own, and those of a file that is not there. */
	if (begins(name, "_") || begins(name, "CUDA") || begins(name, "CUDNN") || s->not_found)
		return MEM_MAYBE;
	return MEM_NO;
}

/* ---- #if's expression ------------------------------------------------------ */

/* A name that is no macro is 0, as in C, where it is sure that it is none. */
static int variable(void *arg, const struct mem_token *name, struct mem_value *value)
{
	const struct mem_source *s = arg;

	switch (defined(s, name)) {
	case MEM_YES:
		if (mem_source_macro(s, name))
			return 0; /* the evaluation looks there itself */
		break;
	case MEM_NO:
		*value = (struct mem_value) { .known = 1 };
		return 1;
	case MEM_MAYBE:
		break;
	}
	*value = (struct mem_value) { .why = "not known" };
	return 1;
}

static int variable_type(void *arg, const struct mem_token *name, struct mem_type *type)
{
	(void)arg;
	(void)name;
	(void)type;
	return 0;
}

static uint64_t type_name(void *arg, const struct mem_token *name)
{
	(void)arg;
	(void)name;
	return 0;
}

/* defined X, defined(X) at `at` as one number; the token behind it, NULL: not known. */
static const struct mem_token *defined_at(const struct mem_source *s, const struct mem_token *at,
					  struct mem_token *number)
{
	int bracket = mem_is(at + 1, "(");
	const struct mem_token *name = at + 1 + bracket;
	enum mem_truth truth;

	if (name->kind != MEM_WORD || (bracket && !mem_is(name + 1, ")")))
		return NULL;
	truth = defined(s, name);
	if (truth == MEM_MAYBE)
		return NULL;
	*number = *name;
	number->kind = MEM_NUMBER;
	number->at = truth == MEM_YES ? "1" : "0";
	number->len = 1;
	return name + 1 + bracket;
}

static enum mem_truth evaluate(const struct mem_source *s, const struct mem_token *at)
{
	struct mem_names names = { (void *)s, s, variable, variable_type, type_name };
	struct mem_token *list = NULL;
	struct mem_value v = { .known = 0 };
	size_t n = 0, room = 0;
	int rc = 0;

	while (rc == 0 && at && at->kind != MEM_END) {
		struct mem_token t = *at;

		at = mem_is(&t, "defined") ? defined_at(s, at, &t) : at + 1;
		if (at)
			rc = mem_push(&list, &n, &room, t);
	}
	if (rc == 0 && at && n)
		v = mem_eval(&names, list, list + n);
	free(list);
	if (!v.known)
		return MEM_MAYBE;
	return (v.real ? v.d != 0 : v.i != 0) ? MEM_YES : MEM_NO;
}

/* ---- directives -------------------------------------------------------------- */

static const char *const words[] = { "if",      "ifdef",    "ifndef", "elif",
				     "elifdef", "elifndef", "else",   "endif" };

int mem_condition_word(const struct mem_token *word)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (mem_is(word, words[i]))
			return 1;
	return 0;
}

/* Of if, ifdef and ifndef, with or without el before it. */
static enum mem_truth truth_of(const struct mem_source *s, const struct mem_token *word,
			       const struct mem_token *rest)
{
	enum mem_truth truth;

	if (mem_is(word, "if") || mem_is(word, "elif"))
		return evaluate(s, rest);
	truth = defined(s, rest);
	return mem_is(word, "ifdef") || mem_is(word, "elifdef") ? truth : MEM_YES - truth;
}

static void open_group(struct mem_source *s, enum mem_truth truth)
{
	enum mem_truth outer = mem_condition(s);

	if (s->groups == MEM_GROUPS_MAX) {
		s->too_deep++;
		return;
	}
	s->group[s->groups++] = (struct mem_group) { outer, truth, less(outer, truth) };
}

/* The next branch of the innermost #if, were none before it taken. */
static void next_branch(struct mem_group *g, enum mem_truth truth)
{
	enum mem_truth here = less(truth, MEM_YES - g->taken);

	g->taken = truth > g->taken ? truth : g->taken;
	g->now = less(g->outer, here);
}

static void close_group(struct mem_source *s)
{
	if (s->too_deep)
		s->too_deep--;
	else if (s->groups > s->floor)
		s->groups--;
}

void mem_condition_take(struct mem_source *s, const struct mem_token *word,
			const struct mem_token *rest)
{
	struct mem_group *g = s->groups > s->floor ? &s->group[s->groups - 1] : NULL;

	if (mem_is(word, "endif"))
		close_group(s);
	else if (word->at[0] == 'i')
		/* What is left out is not looked at. */
		open_group(s, mem_condition(s) == MEM_NO ? MEM_NO : truth_of(s, word, rest));
	else if (g && !s->too_deep)
		next_branch(g, mem_is(word, "else") ? MEM_YES :
			       g->taken == MEM_YES  ? MEM_NO :
						      truth_of(s, word, rest));
}

size_t mem_condition_enter(struct mem_source *s)
{
	size_t begun = s->floor;

	s->floor = s->groups;
	return begun;
}

void mem_condition_leave(struct mem_source *s, size_t begun)
{
	s->groups = s->floor;
	s->floor = begun;
}
