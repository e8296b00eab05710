/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules and libraries that list their kernels: the program sees its own ones
 * only, in the driver's order, and each becomes known as if it had been asked
 * for by name.  A number that an unloaded kernel had would lead to that one's
 * variant otherwise.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/shim/kernels.h"
#include "device/shim/origin.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"
#include "device/shim/wraps.h"

/* A module with its functions, or a library with its kernels: the same calls under two names. */
struct list {
	const void *of;
	int library;
	unsigned int n;
	void **handle;
};

static CUresult query_count(const struct list *l, unsigned int *n)
{
	return l->library ? REAL(cuLibraryGetKernelCount)(n, (CUlibrary)(uintptr_t)l->of) :
			    REAL(cuModuleGetFunctionCount)(n, (CUmodule)(uintptr_t)l->of);
}

static CUresult query_handles(const struct list *l, void **handle, unsigned int n)
{
	return l->library ? REAL(cuLibraryEnumerateKernels)((CUkernel *)handle, n,
							    (CUlibrary)(uintptr_t)l->of) :
			    REAL(cuModuleEnumerateFunctions)((CUfunction *)handle, n,
							     (CUmodule)(uintptr_t)l->of);
}

static const char *query_name(const struct list *l, void *handle)
{
	const char *name = NULL;
	CUresult rc = l->library ? REAL(cuKernelGetName)(&name, (CUkernel)handle) :
				   REAL(cuFuncGetName)(&name, (CUfunction)handle);

	return rc == CUDA_SUCCESS ? name : NULL;
}

/* A variant: no program's own kernel has such a name. */
static int is_added(const char *name)
{
	size_t len = strlen(name);

	for (int transform = PTX_TRANSFORM_AS_IS + 1; transform < PTX_TRANSFORM_COUNT;
	     transform++) {
		const char *suffix = ptx_transform_suffix((enum ptx_transform_kind)transform);
		size_t n = strlen(suffix);

		if (len > n && strcmp(name + len - n, suffix) == 0)
			return 1;
	}
	return 0;
}

/* The driver's list without what we have added; its handles are the caller's to free. */
static CUresult own_kernels(struct list *l)
{
	unsigned int all = 0, own = 0;
	CUresult rc;

	/* The list has to be made while nothing is held: not known to be safe (entries.def). */
	shim_barrier_enter(0);
	rc = query_count(l, &all);
	l->handle = rc == CUDA_SUCCESS ? calloc((size_t)all + 1, sizeof(*l->handle)) : NULL;
	if (rc == CUDA_SUCCESS)
		rc = l->handle ? query_handles(l, l->handle, all) : CUDA_ERROR_OUT_OF_MEMORY;
	shim_barrier_leave(0);
	for (unsigned int i = 0; rc == CUDA_SUCCESS && i < all; i++) {
		const char *name = query_name(l, l->handle[i]);

		if (!name || !is_added(name))
			l->handle[own++] = l->handle[i];
	}
	l->n = own;
	if (rc != CUDA_SUCCESS) {
		free(l->handle);
		l->handle = NULL;
	}
	return rc;
}

static CUresult count(unsigned int *n, const void *of, int library)
{
	struct list l = { .of = of, .library = library };
	CUresult rc;

	/* Its word on what is wrong is the driver's. */
	if (!n || !shim_session())
		return query_count(&l, n);
	rc = own_kernels(&l);
	if (rc == CUDA_SUCCESS)
		*n = l.n;
	free(l.handle);
	return rc;
}

static CUresult enumerate(void **handles, unsigned int n, const void *of, int library)
{
	struct list l = { .of = of, .library = library };
	CUresult rc;

	if (!handles || !n || !shim_session()) {
		shim_barrier_enter(0);
		rc = query_handles(&l, handles, n);
		shim_barrier_leave(0);
		return rc;
	}
	rc = own_kernels(&l);
	for (unsigned int i = 0; rc == CUDA_SUCCESS && i < n && i < l.n; i++) {
		const char *name = query_name(&l, l.handle[i]);

		handles[i] = l.handle[i];
		if (name)
			shim_kernel_add(of, library, l.handle[i], name);
	}
	free(l.handle);
	return rc;
}

/* ---- the driver's own table, of which its libraries ask --------------------------- */

/* Entry 7 of this table visits each function of a module and returns how many there are; cuFFT 12
 * goes by it. */
static const unsigned char functions_id[16] = { 0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d,
						0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e };
#define EACH_FUNCTION 7
#define TABLE_BYTES_MAX 4096

typedef void visit_fn(void *user, CUfunction f);
typedef int each_fn(CUcontext ctx, CUmodule module, visit_fn *visit, void *user);

union entry {
	size_t bytes; /* the first one: of all of the table */
	each_fn *each;
};
static each_fn *_Atomic drivers_each;
static union entry *_Atomic own_table; /* the driver's but for that entry; once there, it stays */

/* What the driver visits; without memory some are missing. */
struct visited {
	CUfunction *f;
	size_t n, room;
};

static void note(void *user, CUfunction f)
{
	struct visited *v = user;
	CUfunction *grown;

	if (v->n == v->room) {
		grown = realloc(v->f, (2 * v->room + 8) * sizeof(*grown));
		if (grown) {
			v->f = grown;
			v->room = 2 * v->room + 8;
		}
	}
	if (v->n < v->room)
		v->f[v->n++] = f;
}

static int each_own_function(CUcontext ctx, CUmodule module, visit_fn *visit, void *user)
{
	struct list l = { .of = module };
	struct visited v = { 0 };
	int n, added = 0;

	shim_barrier_enter(0);
	n = drivers_each(ctx, module, note, &v);
	shim_barrier_leave(0);
	for (size_t i = 0; i < v.n; i++) {
		const char *name = query_name(&l, v.f[i]);

		if (name && is_added(name)) {
			added++;
			continue;
		}
		if (name && shim_session())
			shim_kernel_add(module, 0, v.f[i], name);
		if (visit)
			visit(user, v.f[i]);
	}
	free(v.f);
	return n - added;
}

/* Without memory it is the driver's. */
static const void *without_variants(const union entry *drivers)
{
	union entry *copy, *is = own_table;

	if (is)
		return is;
	copy = malloc(drivers->bytes);
	if (!copy)
		return drivers;
	memcpy(copy, drivers, drivers->bytes);
	drivers_each = drivers[EACH_FUNCTION].each;
	copy[EACH_FUNCTION].each = each_own_function;
	if (atomic_compare_exchange_strong(&own_table, &is, copy))
		return copy;
	free(copy); /* another thread was quicker */
	return is;
}

/*
 * The program's own code, cuFFT's where it is linked in, gets a copy of that table.  Libraries,
 * whose modules have no variants, get the driver's: some look at what they are given.
 */
SHIM_EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	const void *caller = SHIM_CALLER;
	CUresult rc = REAL(cuGetExportTable)(table, id);
	const union entry *drivers = rc == CUDA_SUCCESS && table ? *table : NULL;

	if (drivers && id && memcmp(id, functions_id, sizeof(functions_id)) == 0 &&
	    shim_place_of(caller) == SHIM_PLACE_PROGRAM &&
	    drivers->bytes >= (EACH_FUNCTION + 1) * sizeof(*drivers) &&
	    drivers->bytes <= TABLE_BYTES_MAX)
		*table = without_variants(drivers);
	return rc;
}

SHIM_EXPORT CUresult cuModuleGetFunctionCount(unsigned int *n, CUmodule module)
{
	return count(n, module, 0);
}

SHIM_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int n,
						CUmodule module)
{
	return enumerate((void **)functions, n, module, 0);
}

SHIM_EXPORT CUresult cuLibraryGetKernelCount(unsigned int *n, CUlibrary library)
{
	return count(n, library, 1);
}

SHIM_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary library)
{
	return enumerate((void **)kernels, n, library, 1);
}
