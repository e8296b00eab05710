/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules: PTX parsed, its variables placed in device memory, its kernels decoded when first used.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

static char *slice_dup(struct ptx_slice s)
{
	return strndup(s.s, s.len);
}

struct emu_variable *emu_module_variable(struct CUmod_st *m, const char *name)
{
	for (uint32_t i = 0; i < m->nvariable; i++)
		if (strcmp(m->variable[i].name, name) == 0)
			return &m->variable[i];
	return NULL;
}

struct CUfunc_st *emu_module_function(struct CUmod_st *m, const char *name)
{
	for (uint32_t i = 0; i < m->nfunction; i++)
		if (strcmp(m->function[i]->name, name) == 0)
			return m->function[i];
	return NULL;
}

static int find_variable(void *user, struct ptx_slice name, enum ptx_space *space,
			 uint64_t *address)
{
	struct CUmod_st *m = user;

	for (uint32_t i = 0; i < m->nvariable; i++) {
		if (!ptx_is(name, m->variable[i].name))
			continue;
		*space = m->variable[i].var->space;
		*address = m->variable[i].address;
		return 0;
	}
	return -1;
}

static int wanted(const struct ptx_var *v)
{
	return (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST) && ptx_var_size(v) &&
	       v->linkage != PTX_LINK_EXTERN;
}

static CUresult place_variables(struct CUmod_st *m)
{
	m->variable = calloc(m->ptx->nvar ? m->ptx->nvar : 1, sizeof(*m->variable));
	if (!m->variable)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < m->ptx->nvar; i++) {
		const struct ptx_var *v = &m->ptx->var[i];
		struct emu_variable *x = &m->variable[m->nvariable];

		if (!wanted(v))
			continue;
		x->var = v;
		x->size = ptx_var_size(v);
		x->name = slice_dup(v->name);
		if (!x->name)
			return CUDA_ERROR_OUT_OF_MEMORY;
		m->nvariable++;
		EMU_TRY(emu_alloc(m->ctx, &x->address, x->size, EMU_MEM_MODULE, 0));
		if (v->init)
			memcpy((void *)(uintptr_t)x->address, v->init,
			       v->init_len < x->size ? v->init_len : x->size);
	}
	return CUDA_SUCCESS;
}

/* Addresses inside initialisers. */
static CUresult relocate(struct CUmod_st *m, struct gs_error *err)
{
	for (uint32_t i = 0; i < m->nvariable; i++) {
		const struct ptx_var *v = m->variable[i].var;
		uint32_t width = ptx_type_size(v->type);

		for (uint32_t k = 0; k < v->nrelocs; k++) {
			const struct ptx_reloc *r = &v->relocs[k];
			uint64_t value = 0;
			enum ptx_space space;
			int found = !find_variable(m, r->symbol, &space, &value);

			for (uint32_t f = 0; !found && f < m->ptx->nfunc; f++) {
				const struct ptx_func *fn = &m->ptx->func[f];

				if (fn->name.len == r->symbol.len &&
				    !memcmp(fn->name.s, r->symbol.s, r->symbol.len)) {
					value = EMU_FUNC_BASE + f;
					found = !fn->is_decl;
				}
			}
			if (!found || r->offset + width > m->variable[i].size || width > 8) {
				gs_fail(err, "initialiser of %s: unknown symbol %.*s",
					m->variable[i].name, (int)r->symbol.len, r->symbol.s);
				return CUDA_ERROR_INVALID_PTX;
			}
			value += r->addend;
			memcpy((uint8_t *)(uintptr_t)m->variable[i].address + r->offset, &value,
			       width);
		}
	}
	return CUDA_SUCCESS;
}

static CUresult list_functions(struct CUmod_st *m)
{
	m->function = calloc(m->ptx->nfunc ? m->ptx->nfunc : 1, sizeof(*m->function));
	if (!m->function)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < m->ptx->nfunc; i++) {
		struct CUfunc_st *f;

		if (!m->ptx->func[i].is_entry || m->ptx->func[i].is_decl)
			continue;
		f = emu_handle_take(EMU_H_FUNC, sizeof(*f), 0);
		if (!f)
			return CUDA_ERROR_OUT_OF_MEMORY;
		f->module = m;
		f->ast = &m->ptx->func[i];
		f->carveout = -1;
		f->name = slice_dup(f->ast->name);
		pthread_mutex_init(&f->mutex, NULL);
		m->function[m->nfunction++] = f;
		if (!f->name)
			return CUDA_ERROR_OUT_OF_MEMORY;
		f->magic = EMU_MAGIC_FUNC;
	}
	return CUDA_SUCCESS;
}

CUresult emu_module_load(struct CUctx_st *ctx, const char *text, size_t len, struct CUmod_st **out,
			 struct gs_error *err)
{
	struct CUmod_st *m = emu_handle_take(EMU_H_MODULE, sizeof(*m), 0);
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	err->text[0] = '\0';
	if (!m)
		return rc;
	m->ctx = ctx;
	m->text = malloc(len + 1);
	if (!m->text)
		goto fail;
	memcpy(m->text, text, len);
	m->text[len] = '\0';
	m->ptx = ptx_parse(m->text, len, err);
	rc = CUDA_ERROR_INVALID_PTX;
	if (!m->ptx)
		goto fail;
	if (m->ptx->address_size == 32) {
		gs_fail(err, "32-bit addresses");
		goto fail;
	}
	rc = place_variables(m);
	if (rc == CUDA_SUCCESS)
		rc = relocate(m, err);
	if (rc == CUDA_SUCCESS)
		rc = list_functions(m);
	if (rc != CUDA_SUCCESS)
		goto fail;
	m->magic = EMU_MAGIC_MODULE;
	*out = m;
	return CUDA_SUCCESS;
fail:
	emu_module_free(m);
	return rc;
}

void emu_module_free(struct CUmod_st *m)
{
	if (!m)
		return;
	m->magic = EMU_MAGIC_GONE;
	for (uint32_t i = 0; i < m->nvariable; i++) {
		if (m->variable[i].address)
			emu_free(m->ctx, m->variable[i].address, 1u << EMU_MEM_MODULE);
		free(m->variable[i].name);
	}
	for (uint32_t i = 0; i < m->nfunction; i++) {
		struct CUfunc_st *f = m->function[i];

		f->magic = EMU_MAGIC_GONE;
		emu_program_free(f->program);
		pthread_mutex_destroy(&f->mutex);
		free(f->name);
		emu_handle_put(EMU_H_FUNC, f);
	}
	free(m->variable);
	free(m->function);
	ptx_module_free(m->ptx);
	free(m->text);
	emu_handle_put(EMU_H_MODULE, m);
}

CUresult emu_function_prepare(struct CUfunc_st *f, struct gs_error *err)
{
	struct emu_symbols symbols = { f->module, find_variable };
	CUresult rc = CUDA_SUCCESS;
	struct gs_error local;

	err = err ? err : &local;
	err->text[0] = '\0';
	pthread_mutex_lock(&f->mutex);
	if (!f->program)
		f->program = emu_decode(f->module->ptx, f->ast, &symbols, err);
	if (!f->program)
		rc = CUDA_ERROR_INVALID_PTX;
	pthread_mutex_unlock(&f->mutex);
	if (rc != CUDA_SUCCESS)
		emu_log("kernel %s cannot be executed: %s", f->name, err->text);
	return rc;
}
