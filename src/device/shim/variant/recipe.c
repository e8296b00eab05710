/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a variant's module from a module's image; see recipe.h. */
#define _GNU_SOURCE
#include "device/shim/variant/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "device/ptx/bind.h"
#include "device/shim/variant/cache.h"
#include "device/shim/base/origin.h"
#include "device/shim/variant/ptxas.h"

/* A kernel's PTX under way. */
struct work {
	const struct shim_recipe *r;
	struct shim_ptx ptx;
	/* the program's module, which has the variables; NULL: it is not loaded here */
	CUmodule module;
	const char *compiler; /* the path of ptxas; NULL: the driver compiles */
	char identity[512];   /* identifies the compiler, for the cache */
};

/* ---- the program's variables ---------------------------------------------------------- */

/* Keeps the module and the context until leave(); returns 0 if one of them is gone. A thread that
 * unloads or destroys one of them waits meanwhile, so nothing is compiled in between. */
static int enter(const struct work *w)
{
	if (!shim_context_use(w->r->ctx))
		return 0;
	if (shim_kernel_use(w->r->kernel)) {
		if (REAL(cuCtxPushCurrent_v2)(w->r->ctx->ctx) == CUDA_SUCCESS)
			return 1;
		shim_kernel_unuse(w->r->kernel);
	}
	shim_context_unuse(w->r->ctx);
	return 0;
}

static void leave(const struct work *w)
{
	CUcontext popped;

	REAL(cuCtxPopCurrent_v2)(&popped);
	shim_kernel_unuse(w->r->kernel);
	shim_context_unuse(w->r->ctx);
}

static void find_module(struct work *w)
{
	const struct shim_module *m = w->r->kernel->code->module;

	if (!m->library)
		w->module = (CUmodule)(uintptr_t)m->handle;
	else if (REAL(cuLibraryGetModule)(&w->module, (CUlibrary)(uintptr_t)m->handle) !=
		 CUDA_SUCCESS)
		w->module = NULL;
}

static uint64_t address_of(const struct work *w, const char *name)
{
	CUdeviceptr address = 0;
	size_t bytes;

	return w->module && REAL(cuModuleGetGlobal_v2)(&address, &bytes, w->module, name) ==
				       CUDA_SUCCESS ?
		       address :
		       0;
}

static int is_same(const char *name, uint64_t address, void *work)
{
	return address_of(work, name) == address;
}

/* ---- the compiler ------------------------------------------------------------------------ */

static void choose_compiler(struct work *w)
{
	struct stat st;
	int version = 0;

	if (shim_emulated()) {
		snprintf(w->identity, sizeof(w->identity), "emulated");
		return;
	}
	w->compiler = shim_ptxas_path();
	if (w->compiler && stat(w->compiler, &st) == 0) {
		snprintf(w->identity, sizeof(w->identity), "%.255s %lld %lld %.200s", w->compiler,
			 (long long)st.st_size, (long long)st.st_mtim.tv_sec,
			 w->ptx.options ? w->ptx.options : "");
		return;
	}
	w->compiler = NULL;
	REAL(cuDriverGetVersion)(&version);
	snprintf(w->identity, sizeof(w->identity), "driver %d", version);
}

static int max_registers(const char *options)
{
	const char *at = options ? strstr(options, "maxrregcount") : NULL;
	int n = 0;

	return at && sscanf(at, "maxrregcount%*[ =]%d", &n) == 1 && n > 0 ? n : 0;
}

/* If ptxas refuses the text, the driver may still accept it, since it may be newer. */
static void compile(const struct work *w, struct ptx_transformed *t)
{
	size_t len = 0;
	void *code = w->compiler ? shim_ptxas(w->compiler, t->text, t->len, w->r->sm,
					      w->ptx.options, w->r->stop, &len) :
				   NULL;

	if (!code)
		return;
	free(t->text);
	t->text = code;
	t->len = len;
}

/* ---- the text ---------------------------------------------------------------------------- */

static enum ptx_reason transform(const char *text, size_t len, struct ptx_transformed **t)
{
	struct gs_error err = { "" };
	enum ptx_reason why = PTX_REASON_NONE;

	*t = ptx_transform_only(text, len, PTX_TRANSFORMS_LAUNCHED | PTX_TRANSFORMS_ALONE, 0, &err);
	if (!*t || (*t)->nkernel != 1)
		why = PTX_REASON_UNREADABLE;
	else if ((*t)->kernel[0].transform == PTX_TRANSFORM_AS_IS)
		why = (*t)->kernel[0].reason;
	if (why == PTX_REASON_NONE)
		return why;
	ptx_transformed_free(*t);
	*t = NULL;
	return why;
}

static enum ptx_reason make_new(struct work *w, const struct shim_cache_key *key,
				struct ptx_transformed **t)
{
	struct gs_error err = { "" };
	struct ptx_bind *b = ptx_bind_open(w->ptx.text, w->ptx.len, key->kernel, &err);
	enum ptx_reason why = PTX_REASON_UNREADABLE;
	struct ptx_need *need;
	char *text = NULL;
	uint32_t n = 0;
	size_t len;

	if (!b) {
		shim_log("kernel %s: its PTX: %s", key->kernel, err.text);
		return why;
	}
	need = ptx_bind_needs(b, &n);
	if (enter(w)) {
		find_module(w);
		for (uint32_t i = 0; i < n; i++)
			need[i].address = address_of(w, need[i].name);
		leave(w);
		text = ptx_bind_text(b, &len, &why);
	}
	if (text)
		why = transform(text, len, t);
	free(text);
	if (why == PTX_REASON_NONE) {
		compile(w, *t);
		shim_cache_put(key, need, n, *t);
	}
	ptx_bind_close(b);
	return why;
}

/* Moves the transformed kernel into *made and frees the rest. */
static void fill(const struct work *w, struct ptx_transformed *t, struct shim_made *made)
{
	struct ptx_kernel *k = &t->kernel[0];

	made->bytes = t->text;
	made->len = t->len;
	made->is_ptx = memcmp(t->text,
			      "\x7f"
			      "ELF",
			      t->len < 4 ? t->len : 4) != 0;
	made->max_registers = max_registers(w->ptx.options);
	made->transform = k->transform;
	made->made_of = GS_MADE_OF_PTX;
	made->params =
		(struct shim_layout) { k->nparam, k->param_offset, k->param_size, k->ctl_offset };
	made->whole_warps = k->whole_warps;
	t->text = NULL;
	k->param_offset = k->param_size = NULL;
	ptx_transformed_free(t);
}

static enum ptx_reason make_from_text(struct work *w, int fresh, struct shim_made *made)
{
	struct shim_cache_key key = { w->ptx.text, w->ptx.len, w->r->kernel->code->name, w->r->sm,
				      w->identity };
	enum ptx_reason why = PTX_REASON_NONE;
	struct ptx_transformed *t = NULL;

	choose_compiler(w);
	if (!fresh && enter(w)) {
		find_module(w);
		t = shim_cache_get(&key, is_same, w);
		leave(w);
	}
	made->from_cache = t != NULL;
	if (!t)
		why = make_new(w, &key, &t);
	if (why == PTX_REASON_NONE)
		fill(w, t, made);
	return why;
}

static enum ptx_reason make_from_ptx(const struct shim_recipe *r, const struct shim_bytes *image,
				     int fresh, struct shim_made *made)
{
	struct work w = { .r = r };
	enum ptx_reason why;

	if (shim_image_ptx(image, r->sm, &w.ptx, &why) == 0)
		why = make_from_text(&w, fresh, made);
	shim_ptx_free(&w.ptx);
	return why;
}

/* ---- PTX, or otherwise machine code ------------------------------------------------------ */

static shim_recipe_other_fn *another;

void shim_recipe_add(shim_recipe_other_fn *other)
{
	another = other;
}

/* Of what lies in a shared library MachineCode=no wants no variants, of its PTX neither: most of
 * these are vendors'. */
static int is_forbidden(const struct shim_image *i)
{
	const struct shim_session *s = shim_session_peek();

	return (!s || s->machine_code == GS_MACHINE_NO) && !i->own && shim_is_in_library(i->at);
}

enum ptx_reason shim_recipe_make(const struct shim_recipe *r, int fresh, struct shim_made *made)
{
	const struct shim_module *m = r->kernel->code->module;
	enum ptx_reason why = PTX_REASON_UNSEEN;
	struct shim_bytes image = { NULL, 0 };

	memset(made, 0, sizeof(*made));
	if (!shim_kernel_use(r->kernel))
		return why;
	if (!m->image.at)
		why = m->image.why;
	else if (is_forbidden(&m->image))
		why = PTX_REASON_LIBRARY;
	else
		image = shim_image_read(&m->image);
	shim_kernel_unuse(r->kernel);
	if (!image.data)
		return why;
	why = make_from_ptx(r, &image, fresh, made);
	if (why != PTX_REASON_NONE && another)
		why = another(r, &image, why, made);
	shim_bytes_drop(&image);
	return why;
}

void shim_made_free(struct shim_made *made)
{
	free(made->bytes);
	free(made->params.offset);
	free(made->params.size);
	memset(made, 0, sizeof(*made));
}
