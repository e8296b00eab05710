/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module with its twins, and the report on every kernel; see transform.h. */
#define _GNU_SOURCE
#include "device/ptx/transform.h"
#include "device/ptx/twin.h"

#include <stdlib.h>
#include <string.h>

const char *ptx_form_name(enum ptx_form form)
{
	static const char *const names[PTX_FORM_COUNT] = {
		[PTX_FORM_AS_IS] = "as is", [PTX_FORM_PERSISTENT] = "persistent",
	};

	return (unsigned)form < PTX_FORM_COUNT ? names[form] : "unknown";
}

const char *ptx_reason_words(enum ptx_reason reason)
{
	static const char *const words[PTX_REASON_COUNT] = {
#define PTX_REASON(name, text) [PTX_REASON_##name] = text,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	};

	return (unsigned)reason < PTX_REASON_COUNT ? words[reason] : "unknown";
}

const char *ptx_reason_name(enum ptx_reason reason)
{
	static const char *const names[PTX_REASON_COUNT] = {
#define PTX_REASON(name, text) [PTX_REASON_##name] = #name,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	};

	return (unsigned)reason < PTX_REASON_COUNT ? names[reason] : "unknown";
}

static int ends_in(struct ptx_slice s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.len > n && memcmp(s.s + s.len - n, suffix, n) == 0;
}

static int report_params(struct ptx_kernel *k, const struct ptx_func *f)
{
	k->nparam = f->nparam;
	if (!f->nparam)
		return 0;
	k->param_offset = malloc(f->nparam * sizeof(*k->param_offset));
	k->param_size = malloc(f->nparam * sizeof(*k->param_size));
	if (!k->param_offset || !k->param_size)
		return -1;
	ptx_param_layout(f, k->param_offset);
	for (uint32_t i = 0; i < f->nparam; i++) {
		uint64_t size = ptx_var_size(&f->param[i]);

		k->param_size[i] = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	}
	return 0;
}

static int report(struct ptx_kernel *k, const struct ptx_analysis *a, uint32_t func,
		  const struct ptx_plan *plan)
{
	const struct ptx_func *f = &a->module->func[func];

	memset(k, 0, sizeof(*k));
	k->name = strndup(f->name.s, f->name.len);
	if (!k->name)
		return -1;
	k->form = plan->reason == PTX_REASON_NONE ? PTX_FORM_PERSISTENT : PTX_FORM_AS_IS;
	k->reason = plan->reason;
	k->reason_line = plan->reason_line;
	k->ctl_offset = plan->ctl_offset;
	k->static_shared = plan->static_shared;
	k->uses_barrier = (a->func[func].facts & PTX_FACT_BARRIER) != 0;
	k->sync_aware = plan->sync_aware && plan->reason == PTX_REASON_NONE;
	k->whole_warps = plan->whole_warps;
	return report_params(k, f);
}

/* Is the twin there already, from a transformation at build time? */
static int has_twin(const struct ptx_analysis *a, struct ptx_slice name)
{
	char *twin = malloc(name.len + sizeof(PTX_PERSISTENT_SUFFIX));
	struct ptx_slice s = { twin, name.len + (uint32_t)sizeof(PTX_PERSISTENT_SUFFIX) - 1 };
	int found;

	if (!twin)
		return 0;
	memcpy(twin, name.s, name.len);
	memcpy(twin + name.len, PTX_PERSISTENT_SUFFIX, sizeof(PTX_PERSISTENT_SUFFIX));
	found = ptx_symtab_get(&a->names, s) != PTX_SYM_NONE;
	free(twin);
	return found;
}

static int transform_entries(struct ptx_transformed *t, struct ptx_out *out, const struct ptx_analysis *a)
{
	const struct ptx_module *m = a->module;
	uint32_t at = 0;

	ptx_out_reserve(out, (size_t)m->len * 2 + m->len / 2);
	t->kernel = calloc(m->nfunc + 1, sizeof(*t->kernel));
	if (!t->kernel)
		return -1;
	for (uint32_t i = 0; i < m->nfunc; i++) {
		const struct ptx_func *f = &m->func[i];
		struct ptx_plan plan;

		if (!f->is_entry || f->is_decl || ends_in(f->name, PTX_PERSISTENT_SUFFIX))
			continue;
		ptx_plan_entry(&plan, a, i);
		t->nkernel++;
		if (report(&t->kernel[t->nkernel - 1], a, i, &plan) < 0)
			return -1;
		if (plan.reason != PTX_REASON_NONE || has_twin(a, f->name))
			continue;
		ptx_out_put(out, m->text + at, f->span.end - at);
		at = f->span.end;
		ptx_out_str(out, "\n\n");
		ptx_twin_persistent(out, a, i, &plan);
	}
	ptx_out_put(out, m->text + at, m->len - at);
	ptx_out_put(out, "", 1); /* some text even if the module had none */
	return out->failed ? -1 : 0;
}

struct ptx_transformed *ptx_transform(const char *text, size_t len, struct gs_error *err)
{
	struct ptx_module *module = ptx_parse(text, len, err);
	struct ptx_transformed *t;
	struct ptx_analysis a = { 0 };
	struct ptx_out out = { 0 };
	int rc = -1;

	if (!module)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t && ptx_analyse(&a, module) == 0)
		rc = transform_entries(t, &out, &a);
	if (t) {
		t->text = out.text;
		t->len = out.len ? out.len - 1 : 0;
	}
	if (rc < 0) {
		gs_fail(err, "line 1: no memory");
		ptx_transformed_free(t);
		t = NULL;
	}
	if (a.module)
		ptx_analysis_free(&a);
	ptx_module_free(module);
	return t;
}

void ptx_transformed_free(struct ptx_transformed *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nkernel; i++) {
		free(t->kernel[i].name);
		free(t->kernel[i].param_offset);
		free(t->kernel[i].param_size);
	}
	free(t->kernel);
	free(t->text);
	free(t);
}
