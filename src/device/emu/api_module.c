/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules, libraries, kernels and their attributes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/read_file.h"
#include "device/emu/emu.h"

/* The log options of the just-in-time compiler. */
struct jit {
	char *info, *error;
	size_t info_size, error_size;
	void **info_value, **error_value;
};

static void jit_options(struct jit *j, unsigned int n, CUjit_option *options, void **values)
{
	memset(j, 0, sizeof(*j));
	for (unsigned int i = 0; options && values && i < n; i++) {
		switch (options[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
			j->info = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER:
			j->error = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			j->info_size = (uintptr_t)values[i] & 0xffffffffu;
			j->info_value = &values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			j->error_size = (uintptr_t)values[i] & 0xffffffffu;
			j->error_value = &values[i];
			break;
		default:
			break;
		}
	}
}

static void jit_log(struct jit *j, const char *text)
{
	if (j->info && j->info_size)
		j->info[0] = '\0';
	if (j->info_value)
		*j->info_value = NULL;
	if (j->error && j->error_size)
		snprintf(j->error, j->error_size, "%s", text);
	if (j->error_value)
		*j->error_value = (void *)(uintptr_t)strlen(text);
}

static CUresult load(struct CUctx_st *ctx, const void *image, struct jit *j,
		     struct CUmod_st **module)
{
	struct gs_error err = { "" };
	CUresult rc = emu_image_load(ctx, image, module, &err);

	jit_log(j, err.text);
	if (rc != CUDA_SUCCESS && err.text[0])
		emu_log("module cannot be loaded: %s", err.text);
	return rc;
}

static void attach(struct CUctx_st *ctx, struct CUmod_st *m)
{
	pthread_mutex_lock(&ctx->mutex);
	m->next = ctx->modules;
	ctx->modules = m;
	pthread_mutex_unlock(&ctx->mutex);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n,
				    CUjit_option *options, void **values)
{
	struct CUctx_st *ctx;
	struct jit j;

	EMU_TRY(emu_enter(&ctx));
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	jit_options(&j, n, options, values);
	EMU_TRY(load(ctx, image, &j, module));
	attach(ctx, *module);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
	return cuModuleLoadDataEx(module, fatbin, 0, NULL, NULL);
}

static CUresult load_file(struct CUctx_st *ctx, const char *name, struct CUmod_st **module)
{
	struct gs_error err = { "" };
	size_t len = 0;
	char *text = gs_read_file(name, SIZE_MAX, &len, NULL);
	CUresult rc;

	if (!text)
		return CUDA_ERROR_FILE_NOT_FOUND;
	rc = emu_image_load_file(ctx, text, len, module, &err);
	free(text);
	if (rc != CUDA_SUCCESS && err.text[0])
		emu_log("module cannot be loaded: %s: %s", name, err.text);
	return rc;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(load_file(ctx, fname, module));
	attach(ctx, *module);
	return CUDA_SUCCESS;
}

static CUresult check_module(struct CUmod_st *m)
{
	return emu_handle_is(m, EMU_MAGIC_MODULE, "a module") ? CUDA_SUCCESS :
								CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter_any(&ctx));
	EMU_TRY(check_module(module));
	emu_ctx_wait(ctx);
	pthread_mutex_lock(&ctx->mutex);
	for (struct CUmod_st **p = &module->ctx->modules; *p; p = &(*p)->next) {
		if (*p == module) {
			*p = module->next;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->mutex);
	emu_module_free(module);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	const char *named = getenv("CUDA_MODULE_LOADING");

	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = named && strcmp(named, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING :
						       CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *func, CUmodule module, const char *name)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(check_module(module));
	if (!func || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*func = emu_module_function(module, name);
	return *func ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EMU_GET(cuModuleGetFunctionCount, (unsigned int *count, CUmodule module), check_module(module),
	count, module->nfunction);

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int n, CUmodule module)
{
	EMU_TRY(check_module(module));
	for (unsigned int i = 0; i < n && i < module->nfunction; i++)
		functions[i] = module->function[i];
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
				      const char *name)
{
	struct emu_variable *v;
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(check_module(module));
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	v = emu_module_variable(module, name);
	if (!v)
		return CUDA_ERROR_NOT_FOUND;
	if (ptr)
		*ptr = v->address;
	if (bytes)
		*bytes = v->size;
	return CUDA_SUCCESS;
}

/* Libraries: a module that belongs to no context in particular; here, to the one that is current.
 */
static CUresult make_library(CUlibrary *library, struct CUmod_st *module)
{
	struct CUlib_st *lib = calloc(1, sizeof(*lib));

	if (!lib) {
		emu_module_free(module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	lib->module = module;
	lib->magic = EMU_MAGIC_LIB;
	for (uint32_t i = 0; i < module->nfunction; i++)
		module->function[i]->library = lib;
	*library = lib;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
				   void **jit_values, unsigned int njit, CUlibraryOption *options,
				   void **values, unsigned int n)
{
	struct CUmod_st *module;
	struct jit j;

	(void)options;
	(void)values;
	(void)n;
	EMU_TRY(emu_enter_plain());
	if (!library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	jit_options(&j, njit, jit, jit_values);
	EMU_TRY(load(NULL, code, &j, &module));
	return make_library(library, module);
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit,
				       void **jit_values, unsigned int njit,
				       CUlibraryOption *options, void **values, unsigned int n)
{
	struct CUmod_st *module;

	(void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
	EMU_TRY(emu_enter_plain());
	if (!library || !path)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(load_file(NULL, path, &module));
	return make_library(library, module);
}

static CUresult check_library(struct CUlib_st *lib)
{
	return lib && lib->magic == EMU_MAGIC_LIB ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
	EMU_TRY(check_library(library));
	for (struct CUctx_st *c = emu.contexts; c; c = c->next)
		emu_ctx_wait(c);
	if (emu.primary)
		emu_ctx_wait(emu.primary);
	library->magic = 0;
	emu_module_free(library->module);
	free(library);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	EMU_TRY(check_library(library));
	if (!kernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*kernel = (CUkernel)emu_module_function(library->module, name);
	return *kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
	EMU_TRY(check_library(library));
	return cuModuleGetFunctionCount(count, library->module);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary library)
{
	EMU_TRY(check_library(library));
	return cuModuleEnumerateFunctions((CUfunction *)kernels, n, library->module);
}

EMU_GET(cuLibraryGetModule, (CUmodule * module, CUlibrary library), check_library(library), module,
	library->module);

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
				    const char *name)
{
	EMU_TRY(check_library(library));
	return cuModuleGetGlobal_v2(ptr, bytes, library->module, name);
}

EMU_ALIAS(cuLibraryGetManaged, cuLibraryGetGlobal);

static CUresult check_function(const struct CUfunc_st *f)
{
	return emu_handle_is(f, EMU_MAGIC_FUNC, "a function") ? CUDA_SUCCESS :
								CUDA_ERROR_INVALID_HANDLE;
}

EMU_GET(cuKernelGetFunction, (CUfunction * func, CUkernel kernel),
	check_function((struct CUfunc_st *)kernel), func, (CUfunction)kernel);
EMU_GET(cuKernelGetLibrary, (CUlibrary * library, CUkernel kernel),
	check_function((struct CUfunc_st *)kernel), library, ((struct CUfunc_st *)kernel)->library);

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f)
{
	EMU_TRY(check_function(f));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_function_prepare(f, NULL));
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: {
		uint32_t n = f->ast->bounds.maxntid[0] ? f->ast->bounds.maxntid[0] :
							 f->ast->bounds.reqntid[0];

		for (int k = 1; n && k < 3; k++) {
			uint32_t m = f->ast->bounds.maxntid[0] ? f->ast->bounds.maxntid[k] :
								 f->ast->bounds.reqntid[k];

			n *= m ? m : 1;
		}
		*value = n && n < EMU_MAX_THREADS ? (int)n : EMU_MAX_THREADS;
		return CUDA_SUCCESS;
	}
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = (int)f->program->needs.shared_bytes;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = (int)f->program->func[0].local_bytes;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = (int)f->program->needs.nreg;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*value = (int)(f->module->ptx->version_major * 10 + f->module->ptx->version_minor);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = 90;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = f->dynamic_max ?
				 f->dynamic_max :
				 (int)(EMU_SHARED_DEFAULT - f->program->needs.shared_bytes);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = f->carveout;
		return CUDA_SUCCESS;
	default:
		if ((unsigned int)a >= CU_FUNC_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		*value = 0;
		return CUDA_SUCCESS;
	}
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value)
{
	EMU_TRY(check_function(f));
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		EMU_TRY(emu_function_prepare(f, NULL));
		if (value < 0 || (uint32_t)value + f->program->needs.shared_bytes > EMU_SHARED_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		f->dynamic_max = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		f->carveout = value;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
	(void)config;
	return check_function(f);
}

EMU_GET(cuFuncGetModule, (CUmodule * module, CUfunction f), check_function(f), module, f->module);
EMU_GET(cuFuncGetName, (const char **name, CUfunction f), check_function(f), name, f->name);

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size)
{
	EMU_TRY(check_function(f));
	EMU_TRY(emu_function_prepare(f, NULL));
	if (index >= f->program->params.n)
		return CUDA_ERROR_INVALID_VALUE;
	if (offset)
		*offset = f->program->params.param[index].offset;
	if (size)
		*size = f->program->params.param[index].size;
	return CUDA_SUCCESS;
}

EMU_GET(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction f), check_function(f), state,
	f->program ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED);

CUresult CUDAAPI cuFuncLoad(CUfunction f)
{
	EMU_TRY(check_function(f));
	return emu_function_prepare(f, NULL);
}

CUresult CUDAAPI cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel kernel,
				      CUdevice dev)
{
	(void)dev;
	return cuFuncGetAttribute(value, a, (CUfunction)kernel);
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel kernel,
				      CUdevice dev)
{
	(void)dev;
	return cuFuncSetAttribute((CUfunction)kernel, a, value);
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel kernel)
{
	return cuFuncGetName(name, (CUfunction)kernel);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return cuFuncGetParamInfo((CUfunction)kernel, index, offset, size);
}
