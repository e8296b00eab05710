/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: any bytes as PTX, parsed, and transformed to every form at once
 * and to one alone.  What was transformed must parse again with the variants that
 * the report promises, a second transformation must change nothing, and where there is no variant
 * the text is as it was.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/ast.h"
#include "device/ptx/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *why, const char *detail)
{
	fprintf(stderr, "%s: %s\n", why, detail);
	abort();
}

static int has_entry(const struct ptx_module *m, const char *kernel, const char *suffix)
{
	char *name;
	int found = 0;

	if (asprintf(&name, "%s%s", kernel, suffix) < 0)
		abort();
	for (uint32_t i = 0; i < m->nfunc && !found; i++)
		found = m->func[i].is_entry && ptx_is(m->func[i].name, name);
	free(name);
	return found;
}

/* Original and variants are there; a reason is given for each form that is not. */
static void check_report(const struct ptx_transformed *t, uint32_t asked, int every)
{
	struct gs_error err = { "" };
	struct ptx_module *m = ptx_parse(t->text, t->len, &err);

	if (!m)
		die("the transformed text does not parse", err.text);
	for (uint32_t i = 0; i < t->nkernel && i < 64; i++) {
		const struct ptx_kernel *k = &t->kernel[i];

		if (!has_entry(m, k->name, ""))
			die("the original is gone", k->name);
		if ((k->transform == PTX_TRANSFORM_AS_IS) != (k->transforms == 0))
			die("form and forms differ", k->name);
		for (unsigned f = PTX_TRANSFORM_AS_IS + 1; f < PTX_TRANSFORM_COUNT; f++) {
			if (k->transforms & PTX_TRANSFORM_BIT(f) &&
			    !has_entry(m, k->name,
				       ptx_transform_suffix((enum ptx_transform_kind)f)))
				die("a variant is missing", k->name);
			if (every && asked & PTX_TRANSFORM_BIT(f) &&
			    !(k->transforms & PTX_TRANSFORM_BIT(f)) !=
				    (k->why_not[f].reason != PTX_REASON_NONE))
				die("no variant without a reason", k->name);
		}
	}
	ptx_module_free(m);
}

static int has_variants(const struct ptx_transformed *t)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < t->nkernel; i++)
		all |= t->kernel[i].transforms;
	return all != 0;
}

static void transformed(const char *text, size_t len, uint32_t transforms, int every)
{
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform_only(text, len, transforms, every, &err), *again;

	if (!t) {
		if (strncmp(err.text, "line ", 5) != 0)
			die("no line in the reason", err.text);
		return;
	}
	if (strlen(t->text) != t->len)
		die("the text's length is wrong", "");
	check_report(t, transforms, every);
	if (!has_variants(t) &&
	    (t->len != strnlen(text, len) || memcmp(t->text, text, t->len) != 0))
		die("a text without a variant is changed", "");
	again = ptx_transform_only(t->text, t->len, transforms, every, &err);
	if (!again)
		die("the transformed text does not parse", err.text);
	if (again->len != t->len || memcmp(again->text, t->text, t->len) != 0)
		die("a second transformation changes the text", "");
	ptx_transformed_free(again);
	ptx_transformed_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned one = PTX_TRANSFORM_AS_IS + 1 + (unsigned)(size % (PTX_TRANSFORM_COUNT - 1));

	/* exactly what came: reading past it is caught */
	transformed((const char *)data, size, PTX_TRANSFORMS_ALL | PTX_TRANSFORMS_SYNC_AWARE, 1);
	transformed((const char *)data, size, PTX_TRANSFORM_BIT(one), 0);
	return 0;
}
