/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See ptx_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx_rig.h"

struct ptx_transformed *ptx_transformed_of(const char *text)
{
	struct gs_error err = { "" };
	struct ptx_transformed *t = ptx_transform(text, strlen(text), &err);

	if (!t)
		print_error("%s\n", err.text);
	assert_non_null(t);
	return t;
}

/* The best form that a reason leaves. */
static enum ptx_transform_kind best_form(enum ptx_reason reason)
{
	static const uint8_t best[] = {
#define PTX_REASON(name, words, transform) PTX_TRANSFORM_##transform,
#include "common/reasons.def"
#undef PTX_REASON
	};

	return (enum ptx_transform_kind)best[reason];
}

int ptx_has_variant(const struct ptx_transformed *t, int transform)
{
	char head[40];

	sprintf(head, "%s(", ptx_transform_suffix((enum ptx_transform_kind)transform));
	return strstr(t->text, head) != NULL;
}

void expect_reason_of(const char *head, const char *body, enum ptx_reason reason, uint32_t line)
{
	char *text = NULL;
	struct ptx_transformed *t;
	const struct ptx_kernel *k;

	assert_true(asprintf(&text, "%s%s", head, body) > 0);
	for (const char *c = head; line && *c; c++)
		line += *c == '\n';
	t = ptx_transformed_of(text);
	assert_true(t->nkernel > 0);
	k = &t->kernel[t->nkernel - 1];
	if (k->reason != reason || (line && k->reason_line != line))
		print_error("%s (line %u) for: %s\n", ptx_reason_name(k->reason), k->reason_line,
			    body);
	assert_int_equal(k->reason, reason);
	assert_int_equal(k->transform, best_form(reason));
	assert_int_equal(k->transforms,
			 k->transform == PTX_TRANSFORM_AS_IS ? 0 : PTX_TRANSFORM_BIT(k->transform));
	for (int f = PTX_TRANSFORM_PERSISTENT; f < PTX_TRANSFORM_COUNT; f++)
		assert_int_equal(ptx_has_variant(t, f), f == (int)k->transform);
	if (line)
		assert_int_equal(k->reason_line, line);
	ptx_transformed_free(t);
	free(text);
}

void expect_reason(const char *body, enum ptx_reason reason, uint32_t line)
{
	expect_reason_of(PTX_HEAD, body, reason, line);
}

struct ptx_kernel ptx_kernel_of(const char *head, const char *body, uint32_t transforms)
{
	struct gs_error err = { "" };
	char *text = NULL;
	struct ptx_transformed *t;
	struct ptx_kernel k;

	assert_true(asprintf(&text, "%s%s", head, body) > 0);
	t = ptx_transform_only(text, strlen(text), transforms, 0, &err);
	assert_non_null(t);
	assert_int_equal(t->nkernel, 1);
	k = t->kernel[0];
	ptx_transformed_free(t);
	free(text);
	return k;
}

struct ptx_kernel ptx_only_kernel(const char *head, const char *body)
{
	return ptx_kernel_of(head, body, PTX_TRANSFORMS_ALL);
}
