/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Original against variant, as machine code: may the variant be launched without loss? */
#define _GNU_SOURCE
#include "device/ptx/tool/tool.h"

#define USUAL_THREADS 256u

static uint32_t threads_of(const struct ptx_kernel *k, uint32_t requested)
{
	if (!requested)
		return k->max_threads ? k->max_threads : USUAL_THREADS;
	return k->max_threads && k->max_threads < requested ? k->max_threads : requested;
}

static json_t *compare(const struct ptx_kernel *k, enum ptx_transform_kind transform,
		       const struct tool_codes *codes, uint32_t sm, uint32_t threads)
{
	const struct tool_code *own = tool_code_find(codes, k->name, "");
	const struct tool_code *variant =
		tool_code_find(codes, k->name, ptx_transform_suffix(transform));
	uint32_t before, after;

	if (!own || !variant)
		return NULL;
	before = tool_resident_blocks(own, sm, threads);
	after = tool_resident_blocks(variant, sm, threads);
	return json_pack("{s:s, s:I, s:[I, I], s:[I, I], s:[I, I], s:b}", "form",
			 ptx_transform_name(transform), "threads", (json_int_t)threads, "registers",
			 (json_int_t)own->registers, (json_int_t)variant->registers, "spilled",
			 (json_int_t)own->spilled, (json_int_t)variant->spilled, "blocks",
			 (json_int_t)before, (json_int_t)after, "kept",
			 ptx_variant_costs_blocks(before, after) ||
				 variant->spilled > own->spilled);
}

json_t *tool_variants(const struct ptx_kernel *k, const struct tool_codes *codes, uint32_t sm,
		      uint32_t threads)
{
	json_t *list = json_array();

	for (int f = PTX_TRANSFORM_PERSISTENT; list && f < PTX_TRANSFORM_COUNT; f++)
		if (k->transforms & PTX_TRANSFORM_BIT(f)) {
			json_t *variant = compare(k, (enum ptx_transform_kind)f, codes, sm,
						  threads_of(k, threads));

			if (variant)
				json_array_append_new(list, variant);
		}
	return list;
}

int tool_is_kept(const json_t *variants)
{
	return json_is_true(json_object_get(json_array_get(variants, 0), "kept"));
}

static json_int_t of(const json_t *variant, const char *key, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(variant, key), i));
}

void tool_print_variants(FILE *to, const struct ptx_kernel *k, const json_t *variants)
{
	const json_t *t;
	size_t i;

	json_array_foreach (variants, i, t)
		fprintf(to,
			"%s: %s, registers %lld -> %lld, spilled %lld -> %lld bytes, blocks of %lld threads per SM "
			"%lld -> %lld%s\n",
			k->name, json_string_value(json_object_get(t, "form")),
			(long long)of(t, "registers", 0), (long long)of(t, "registers", 1),
			(long long)of(t, "spilled", 0), (long long)of(t, "spilled", 1),
			(long long)json_integer_value(json_object_get(t, "threads")),
			(long long)of(t, "blocks", 0), (long long)of(t, "blocks", 1),
			json_is_true(json_object_get(t, "kept")) ? ": original kept" : "");
}
