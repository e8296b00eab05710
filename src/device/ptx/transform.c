/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module with its variants, and the report on every kernel; see transform.h. */
#define _GNU_SOURCE
#include "device/ptx/transform.h"
#include "device/ptx/variant.h"

#include <stdlib.h>
#include <string.h>

const char *ptx_transform_name(enum ptx_transform_kind transform)
{
	static const char *const names[PTX_TRANSFORM_COUNT] = {
		[PTX_TRANSFORM_AS_IS] = "as is",
		[PTX_TRANSFORM_PERSISTENT] = "persistent",
		[PTX_TRANSFORM_GUARDED] = "guarded",
		[PTX_TRANSFORM_SLICED] = "sliced",
	};

	return (unsigned)transform < PTX_TRANSFORM_COUNT ? names[transform] : "unknown";
}

const char *ptx_transform_suffix(enum ptx_transform_kind transform)
{
	static const char *const suffixes[PTX_TRANSFORM_COUNT] = {
		[PTX_TRANSFORM_AS_IS] = "",
		[PTX_TRANSFORM_PERSISTENT] = PTX_PERSISTENT_SUFFIX,
		[PTX_TRANSFORM_GUARDED] = PTX_GUARDED_SUFFIX,
		[PTX_TRANSFORM_SLICED] = PTX_SLICED_SUFFIX,
	};

	return (unsigned)transform < PTX_TRANSFORM_COUNT ? suffixes[transform] : "";
}

const char *ptx_reason_words(enum ptx_reason reason)
{
	static const char *const words[PTX_REASON_COUNT] = {
#define PTX_REASON(name, text, best) [PTX_REASON_##name] = text,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	};

	return (unsigned)reason < PTX_REASON_COUNT ? words[reason] : "unknown";
}

const char *ptx_reason_name(enum ptx_reason reason)
{
	static const char *const names[PTX_REASON_COUNT] = {
#define PTX_REASON(name, text, best) [PTX_REASON_##name] = #name,
#include "device/ptx/reasons.def"
#undef PTX_REASON
	};

	return (unsigned)reason < PTX_REASON_COUNT ? names[reason] : "unknown";
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

static const struct {
	enum ptx_transform_kind transform;
	void (*put)(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
		    const struct ptx_plan *plan);
} makers[] = {
	/* best first */
	{ PTX_TRANSFORM_PERSISTENT, ptx_variant_persistent },
	{ PTX_TRANSFORM_GUARDED, ptx_variant_guarded },
	{ PTX_TRANSFORM_SLICED, ptx_variant_sliced },
};

#define NMAKER (sizeof(makers) / sizeof(makers[0]))

/* A transformation under way. */
struct work {
	struct ptx_transformed *t;
	struct ptx_out out;
	struct ptx_analysis a;
	uint32_t transforms; /* asked for */
	int every;
	struct {
		struct ptx_plan plan[NMAKER];
	} * planned;    /* by kernel of t */
	uint8_t *clone; /* by function: variants call its clone */
	uint32_t at;    /* the module's text up to here is written */
};

/* Was the entry made by a transformation, now or at build time? */
static int is_made(struct ptx_slice name)
{
	for (size_t i = 0; i < NMAKER; i++) {
		const char *suffix = ptx_transform_suffix(makers[i].transform);
		size_t n = strlen(suffix);

		if (name.len > n && memcmp(name.s + name.len - n, suffix, n) == 0)
			return 1;
	}
	return 0;
}

static int has_name(const struct ptx_analysis *a, struct ptx_slice name, const char *suffix)
{
	size_t n = strlen(suffix);
	char *whole = malloc(name.len + n);
	struct ptx_slice s = { whole, name.len + (uint32_t)n };
	int found;

	if (!whole)
		return 0;
	memcpy(whole, name.s, name.len);
	memcpy(whole + name.len, suffix, n);
	found = ptx_symtab_get(&a->names, s) != PTX_SYM_NONE;
	free(whole);
	return found;
}

static int report(struct ptx_kernel *k, const struct ptx_analysis *a, uint32_t func,
		  const struct ptx_plan *plan)
{
	const struct ptx_func *f = &a->module->func[func];

	memset(k, 0, sizeof(*k));
	k->name = strndup(f->name.s, f->name.len);
	if (!k->name)
		return -1;
	for (size_t i = 0; i < NMAKER; i++)
		k->why_not[makers[i].transform] = plan[i].why_not;
	k->ctl_offset = plan->ctl_offset;
	k->static_shared = plan->static_shared;
	k->max_threads = f->reqntid[0] ? f->reqntid[0] * f->reqntid[1] * f->reqntid[2] :
					 f->maxntid[0] * f->maxntid[1] * f->maxntid[2];
	k->uses_barrier = (a->func[func].facts & PTX_FACT_BARRIER) != 0;
	k->sync_aware = plan->sync_aware && plan->why_not.reason == PTX_REASON_NONE;
	k->whole_warps = plan->whole_warps;
	return report_params(k, f);
}

/*
 * The best form asked for that is admissible, and why not the one before it.
 * A persistent variant that is not for all shapes of blocks gets another beside it.
 */
static void choose(const struct work *w, struct ptx_kernel *k)
{
	for (size_t i = 0; i < NMAKER; i++) {
		enum ptx_transform_kind transform = makers[i].transform;

		if (!(w->transforms & PTX_TRANSFORM_BIT(transform)))
			continue;
		if (k->why_not[transform].reason != PTX_REASON_NONE) {
			if (!k->transforms) {
				k->reason = k->why_not[transform].reason;
				k->reason_line = k->why_not[transform].line;
			}
			continue;
		}
		if (!k->transforms)
			k->transform = transform;
		k->transforms |= PTX_TRANSFORM_BIT(transform);
		if (w->a.alone ||
		    (!w->every && !(transform == PTX_TRANSFORM_PERSISTENT && k->whole_warps)))
			break;
	}
}

/* Of what the function calls by name, that which needs the index; new ones go to list[n...]. */
static uint32_t mark_callees(struct work *w, uint32_t func, uint32_t *list, uint32_t n)
{
	const struct ptx_facts *f = &w->a.func[func];

	for (uint32_t i = 0; i < f->ncallee; i++) {
		uint32_t callee = f->callee[i];

		if (!w->a.func[callee].index || w->clone[callee])
			continue;
		w->clone[callee] = 1;
		list[n++] = callee;
	}
	return n;
}

/* What the entry's variants and those clones call.  A list, not recursion: a module may nest calls
 * very deeply. */
static int mark_clones(struct work *w, uint32_t func)
{
	uint32_t *list, n;

	if (!w->a.func[func].index || !w->a.func[func].ncallee)
		return 0;
	list = malloc((w->a.module->nfunc + 1) * sizeof(*list));
	if (!list)
		return -1;
	n = mark_callees(w, func, list, 0);
	for (uint32_t i = 0; i < n; i++)
		n = mark_callees(w, list[i], list, n);
	free(list);
	return 0;
}

static int plan_entries(struct work *w)
{
	const struct ptx_module *m = w->a.module;

	w->t->kernel = calloc(m->nfunc + 1, sizeof(*w->t->kernel));
	w->planned = malloc((m->nfunc + 1) * sizeof(*w->planned));
	w->clone = calloc(m->nfunc + 1, 1);
	if (!w->t->kernel || !w->planned || !w->clone)
		return -1;
	for (uint32_t i = 0; i < m->nfunc; i++) {
		const struct ptx_func *f = &m->func[i];
		struct ptx_kernel *k = &w->t->kernel[w->t->nkernel];
		struct ptx_plan *plan = w->planned[w->t->nkernel].plan;

		if (!f->is_entry || f->is_decl || is_made(f->name))
			continue;
		for (size_t p = 0; p < NMAKER; p++)
			ptx_plan_entry(&plan[p], &w->a, i, makers[p].transform);
		w->t->nkernel++;
		if (report(k, &w->a, i, plan) < 0)
			return -1;
		choose(w, k);
		/* A guarded variant has the original's index, in its functions, too. */
		if (k->transforms & ~PTX_TRANSFORM_BIT(PTX_TRANSFORM_GUARDED) &&
		    mark_clones(w, i) < 0)
			return -1;
	}
	return 0;
}

/* The text up to behind the function, and room for what is added there. */
static void copy_behind(struct work *w, const struct ptx_func *f)
{
	ptx_out_put(&w->out, w->a.module->text + w->at, f->span.end - w->at);
	w->at = f->span.end;
	ptx_out_str(&w->out, "\n\n");
}

/* The text up to the function, which the variant replaces. */
static void copy_before(struct work *w, const struct ptx_func *f)
{
	ptx_out_put(&w->out, w->a.module->text + w->at, f->span.begin - w->at);
	w->at = f->span.end;
}

static void put_variants(struct work *w, uint32_t func, uint32_t kernel)
{
	const struct ptx_func *f = &w->a.module->func[func];

	for (size_t i = 0; i < NMAKER; i++) {
		enum ptx_transform_kind transform = makers[i].transform;

		if (!(w->t->kernel[kernel].transforms & PTX_TRANSFORM_BIT(transform)) ||
		    has_name(&w->a, f->name, ptx_transform_suffix(transform)))
			continue;
		if (w->a.alone)
			copy_before(w, f);
		else
			copy_behind(w, f);
		makers[i].put(&w->out, &w->a, func, &w->planned[kernel].plan[i]);
	}
}

/* A clone stands behind each declaration and behind the definition of its function. */
static void put_clone(struct work *w, uint32_t func)
{
	const struct ptx_func *f = &w->a.module->func[func];
	uint32_t id = ptx_symtab_get(&w->a.names, f->name);
	uint32_t body = id < w->a.nbody ? w->a.body[id] : PTX_SYM_NONE;

	/* Of a function with two bodies, which ptxas refuses, one has been looked at. */
	if (body == PTX_SYM_NONE || (!f->is_decl && body != func) || !w->clone[body] ||
	    has_name(&w->a, f->name, PTX_CLONE_SUFFIX))
		return;
	copy_behind(w, f);
	ptx_put_clone(&w->out, &w->a, func, w->a.func[body].index);
}

static int transform_entries(struct work *w)
{
	const struct ptx_module *m = w->a.module;
	uint32_t kernel = 0;

	ptx_out_reserve(&w->out, (size_t)m->len * 2 + m->len / 2);
	if (plan_entries(w) < 0)
		return -1;
	for (uint32_t i = 0; i < m->nfunc; i++) {
		const struct ptx_func *f = &m->func[i];

		if (!f->is_entry)
			put_clone(w, i);
		else if (!f->is_decl && !is_made(f->name))
			put_variants(w, i, kernel++);
	}
	ptx_out_put(&w->out, m->text + w->at, m->len - w->at);
	ptx_out_put(&w->out, "", 1); /* some text even if the module had none */
	return w->out.failed ? -1 : 0;
}

/* FNV-1a, eight bytes at a time: texts are large, and nobody gains by a collision but a wrong
 * guess. */
uint64_t ptx_content(const char *text, size_t len)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ len, word;

	for (; len >= sizeof(word); text += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = (h ^ word) * UINT64_C(1099511628211);
		h ^= h >> 29;
	}
	for (; len; text++, len--)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return h ? h : 1;
}

struct ptx_transformed *ptx_transform_only(const char *text, size_t len, uint32_t transforms,
					   int every, struct gs_error *err)
{
	struct ptx_module *module = ptx_parse(text, len, err);
	struct work w = { .transforms = transforms, .every = every };
	int rc = -1;

	if (!module)
		return NULL;
	w.t = calloc(1, sizeof(*w.t));
	if (w.t && ptx_analyse(&w.a, module) == 0) {
		w.a.sync_aware = (transforms & PTX_TRANSFORMS_SYNC_AWARE) != 0;
		w.a.alone = (transforms & PTX_TRANSFORMS_ALONE) != 0;
		rc = transform_entries(&w);
	}
	if (w.t) {
		w.t->content = ptx_content(text, len);
		w.t->text = w.out.text;
		w.t->len = w.out.len ? w.out.len - 1 : 0;
	}
	if (rc < 0) {
		gs_fail(err, "line 1: no memory");
		ptx_transformed_free(w.t);
		w.t = NULL;
	}
	free(w.planned);
	free(w.clone);
	if (w.a.module)
		ptx_analysis_free(&w.a);
	ptx_module_free(module);
	return w.t;
}

struct ptx_transformed *ptx_transform(const char *text, size_t len, struct gs_error *err)
{
	return ptx_transform_only(text, len, PTX_TRANSFORMS_ALL, 0, err);
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
