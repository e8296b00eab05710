/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our part of a field that others write to as well.  AdminComment is
 * printed raw, so our part is one line and holds no ';'.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "gpushare/daemon/slurm_report.h"

#define PREFIX "gpushare: "

/* Where our part begins: at the field's start or behind a separator. */
static const char *find_ours(const char *old)
{
	const char *at = old;

	while ((at = strstr(at, PREFIX))) {
		const char *before = at;

		while (before > old && before[-1] == ' ')
			before--;
		if (before == old || before[-1] == ';')
			return at;
		at += strlen(PREFIX);
	}
	return NULL;
}

int gs_comment_merge(const char *old, const char *ours, char *out, size_t size)
{
	const char *at = old ? find_ours(old) : NULL;
	int n;

	if (!old || !*old)
		n = snprintf(out, size, "%s", ours);
	else if (!at)
		n = snprintf(out, size, "%s; %s", old, ours);
	else
		n = snprintf(out, size, "%.*s%s%s", (int)(at - old), old, ours,
			     at + strcspn(at, ";"));
	return n >= 0 && (size_t)n < size ? 0 : -1;
}
