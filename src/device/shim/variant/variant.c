/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variants of kernels in each context; see variant.h. */
#define _GNU_SOURCE
#include "device/shim/variant/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/shim/memory/local.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/session/session.h"

/* How much longer than the kernel as written a variant may take, percent: while another client
 * waits for the GPU, and while none does. */
#define COST_URGENT 150
#define COST_CALM 103
/* No kernel has more parameters: they have at most 32,764 bytes (CUDA 12.1). */
#define PARAMS_MAX 32764

void shim_variant_free(struct shim_variant *v)
{
	if (!v)
		return;
	free(v->params.offset);
	free(v->params.size);
	free(v);
}

void shim_variant_add(struct shim_code *code, struct shim_variant *v)
{
	struct shim_session *s = shim_session_peek();

	v->next = atomic_load(&code->variants);
	while (!atomic_compare_exchange_weak(&code->variants, &v->next, v))
		;
	code->transform = v->transform;
	code->facts.changed = 1;
	if (code->module)
		code->module->whole = 1;
	if (s)
		shim_kernel_tell(s, code);
}

/* ---- variants that the program has brought ------------------------------------------- */

/* The kernel of that name in the same module; NULL: there is none. */
static CUfunction function_beside(const struct shim_kernel *k, const char *name)
{
	const struct shim_module *m = k->code->module;
	CUkernel kernel = NULL;
	CUfunction f = NULL;
	CUresult rc;

	if (m->library) {
		rc = REAL(cuLibraryGetKernel)(&kernel, (CUlibrary)(uintptr_t)m->handle, name);
		if (rc == CUDA_SUCCESS)
			rc = REAL(cuKernelGetFunction)(&f, kernel);
	} else {
		rc = REAL(cuModuleGetFunction)(&f, (CUmodule)(uintptr_t)m->handle, name);
	}
	return rc == CUDA_SUCCESS ? f : NULL;
}

/* Reads the parameters from the driver: the program's, and behind them the transform's. */
static int layout_of(struct shim_layout *to, CUfunction f, enum ptx_transform_kind kind)
{
	size_t offset = 0, size = 0;
	uint32_t n = 0;

	while (n < PARAMS_MAX && REAL(cuFuncGetParamInfo)(f, n, &offset, &size) == CUDA_SUCCESS)
		n++;
	if (!n || size != shim_transform_of(kind)->param_bytes)
		return -1;
	to->offset = calloc(n, sizeof(*to->offset));
	to->size = calloc(n, sizeof(*to->size));
	if (!to->offset || !to->size)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		if (REAL(cuFuncGetParamInfo)(f, i, &offset, &size) != CUDA_SUCCESS)
			return -1;
		to->offset[i] = (uint32_t)offset;
		to->size[i] = (uint32_t)size;
	}
	to->nparam = n - 1;
	to->ctl_offset = to->offset[n - 1];
	return 0;
}

static int adopt(struct shim_kernel *k, struct shim_context *c, enum ptx_transform_kind kind)
{
	CUfunction f = NULL;
	struct shim_variant *v;
	char *name; /* C++ templates give names of several thousand characters */

	if (asprintf(&name, "%s%s", k->code->name, ptx_transform_suffix(kind)) < 0)
		return 0;
	f = function_beside(k, name);
	free(name);
	v = f ? calloc(1, sizeof(*v)) : NULL;
	if (!v)
		return 0;
	v->ctx = c;
	v->f = f;
	v->transform = kind;
	v->made_of = GS_MADE_OF_PROGRAM;
	/* Machine code does not tell whether it needs whole warps, so assume that it does. */
	v->whole_warps = kind == PTX_TRANSFORM_PERSISTENT;
	v->local_bytes = shim_local_bytes(f);
	if (layout_of(&v->params, f, kind) < 0) {
		shim_variant_free(v);
		return 0;
	}
	shim_variant_take_settings(k, v);
	shim_variant_add(k->code, v);
	return 1;
}

void shim_variant_adopt(struct shim_kernel *k, struct shim_context *c)
{
	if (k->code->module && !adopt(k, c, PTX_TRANSFORM_PERSISTENT))
		adopt(k, c, PTX_TRANSFORM_GUARDED);
}

/* ---- what the program sets on a kernel ------------------------------------------------ */

/* The attributes that may differ from those of a new function; the largest value is the one that
 * counts. */
static const CUfunction_attribute settings[] = {
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
	CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
};

/* For a library's kernel the program may have set it on the kernel or on its function. */
static int value_of(const struct shim_kernel *k, CUfunction_attribute attribute, CUdevice device)
{
	int of_function = -1, of_kernel = -1;

	if (REAL(cuFuncGetAttribute)(&of_function, attribute, k->direct) != CUDA_SUCCESS)
		of_function = -1;
	if (k->library &&
	    REAL(cuKernelGetAttribute)(&of_kernel, attribute, (CUkernel)(uintptr_t)k->original,
				       device) != CUDA_SUCCESS)
		of_kernel = -1;
	return of_kernel > of_function ? of_kernel : of_function;
}

void shim_variant_take_settings(const struct shim_kernel *k, const struct shim_variant *v)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int value = value_of(k, settings[i], v->ctx->device), is = -1;

		if (REAL(cuFuncGetAttribute)(&is, settings[i], v->f) == CUDA_SUCCESS && value > is)
			REAL(cuFuncSetAttribute)(v->f, settings[i], value);
	}
	if (k->code->cache_config)
		REAL(cuFuncSetCacheConfig)(v->f, (CUfunc_cache)k->code->cache_config);
}

/* Calls `call` in the variant's context, since each context knows only its own functions. */
static void in_its_context(struct shim_variant *v, void (*call)(struct shim_variant *v, void *user),
			   void *user)
{
	CUcontext popped;

	if (!shim_context_use(v->ctx))
		return;
	if (REAL(cuCtxPushCurrent_v2)(v->ctx->ctx) == CUDA_SUCCESS) {
		call(v, user);
		REAL(cuCtxPopCurrent_v2)(&popped);
	}
	shim_context_unuse(v->ctx);
}

struct setting {
	CUfunction_attribute attribute;
	int value;
};

static void set(struct shim_variant *v, void *user)
{
	const struct setting *to = user;

	REAL(cuFuncSetAttribute)(v->f, to->attribute, to->value);
}

void shim_variants_set(const struct shim_code *code, CUfunction_attribute attribute, int value)
{
	struct setting to = { attribute, value };

	for (struct shim_variant *v = atomic_load(&code->variants); v; v = v->next)
		in_its_context(v, set, &to);
}

static void set_cache(struct shim_variant *v, void *user)
{
	REAL(cuFuncSetCacheConfig)(v->f, *(const CUfunc_cache *)user);
}

void shim_variants_set_cache(struct shim_code *code, CUfunc_cache config)
{
	code->cache_config = (int)config;
	for (struct shim_variant *v = atomic_load(&code->variants); v; v = v->next)
		in_its_context(v, set_cache, &config);
}

static void unload(struct shim_variant *v, void *unused)
{
	(void)unused;
	REAL(cuModuleUnload)(v->module);
}

/* The variants of unloaded modules. Their records stay, since launches that have ended may still be
 * inspected. */
static _Atomic(struct shim_variant *) unloaded;

static void keep_record(struct shim_variant *v)
{
	v->unloaded = atomic_load(&unloaded);
	while (!atomic_compare_exchange_weak(&unloaded, &v->unloaded, v))
		;
}

static void drop(struct shim_kernel *k, void *module)
{
	const struct shim_module *m = k->code->module;
	struct shim_variant *v =
		m && m->handle == module ? atomic_exchange(&k->code->variants, NULL) : NULL;

	for (; v; v = v->next) {
		if (v->module)
			in_its_context(v, unload, NULL);
		keep_record(v);
	}
}

void shim_variants_unloaded(const void *module)
{
	shim_kernels_each(drop, (void *)(uintptr_t)module);
}

static void drop_ending(struct shim_kernel *k, void *ctx)
{
	const struct shim_module *m = k->code->module;

	if (m && m->ending && m->ctx == ctx)
		drop(k, (void *)(uintptr_t)m->handle);
}

void shim_variants_ending(CUcontext ctx)
{
	shim_kernels_each(drop_ending, ctx);
}

/* ---- what they cost ------------------------------------------------------------------ */

/* At least so many launches each way count. */
#define COMPARED_LEAST 4
/* After so many launches in a row with other block dimensions the comparison is of those. A program
 * that launches a kernel with several in turn has it compared with one of them. */
#define OTHERS_MOST 3

int shim_variant_is_compared(const struct shim_variant *v)
{
	return v->cost.writtens >= COMPARED_LEAST && v->cost.variants >= COMPARED_LEAST;
}

/*
 * The turns: variant, written, written, variant, and again. A program often launches a kernel in
 * pairs whose two launches differ: PyTorch reduces 4 GiB by two launches, of which the first finds
 * the GPU idle and the second is queued behind it. If every second launch went out as written, the
 * comparison would be of the first ones with the second ones.
 */
static int goes_as_written(uint32_t launches)
{
	return (launches + 1) / 2 % 2 != 0;
}

int shim_variant_is_being_compared(const struct shim_variant *v, uint32_t dims)
{
	/* Launches with other dimensions that came in between would upset the turns. */
	return (!v->cost.dims || v->cost.dims == dims) && !shim_variant_is_compared(v) &&
	       v->cost.launches < SHIM_COMPARED;
}

int shim_variant_compares(struct shim_variant *v, uint32_t dims)
{
	return shim_variant_is_being_compared(v, dims) && goes_as_written(v->cost.launches++);
}

void shim_variant_timed(struct shim_code *code, const struct shim_context *c, int as_written,
			uint32_t dims, uint64_t ps)
{
	struct shim_variant *v = shim_variant_in(code, c);
	_Atomic uint64_t *least;

	if (!v || !ps || shim_variant_is_compared(v))
		return;
	if (v->cost.dims != dims) {
		if (v->cost.dims && ++v->cost.others <= OTHERS_MOST)
			return;
		v->cost.written_ps = v->cost.variant_ps = 0;
		v->cost.writtens = v->cost.variants = 0;
		v->cost.dims = dims;
	}
	v->cost.others = 0;
	least = as_written ? &v->cost.written_ps : &v->cost.variant_ps;
	if (!*least || ps < *least)
		*least = ps;
	++*(as_written ? &v->cost.writtens : &v->cost.variants);
	code->facts.changed = 1;
}

int shim_variant_pays(const struct shim_variant *v, int urgent)
{
	uint64_t written = v->cost.written_ps, variant = v->cost.variant_ps;

	return !shim_variant_is_compared(v) ||
	       variant * 100 <= written * (urgent ? COST_URGENT : COST_CALM);
}
