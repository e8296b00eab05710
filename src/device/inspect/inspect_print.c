/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of inspect.c in words. */
#define _GNU_SOURCE
#include <string.h>

#include "device/inspect/inspect.h"

static const char *word(const json_t *in, const char *key)
{
	const char *s = json_string_value(json_object_get(in, key));

	return s ? s : "";
}

static json_int_t number(const json_t *in, const char *key)
{
	return json_integer_value(json_object_get(in, key));
}

static void put_error(FILE *to, const json_t *in)
{
	if (*word(in, "error"))
		fprintf(to, ", %s", word(in, "error"));
}

static void put_entry(FILE *to, const json_t *e)
{
	fprintf(to, "  %-6s %-12s", word(e, "kind"), word(e, "arch"));
	if (strcmp(word(e, "packing"), "none") == 0)
		fprintf(to, " %lld bytes", (long long)number(e, "size"));
	else
		fprintf(to, " %lld bytes, %s to %lld", (long long)number(e, "size"),
			word(e, "packing"), (long long)number(e, "stored"));
	if (json_is_true(json_object_get(e, "relocatable")))
		fputs(", relocatable", to);
	if (*word(e, "source"))
		fprintf(to, ", from %s", word(e, "source"));
	if (*word(e, "options"))
		fprintf(to, ", with %s", word(e, "options"));
	put_error(to, e);
	fputc('\n', to);
}

static void put_archs(FILE *to, const json_t *in, const char *key, const char *words)
{
	const json_t *list = json_object_get(in, key), *arch;
	size_t i;

	if (!json_array_size(list))
		return;
	fprintf(to, "; %s", words);
	json_array_foreach (list, i, arch)
		fprintf(to, "%s %s", i ? "," : "", json_string_value(arch));
}

static void put_container(FILE *to, size_t n, const json_t *c)
{
	const json_t *e;
	size_t i;

	fprintf(to, "container %zu: %lld bytes%s", n + 1, (long long)number(c, "bytes"),
		json_is_true(json_object_get(c, "relocatable")) ? ", relocatable" : "");
	put_archs(to, c, "not_replaced", "its PTX is older than its machine code for");
	put_error(to, c);
	fputc('\n', to);
	json_array_foreach (json_object_get(c, "entries"), i, e)
		put_entry(to, e);
}

static void put_kernel(FILE *to, const json_t *k)
{
	fprintf(to, "%s: %s", word(k, "name"), word(k, "form"));
	if (strcmp(word(k, "reason"), "NONE") != 0)
		fprintf(to, ", %s", word(k, "reason_words"));
	if (strcmp(word(k, "form"), "as is") == 0 && *word(k, "guard_words"))
		fprintf(to, ", and its code %s", word(k, "guard_words"));
	if (*word(k, "from"))
		fprintf(to, ", from its %s", word(k, "from"));
	put_archs(to, k, "ptx", "PTX");
	put_archs(to, k, "machine_code", "machine code");
	put_archs(to, k, "guards", "guard");
	put_archs(to, k, "shipped", "ships variants:");
	fputc('\n', to);
}

int gs_inspect_print(FILE *to, const json_t *report, int only_as_is)
{
	const json_t *part;
	size_t i;

	json_array_foreach (json_object_get(report, "containers"), i, part)
		if (!only_as_is)
			put_container(to, i, part);
	json_array_foreach (json_object_get(report, "kernels"), i, part)
		if (!only_as_is || strcmp(word(part, "form"), "as is") == 0)
			put_kernel(to, part);
	fprintf(to, "%s: %lld of %lld kernels can leave at a block-task boundary",
		word(report, "file"),
		(long long)(number(report, "kernel_count") - number(report, "as_is")),
		(long long)number(report, "kernel_count"));
	put_error(to, report);
	fputc('\n', to);
	return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
