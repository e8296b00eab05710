/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Module and library loading: PTX goes to the driver transformed, everything
 * else as it is.  If the driver does not take the transformed text, it gets
 * the program's own, and that is the program's result.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/shim/kernels.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"

/*
 * PTX text is not marked: it begins with white space, a comment or a
 * directive, and ends with a NUL.  A fatbin, an ELF file and LTO-IR begin
 * with bytes that no text has.
 */
static int looks_like_ptx(const char *image)
{
	while (*image == ' ' || *image == '\t' || *image == '\n' || *image == '\r')
		image++;
	return *image == '.' || (image[0] == '/' && (image[1] == '/' || image[1] == '*'));
}

/* The transformed module, or NULL: load it as the program gave it. */
static struct ptx_transformed *transformed(const void *image)
{
	struct gs_error err;
	struct ptx_transformed *t;

	if (!image || !shim_session() || !looks_like_ptx(image))
		return NULL;
	t = ptx_transform(image, strlen(image), &err);
	if (!t)
		shim_log("PTX left as it is: %s", err.text);
	return t;
}

static CUresult load_data(CUmodule *module, const void *image, unsigned int n,
			  CUjit_option *options, void **values)
{
	struct ptx_transformed *t = transformed(image);
	CUresult rc;

	shim_gate_enter(0);
	if (t) {
		rc = REAL(cuModuleLoadDataEx)(module, t->text, n, options, values);
		if (rc == CUDA_SUCCESS)
			goto done;
		shim_log("the driver refuses the transformed module (%d): loaded as it is", rc);
		ptx_transformed_free(t);
		t = NULL;
	}
	rc = REAL(cuModuleLoadDataEx)(module, image, n, options, values);
done:
	shim_gate_leave(0);
	if (rc == CUDA_SUCCESS)
		shim_module_add(*module, t);
	return rc;
}

SHIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n,
					CUjit_option *options, void **values)
{
	return load_data(module, image, n, options, values);
}

SHIM_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return load_data(module, image, 0, NULL, NULL);
}

SHIM_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
	CUresult rc;

	shim_gate_enter(0);
	rc = REAL(cuModuleLoadFatBinary)(module, fatbin);
	shim_gate_leave(0);
	return rc;
}

/* A file's text with a NUL behind it; NULL: not PTX, or not readable. */
static char *read_ptx(const char *path)
{
	struct stat st;
	char *text = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		text = calloc(1, (size_t)st.st_size + 1);
		if (text && read(fd, text, (size_t)st.st_size) != st.st_size) {
			free(text);
			text = NULL;
		}
	}
	close(fd);
	if (text && !looks_like_ptx(text)) {
		free(text);
		text = NULL;
	}
	return text;
}

SHIM_EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	char *text = path && shim_session() ? read_ptx(path) : NULL;
	CUresult rc;

	if (text) {
		rc = load_data(module, text, 0, NULL, NULL);
		free(text);
		return rc;
	}
	shim_gate_enter(0);
	rc = REAL(cuModuleLoad)(module, path);
	shim_gate_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuModuleUnload(CUmodule module)
{
	CUresult rc;

	shim_gate_enter(0);
	shim_module_gone(module);
	rc = REAL(cuModuleUnload)(module);
	shim_gate_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	CUresult rc = REAL(cuModuleGetFunction)(f, module, name);

	if (rc == CUDA_SUCCESS && shim_session())
		shim_kernel_add(module, *f, name);
	return rc;
}

SHIM_EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *code,
				       CUjit_option *jit, void **jit_values,
				       unsigned int njit, CUlibraryOption *options,
				       void **values, unsigned int n)
{
	struct ptx_transformed *t = transformed(code);
	CUresult rc;

	shim_gate_enter(0);
	if (t) {
		rc = REAL(cuLibraryLoadData)(library, t->text, jit, jit_values, njit, options,
					     values, n);
		if (rc == CUDA_SUCCESS)
			goto done;
		ptx_transformed_free(t);
		t = NULL;
	}
	rc = REAL(cuLibraryLoadData)(library, code, jit, jit_values, njit, options, values, n);
done:
	shim_gate_leave(0);
	if (rc == CUDA_SUCCESS)
		shim_module_add(*library, t);
	return rc;
}

SHIM_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path,
					   CUjit_option *jit, void **jit_values,
					   unsigned int njit, CUlibraryOption *options,
					   void **values, unsigned int n)
{
	char *text = path && shim_session() ? read_ptx(path) : NULL;
	CUresult rc;

	if (text) {
		rc = cuLibraryLoadData(library, text, jit, jit_values, njit, options, values, n);
		free(text);
		return rc;
	}
	shim_gate_enter(0);
	rc = REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, njit, options, values, n);
	shim_gate_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
	CUresult rc;

	shim_gate_enter(0);
	shim_module_gone(library);
	rc = REAL(cuLibraryUnload)(library);
	shim_gate_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult rc = REAL(cuLibraryGetKernel)(kernel, library, name);

	if (rc == CUDA_SUCCESS && shim_session())
		shim_kernel_add(library, *kernel, name);
	return rc;
}

/*
 * A module of a library: its kernels are asked for by name from either.  The
 * module gets no description of its own, so such kernels run as they are.
 */
SHIM_EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	return REAL(cuLibraryGetModule)(module, library);
}

SHIM_EXPORT CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
	CUresult rc = REAL(cuKernelGetFunction)(f, kernel);

	if (rc == CUDA_SUCCESS && shim_session())
		shim_kernel_alias(kernel, *f);
	return rc;
}

/* What is set on a kernel holds for its twin as well. */
SHIM_EXPORT CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	CUresult rc;

	shim_gate_enter(0);
	rc = REAL(cuFuncSetAttribute)(f, attribute, value);
	if (rc == CUDA_SUCCESS && shim_session()) {
		const struct shim_kernel *k = shim_kernel_find(f);

		if (k && k->twin)
			REAL(cuFuncSetAttribute)(k->twin, attribute, value);
	}
	shim_gate_leave(0);
	return rc;
}

SHIM_EXPORT CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
	CUresult rc;

	shim_gate_enter(0);
	rc = REAL(cuFuncSetCacheConfig)(f, config);
	if (rc == CUDA_SUCCESS && shim_session()) {
		const struct shim_kernel *k = shim_kernel_find(f);

		if (k && k->twin)
			REAL(cuFuncSetCacheConfig)(k->twin, config);
	}
	shim_gate_leave(0);
	return rc;
}
