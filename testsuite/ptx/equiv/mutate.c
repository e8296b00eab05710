/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See mutate.h. */
#define _GNU_SOURCE
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mutation mutations[] = {
#define MUTATION(name, words, code, instead, kernel) { name, words, code, instead, kernel },
#include "mutations.def"
#undef MUTATION
};

const struct mutation *mutation_find(const char *name)
{
	for (size_t i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++)
		if (strcmp(mutations[i].name, name) == 0)
			return &mutations[i];
	return NULL;
}

void mutation_list(void)
{
	for (size_t i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++)
		printf("%s %s %s\n", mutations[i].name, mutations[i].kernel, mutations[i].words);
}

char *mutation_apply(const struct mutation *m, const char *text)
{
	size_t bytes = 0, n = strlen(m->code);
	char *changed = NULL;
	FILE *out = open_memstream(&changed, &bytes);
	const char *at;
	int found = 0;

	if (!out)
		return NULL;
	while ((at = strstr(text, m->code))) {
		fprintf(out, "%.*s%s", (int)(at - text), text, m->instead);
		text = at + n;
		found = 1;
	}
	fputs(text, out);
	fclose(out);
	if (!found) {
		free(changed);
		return NULL;
	}
	return changed;
}
