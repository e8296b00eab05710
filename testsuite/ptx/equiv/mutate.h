/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deliberate bugs: does the equivalence test see them? */
#ifndef GPUSHARE_EQUIV_MUTATE_H
#define GPUSHARE_EQUIV_MUTATE_H

/* What a mutation that no longer fits is told apart by. */
#define MUTATION_STALE "the mutation's code is not in the variant"

struct mutation {
	const char *name, *words, *code, *instead, *kernel;
};

/* NULL: no mutation of that name. */
const struct mutation *mutation_find(const char *name);
/* One line for each: name, kernel, words. */
void mutation_list(void);
/* The text with the bug; malloc'd.  NULL: the code is not in it. */
char *mutation_apply(const struct mutation *m, const char *text);

#endif
