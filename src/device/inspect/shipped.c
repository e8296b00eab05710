/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See shipped.h. */
#define _GNU_SOURCE
#include "device/inspect/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/kind.h"

/* Is there code of it for that architecture, "sm_90" or "sm_90a"? */
static int has_code(const json_t *variant, uint32_t sm)
{
	const json_t *arch;
	char want[16];
	size_t i, n = (size_t)snprintf(want, sizeof(want), "sm_%u", sm);

	json_array_foreach (json_object_get(variant, "machine_code"), i, arch) {
		const char *has = json_string_value(arch);

		if (!sm || (strncmp(has, want, n) == 0 && (has[n] < '0' || has[n] > '9')))
			return 1;
	}
	return 0;
}

static int is_as_is(const json_t *kernel)
{
	const char *transform = json_string_value(json_object_get(kernel, "form"));

	return transform && strcmp(transform, ptx_transform_name(PTX_TRANSFORM_AS_IS)) == 0;
}

static void note(json_t *kernel, const json_t *variant, enum ptx_transform_kind kind, uint32_t sm)
{
	const char *transform = ptx_transform_name(kind);
	json_t *list = json_object_get(kernel, "shipped");

	if (!list) {
		list = json_array();
		json_object_set_new(kernel, "shipped", list);
	}
	json_array_append_new(list, json_string(transform));
	/* The shim launches no sliced variants. */
	if (!is_as_is(kernel) || kind == PTX_TRANSFORM_SLICED || !has_code(variant, sm))
		return;
	json_object_set_new(kernel, "form", json_string(transform));
	json_object_set_new(kernel, "from", json_string("own variant"));
	json_object_set_new(kernel, "reason", json_string(ptx_reason_name(PTX_REASON_NONE)));
	json_object_set_new(kernel, "reason_words", json_string(ptx_reason_words(PTX_REASON_NONE)));
}

/* The best transform first, so that it is the one that counts. */
void shipped_fold(json_t *kernels, uint32_t sm)
{
	for (unsigned kind = PTX_TRANSFORM_PERSISTENT; kind < PTX_TRANSFORM_COUNT; kind++) {
		const char *suffix = ptx_transform_suffix((enum ptx_transform_kind)kind), *name;
		json_t *kernel, *variant;
		void *next;

		json_object_foreach_safe(kernels, next, name, kernel)
		{
			char *made = NULL;

			if (asprintf(&made, "%s%s", name, suffix) < 0)
				return;
			variant = json_object_get(kernels, made);
			if (variant)
				note(kernel, variant, (enum ptx_transform_kind)kind, sm);
			free(made);
		}
	}
	for (unsigned kind = PTX_TRANSFORM_PERSISTENT; kind < PTX_TRANSFORM_COUNT; kind++) {
		const char *suffix = ptx_transform_suffix((enum ptx_transform_kind)kind), *name;
		size_t length = strlen(suffix);
		json_t *kernel;
		void *next;

		json_object_foreach_safe(kernels, next, name, kernel)
		{
			size_t n = strlen(name);
			char *own = n > length && strcmp(name + n - length, suffix) == 0 ?
					    strndup(name, n - length) :
					    NULL;

			if (own && json_object_get(kernels, own))
				json_object_del(kernels, name);
			free(own);
		}
	}
}
