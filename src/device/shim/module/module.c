/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Module and library loading. The driver gets the program's images unchanged, and the shim
 * remembers where they are (image.h). */
#define _GNU_SOURCE
#include "device/shim/context/barrier.h"
#include "device/shim/kernel/image.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/memory/charge.h"
#include "device/shim/kernel/modules.h"
#include "device/shim/module/footprint.h"
#include "device/shim/session/session.h"
#include "device/shim/base/shim.h"
#include "device/shim/variant/variant.h"
#include "device/shim/base/wraps.h"

/* One load: what is charged before it, and what is remembered after it. */
struct load {
	uint64_t charged;
	int library, loaded;
	const void *image; /* the image in memory; NULL: it is in the file */
	struct shim_file file;
};

/* Returns 0; -1: beyond the reservation. */
static int begin(struct load *l, const void *image, int library)
{
	*l = (struct load) { .image = image, .library = library };
	return shim_module_charge(image, &l->charged);
}

/* The same for a file, which is read once. */
static int begin_file(struct load *l, const char *path, int library)
{
	*l = (struct load) { .library = library };
	if (shim_session())
		shim_file_read(&l->file, path);
	return shim_module_charge_file(&l->file, &l->charged);
}

static CUresult end(struct load *l, CUresult rc, const void *handle)
{
	struct shim_image image = { .why = PTX_REASON_UNSEEN };

	shim_module_charged(rc, rc == CUDA_SUCCESS ? handle : NULL, l->charged,
			    l->library ? NULL : shim_current());
	if (rc == CUDA_SUCCESS && shim_session()) {
		if (l->image)
			shim_image_keep(&image, l->image);
		else
			shim_image_keep_file(&image, &l->file);
		shim_module_add(handle, l->library, l->loaded, &image);
	}
	shim_file_drop(&l->file);
	return rc;
}

/* Makes the driver's call in between. */
#define LOAD_MODULE(l, call) \
	({ \
		CUresult rc_; \
		shim_barrier_enter(0); \
		rc_ = (call); \
		if (rc_ == CUDA_SUCCESS) \
			(l)->loaded = shim_load_module(*module); \
		shim_barrier_leave(0); \
		end(l, rc_, rc_ == CUDA_SUCCESS ? *module : NULL); \
	})
#define LOAD_LIBRARY(l, call) \
	({ \
		CUresult rc_; \
		shim_barrier_enter(0); \
		rc_ = (call); \
		shim_barrier_leave(0); \
		end(l, rc_, rc_ == CUDA_SUCCESS ? *library : NULL); \
	})

SHIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n,
					CUjit_option *options, void **values)
{
	struct load l;

	if (begin(&l, image, 0) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return LOAD_MODULE(&l, REAL(cuModuleLoadDataEx)(module, image, n, options, values));
}

SHIM_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	struct load l;

	if (begin(&l, image, 0) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return LOAD_MODULE(&l, REAL(cuModuleLoadData)(module, image));
}

SHIM_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
	struct load l;

	if (begin(&l, fatbin, 0) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return LOAD_MODULE(&l, REAL(cuModuleLoadFatBinary)(module, fatbin));
}

SHIM_EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	struct load l;

	if (begin_file(&l, path, 0) < 0) {
		shim_file_drop(&l.file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return LOAD_MODULE(&l, REAL(cuModuleLoad)(module, path));
}

SHIM_EXPORT CUresult cuModuleUnload(CUmodule module)
{
	struct shim_session *s = shim_session_peek();
	struct shim_module *m;
	struct shim_held *held;
	CUresult rc;

	shim_barrier_enter(0);
	m = shim_module_gone(module);
	shim_variants_unloaded(module);
	shim_kernels_unloaded(module);
	held = s ? shim_take(SHIM_CHARGE_MODULE, (uintptr_t)module) : NULL;
	rc = REAL(cuModuleUnload)(module);
	shim_module_unloaded(m);
	shim_barrier_leave(0);
	shim_taken(s, held, rc == CUDA_SUCCESS);
	return rc;
}

SHIM_EXPORT CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	struct shim_load l;
	CUresult rc;

	shim_load_enter_by_name(&l, module);
	rc = shim_load_leave(&l, REAL(cuModuleGetFunction)(f, module, name));
	if (rc == CUDA_SUCCESS && shim_session()) {
		shim_kernel_add(module, 0, *f, name);
		shim_load_is_loaded(*f);
	}
	return rc;
}

SHIM_EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
				       void **jit_values, unsigned int njit,
				       CUlibraryOption *options, void **values, unsigned int n)
{
	struct load l;

	if (begin(&l, code, 1) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return LOAD_LIBRARY(&l, REAL(cuLibraryLoadData)(library, code, jit, jit_values, njit,
							options, values, n));
}

SHIM_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit,
					   void **jit_values, unsigned int njit,
					   CUlibraryOption *options, void **values, unsigned int n)
{
	struct load l;

	if (begin_file(&l, path, 1) < 0) {
		shim_file_drop(&l.file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return LOAD_LIBRARY(&l, REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, njit,
							    options, values, n));
}

SHIM_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
	struct shim_session *s = shim_session_peek();
	struct shim_held *held;
	CUresult rc;

	shim_barrier_enter(0);
	shim_module_unloaded(shim_module_gone(library));
	shim_load_gone_library(library);
	shim_variants_unloaded(library);
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

/* The program also learns handles from a list, and a handle of a library's kernel tells little
 * about it. */
SHIM_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary library)
{
	unsigned int count = 0;
	const char *name;
	CUresult rc;

	shim_barrier_enter(0);
	rc = REAL(cuLibraryEnumerateKernels)(kernels, n, library);
	if (rc == CUDA_SUCCESS && kernels && shim_session())
		REAL(cuLibraryGetKernelCount)(&count, library);
	shim_barrier_leave(0);
	for (unsigned int i = 0; i < n && i < count; i++)
		if (REAL(cuKernelGetName)(&name, kernels[i]) == CUDA_SUCCESS && name)
			shim_kernel_add(library, 1, kernels[i], name);
	return rc;
}

/* The library's module in the current context; its kernels can be found by name from both. */
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

/*
 * What the program sets on a kernel holds for its variants as well. NULL: the kernel is not known.
 */
static struct shim_code *code_of(const void *kernel, CUresult rc)
{
	struct shim_kernel *k =
		rc == CUDA_SUCCESS && shim_session() ? shim_kernel_find(kernel) : NULL;

	return k ? k->code : NULL;
}

static CUresult set_attribute(CUresult rc, const void *kernel, CUfunction_attribute attribute,
			      int value)
{
	struct shim_code *code = code_of(kernel, rc);

	if (code)
		shim_variants_set(code, attribute, value);
	shim_barrier_leave(0);
	return rc;
}

static CUresult set_cache_config(CUresult rc, const void *kernel, CUfunc_cache config)
{
	struct shim_code *code = code_of(kernel, rc);

	if (code)
		shim_variants_set_cache(code, config);
	shim_barrier_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	shim_barrier_enter(0);
	return set_attribute(REAL(cuFuncSetAttribute)(f, attribute, value), f, attribute, value);
}

SHIM_EXPORT CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
					  CUkernel kernel, CUdevice device)
{
	shim_barrier_enter(0);
	return set_attribute(REAL(cuKernelSetAttribute)(attribute, value, kernel, device), kernel,
			     attribute, value);
}

SHIM_EXPORT CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
	shim_barrier_enter(0);
	return set_cache_config(REAL(cuFuncSetCacheConfig)(f, config), f, config);
}

SHIM_EXPORT CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	shim_barrier_enter(0);
	return set_cache_config(REAL(cuKernelSetCacheConfig)(kernel, config, device), kernel,
				config);
}
