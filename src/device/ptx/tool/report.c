/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-ptx says about each kernel: as text, as JSON. */
#define _GNU_SOURCE
#include "device/ptx/tool/tool.h"

uint32_t tool_count_as_is(const struct ptx_transformed *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nkernel; i++)
		n += t->kernel[i].transform == PTX_TRANSFORM_AS_IS;
	return n;
}

static void put_kernel(FILE *to, const struct ptx_kernel *k)
{
	fprintf(to, "%s: %s", k->name, ptx_transform_name(k->transform));
	if (k->reason != PTX_REASON_NONE)
		fprintf(to, ", %s", ptx_reason_words(k->reason));
	if (k->reason_line)
		fprintf(to, " (line %u)", k->reason_line);
	fprintf(to, "; parameters %u (%u bytes), static shared memory up to %u bytes%s%s%s%s\n",
		k->nparam,
		k->nparam ? k->param_offset[k->nparam - 1] + k->param_size[k->nparam - 1] : 0,
		k->static_shared, k->uses_barrier ? ", barriers" : "",
		k->sync_aware ? " that threads may miss" : "",
		k->whole_warps ? ", needs rows of whole warps" : "",
		k->transform == PTX_TRANSFORM_SLICED ? "; the shim launches no sliced variants" :
						       "");
}

int tool_report_text(FILE *to, const char *path, const struct ptx_transformed *t)
{
	uint32_t as_is = tool_count_as_is(t);

	for (uint32_t i = 0; i < t->nkernel; i++)
		put_kernel(to, &t->kernel[i]);
	fprintf(to, "%s: %u of %u kernels can leave at a block-task boundary\n", path,
		t->nkernel - as_is, t->nkernel);
	return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

static json_t *json_params(const struct ptx_kernel *k)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < k->nparam; i++)
		json_array_append_new(list, json_pack("{s:I, s:I}", "offset",
						      (json_int_t)k->param_offset[i], "size",
						      (json_int_t)k->param_size[i]));
	return list;
}

/* Each form that the kernel may have, and why it may not have the others. */
static json_t *json_forms(const struct ptx_kernel *k)
{
	json_t *transforms = json_object();

	for (int f = PTX_TRANSFORM_PERSISTENT; transforms && f < PTX_TRANSFORM_COUNT; f++)
		json_object_set_new(transforms, ptx_transform_name((enum ptx_transform_kind)f),
				    json_string(ptx_reason_name(k->why_not[f].reason)));
	return transforms;
}

static json_t *json_kernel(const struct ptx_kernel *k)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:o, s:I, s:I, s:b, s:b, s:b}", "name",
			 k->name, "form", ptx_transform_name(k->transform), "refusals",
			 json_forms(k), "reason", ptx_reason_name(k->reason), "reason_words",
			 ptx_reason_words(k->reason), "line", (json_int_t)k->reason_line,
			 "parameters", json_params(k), "ctl_offset", (json_int_t)k->ctl_offset,
			 "static_shared", (json_int_t)k->static_shared, "uses_barrier",
			 k->uses_barrier, "sync_aware", k->sync_aware, "whole_warps",
			 k->whole_warps);
}

int tool_report_json(FILE *to, const char *path, const struct ptx_transformed *t,
		     json_t *const *variants)
{
	json_t *kernels = json_array(), *all;
	int rc = -1;

	for (uint32_t i = 0; kernels && i < t->nkernel; i++) {
		json_t *k = json_kernel(&t->kernel[i]);

		if (k && variants)
			json_object_set(k, "variants", variants[i]);
		json_array_append_new(kernels, k);
	}
	all = json_pack("{s:s, s:I, s:I, s:o}", "file", path, "kernel_count",
			(json_int_t)t->nkernel, "as_is", (json_int_t)tool_count_as_is(t), "kernels",
			kernels);
	if (all && json_dumpf(all, to, JSON_INDENT(2)) == 0 && fputc('\n', to) != EOF &&
	    fflush(to) == 0)
		rc = 0;
	json_decref(all);
	return rc;
}
