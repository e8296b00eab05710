/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Module and library loading: what carries PTX goes to the driver transformed
 * (image.c), everything else as it is.  If the driver does not take the
 * transformed text, it gets the program's own, and that is the program's result.
 * What is not the program's own (origin.h) goes as it is, unread.
 */
#define _GNU_SOURCE
#include "device/shim/image.h"
#include "device/shim/kernels.h"
#include "device/shim/link.h"
#include "device/shim/loading.h"
#include "device/shim/memory.h"
#include "device/shim/origin.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"

/* Is an image of that caller's, NULL: a file, made preemptible?  Otherwise *why it is left as it
 * is. */
static int is_own(const void *image, const void *caller, enum ptx_reason *why)
{
	enum ptx_reason reason;

	if (!shim_session())
		return 0;
	reason = shim_origin(image, caller);
	if (reason != PTX_REASON_NONE)
		*why = reason;
	return reason == PTX_REASON_NONE;
}

static struct ptx_transformed *transformed(const void *image, int library, const void *caller,
					   enum ptx_reason *why)
{
	struct ptx_transformed *t;

	if (!is_own(image, caller, why))
		return NULL;
	t = shim_image_transform(image, library, why);
	return t ? t : shim_link_description(image);
}

/* The same for a file, which is read once: it is charged as well.  -1: beyond the reservation. */
static int take_file(const char *path, int library, const void *caller, struct ptx_transformed **t,
		     enum ptx_reason *why, uint64_t *charged)
{
	struct shim_file file = { NULL, 0 };
	int rc;

	*t = NULL;
	if (shim_session())
		shim_file_read(&file, path);
	rc = shim_module_charge_file(&file, charged);
	if (rc == 0 && is_own(NULL, caller, why))
		*t = shim_image_transform_read(&file, library, why);
	shim_file_drop(&file);
	return rc;
}

/* After a load: the description, if any, belongs to the module.  ctx: with which a module goes;
 * NULL: a library. */
static CUresult loaded(CUresult rc, const void *module, struct ptx_transformed *t,
		       enum ptx_reason why, uint64_t charged, CUcontext ctx)
{
	shim_module_charged(rc, module, charged, ctx);
	if (rc == CUDA_SUCCESS)
		shim_module_add(module, t, why);
	else
		ptx_transformed_free(t);
	return rc;
}

/* What the driver gets: the transformed image, or else the program's own. */
static const void *first_choice(const struct ptx_transformed *t, const void *own)
{
	return t && t->text ? t->text : own;
}

/*
 * The values of a load's JIT options.  Where the program says how long its buffers for the
 * compiler's words are, the driver says how much is in them: a second attempt would find no room.
 */
struct jit_values {
	void **values, **first; /* as the program gave them; NULL: there is no second attempt, or no
				   memory */
	unsigned int n;
};

static struct jit_values own_values(void **values, unsigned int n, const struct ptx_transformed *t)
{
	struct jit_values own = { values, NULL, n };

	if (t && t->text && values && n)
		own.first = malloc(n * sizeof(*values));
	if (own.first)
		memcpy(own.first, values, n * sizeof(*values));
	return own;
}

/* The load has failed: 1 if the program's own image is still to be tried, which is its result. */
static int fall_back(struct ptx_transformed **t, enum ptx_reason *why, CUresult rc,
		     const struct jit_values *own)
{
	if (!*t || !(*t)->text)
		return 0;
	if (own && own->first)
		memcpy(own->values, own->first, own->n * sizeof(*own->values));
	shim_log("the driver refuses the transformed module (%d): loaded as it is", rc);
	ptx_transformed_free(*t);
	*t = NULL;
	*why = PTX_REASON_REFUSED;
	return 1;
}

static CUresult load_data(CUmodule *module, const void *image, const void *caller, unsigned int n,
			  CUjit_option *options, void **values)
{
	enum ptx_reason why = PTX_REASON_UNSEEN;
	struct ptx_transformed *t;
	uint64_t charged;
	struct jit_values own;
	CUresult rc;

	if (shim_module_charge(image, &charged) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t = transformed(image, 0, caller, &why);
	own = own_values(values, n, t);
	shim_barrier_enter(0);
	do
		rc = REAL(cuModuleLoadDataEx)(module, first_choice(t, image), n, options, values);
	while (rc != CUDA_SUCCESS && fall_back(&t, &why, rc, &own));
	if (rc == CUDA_SUCCESS)
		shim_load_module(*module);
	shim_barrier_leave(0);
	free(own.first);
	return loaded(rc, rc == CUDA_SUCCESS ? *module : NULL, t, why, charged, shim_current());
}

SHIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n,
					CUjit_option *options, void **values)
{
	return load_data(module, image, SHIM_CALLER, n, options, values);
}

SHIM_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return load_data(module, image, SHIM_CALLER, 0, NULL, NULL);
}

SHIM_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
	enum ptx_reason why = PTX_REASON_UNSEEN;
	struct ptx_transformed *t;
	uint64_t charged;
	CUresult rc;

	if (shim_module_charge(fatbin, &charged) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t = transformed(fatbin, 0, SHIM_CALLER, &why);
	shim_barrier_enter(0);
	do
		rc = REAL(cuModuleLoadFatBinary)(module, first_choice(t, fatbin));
	while (rc != CUDA_SUCCESS && fall_back(&t, &why, rc, NULL));
	if (rc == CUDA_SUCCESS)
		shim_load_module(*module);
	shim_barrier_leave(0);
	return loaded(rc, rc == CUDA_SUCCESS ? *module : NULL, t, why, charged, shim_current());
}

SHIM_EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	enum ptx_reason why = PTX_REASON_UNSEEN;
	struct ptx_transformed *t;
	uint64_t charged;
	CUresult rc;

	if (take_file(path, 0, SHIM_CALLER, &t, &why, &charged) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	shim_barrier_enter(0);
	do
		rc = t && t->text ? REAL(cuModuleLoadDataEx)(module, t->text, 0, NULL, NULL) :
				    REAL(cuModuleLoad)(module, path);
	while (rc != CUDA_SUCCESS && fall_back(&t, &why, rc, NULL));
	if (rc == CUDA_SUCCESS)
		shim_load_module(*module);
	shim_barrier_leave(0);
	return loaded(rc, rc == CUDA_SUCCESS ? *module : NULL, t, why, charged, shim_current());
}

SHIM_EXPORT CUresult cuModuleUnload(CUmodule module)
{
	struct shim_session *s = shim_session_peek();
	struct shim_held *held;
	CUresult rc;

	shim_barrier_enter(0);
	shim_module_gone(module);
	shim_kernels_unloaded(module);
	held = s ? shim_take(SHIM_CHARGE_MODULE, (uintptr_t)module) : NULL;
	rc = REAL(cuModuleUnload)(module);
	shim_barrier_leave(0);
	shim_taken(s, held, rc == CUDA_SUCCESS);
	return rc;
}

SHIM_EXPORT CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	CUresult rc = REAL(cuModuleGetFunction)(f, module, name);

	if (rc == CUDA_SUCCESS && shim_session())
		shim_kernel_add(module, 0, *f, name);
	return rc;
}

/* A library of the transformed text: will the driver have it when it is used? */
static CUresult compiled(const CUlibrary *library, const struct ptx_transformed *t, CUresult rc)
{
	if (rc != CUDA_SUCCESS || !t || !t->text)
		return rc;
	rc = shim_load_library(*library);
	if (rc != CUDA_SUCCESS)
		REAL(cuLibraryUnload)(*library);
	return rc;
}

SHIM_EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
				       void **jit_values, unsigned int njit,
				       CUlibraryOption *options, void **values, unsigned int n)
{
	enum ptx_reason why = PTX_REASON_UNSEEN;
	struct ptx_transformed *t;
	uint64_t charged;
	struct jit_values own;
	CUresult rc;

	if (shim_module_charge(code, &charged) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t = transformed(code, 1, SHIM_CALLER, &why);
	own = own_values(jit_values, njit, t);
	shim_barrier_enter(0);
	do
		rc = compiled(library, t,
			      REAL(cuLibraryLoadData)(library, first_choice(t, code), jit,
						      jit_values, njit, options, values, n));
	while (rc != CUDA_SUCCESS && fall_back(&t, &why, rc, &own));
	shim_barrier_leave(0);
	free(own.first);
	return loaded(rc, rc == CUDA_SUCCESS ? *library : NULL, t, why, charged, NULL);
}

SHIM_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit,
					   void **jit_values, unsigned int njit,
					   CUlibraryOption *options, void **values, unsigned int n)
{
	enum ptx_reason why = PTX_REASON_UNSEEN;
	struct ptx_transformed *t;
	uint64_t charged;
	struct jit_values own;
	CUresult rc;

	if (take_file(path, 1, SHIM_CALLER, &t, &why, &charged) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	own = own_values(jit_values, njit, t);
	shim_barrier_enter(0);
	do
		rc = t && t->text ?
			     compiled(library, t,
				      REAL(cuLibraryLoadData)(library, t->text, jit, jit_values,
							      njit, options, values, n)) :
			     REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, njit,
							 options, values, n);
	while (rc != CUDA_SUCCESS && fall_back(&t, &why, rc, &own));
	shim_barrier_leave(0);
	free(own.first);
	return loaded(rc, rc == CUDA_SUCCESS ? *library : NULL, t, why, charged, NULL);
}

SHIM_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
	struct shim_session *s = shim_session_peek();
	struct shim_held *held;
	CUresult rc;

	shim_barrier_enter(0);
	shim_module_gone(library);
	shim_load_gone_library(library);
	shim_kernels_unloaded(library);
	held = s ? shim_take(SHIM_CHARGE_MODULE, (uintptr_t)library) : NULL;
	rc = REAL(cuLibraryUnload)(library);
	shim_barrier_leave(0);
	shim_taken(s, held, rc == CUDA_SUCCESS);
	return rc;
}

SHIM_EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult rc = REAL(cuLibraryGetKernel)(kernel, library, name);

	if (rc == CUDA_SUCCESS && shim_session())
		shim_kernel_add(library, 1, *kernel, name);
	return rc;
}

/* The current context's module of a library: its kernels are asked for by name from either. */
SHIM_EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	struct shim_load l;
	CUresult rc;

	shim_load_enter_module(&l, library);
	rc = shim_load_leave(&l, REAL(cuLibraryGetModule)(module, library));
	if (rc == CUDA_SUCCESS && shim_session())
		shim_module_alias(library, *module);
	return rc;
}

SHIM_EXPORT CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
	struct shim_load l;
	CUresult rc;

	shim_load_enter(&l, kernel, NULL);
	rc = shim_load_leave(&l, REAL(cuKernelGetFunction)(f, kernel));
	if (rc == CUDA_SUCCESS && shim_session())
		shim_kernel_alias(kernel, *f);
	return rc;
}

/* What is set on a kernel holds for its variant as well: the variant that it is still to be set on,
 * or NULL. */
static CUfunction to_set(const void *kernel, CUresult rc)
{
	const struct shim_kernel *k =
		rc == CUDA_SUCCESS && shim_session() ? shim_kernel_find(kernel) : NULL;

	return k ? k->variant : NULL;
}

SHIM_EXPORT CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	CUfunction variant;
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuFuncSetAttribute)(f, attribute, value);
	variant = to_set(f, rc);
	if (variant)
		REAL(cuFuncSetAttribute)(variant, attribute, value);
	shim_barrier_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
					  CUkernel kernel, CUdevice device)
{
	CUfunction variant;
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuKernelSetAttribute)(attribute, value, kernel, device);
	variant = to_set(kernel, rc);
	if (variant)
		REAL(cuKernelSetAttribute)(attribute, value, (CUkernel)(uintptr_t)variant, device);
	shim_barrier_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
	CUfunction variant;
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuFuncSetCacheConfig)(f, config);
	variant = to_set(f, rc);
	if (variant)
		REAL(cuFuncSetCacheConfig)(variant, config);
	shim_barrier_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	CUfunction variant;
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuKernelSetCacheConfig)(kernel, config, device);
	variant = to_set(kernel, rc);
	if (variant)
		REAL(cuKernelSetCacheConfig)((CUkernel)(uintptr_t)variant, config, device);
	shim_barrier_leave(0);
	return rc;
}
