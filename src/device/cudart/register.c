/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What nvcc's start-up code registers: images, and by the addresses of their
 * host-side stand-ins the kernels and variables in them.  An image is loaded
 * when something of it is first used; a managed variable's image when the
 * compiler's own check asks for it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/cudart/rt.h"

enum kind { KERNEL, VARIABLE, MANAGED };

struct image {
	void *data;        /* first: the handle that the start-up code passes around points here */
	CUlibrary library; /* NULL until it is needed */
	cudaError_t failed;
	int managed;
};

struct symbol {
	struct symbol *next; /* of the bucket */
	const void *host;
	struct image *image;
	const char *name; /* the program's */
	enum kind kind;
	CUkernel kernel;
	CUdeviceptr address;
	size_t size;
};

#define BUCKETS 1024
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *bucket[BUCKETS];
static int leaving; /* the process ends: the driver may be gone before us */

static size_t bucket_of(const void *host)
{
	return (size_t)((uintptr_t)host * UINT64_C(0x9E3779B97F4A7C15) >> 54);
}

static void at_exit(void)
{
	leaving = 1;
}

RT_EXPORT void **__cudaRegisterFatBinary(void *data);
RT_EXPORT void **__cudaRegisterFatBinary(void *data)
{
	struct image *i = calloc(1, sizeof(*i));

	if (i)
		i->data = data;
	return (void **)i;
}

RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

RT_EXPORT void __cudaUnregisterFatBinary(void **handle);
RT_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	struct image *i = (struct image *)handle;

	if (!i || leaving)
		return;
	pthread_mutex_lock(&mutex);
	for (size_t b = 0; b < BUCKETS; b++) {
		for (struct symbol **p = &bucket[b]; *p;) {
			struct symbol *s = *p;

			if (s->image != i) {
				p = &s->next;
				continue;
			}
			*p = s->next;
			free(s);
		}
	}
	pthread_mutex_unlock(&mutex);
	if (i->library)
		DRV(cuLibraryUnload)(i->library);
	free(i);
}

static void add(struct image *i, const void *host, const char *name, enum kind kind, size_t size)
{
	struct symbol *s = i ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return;
	s->host = host;
	s->image = i;
	s->name = name;
	s->kind = kind;
	s->size = size;
	pthread_mutex_lock(&mutex);
	s->next = bucket[bucket_of(host)];
	bucket[bucket_of(host)] = s;
	pthread_mutex_unlock(&mutex);
}

RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
				      const char *name, int limit, void *tid, void *bid,
				      dim3 *block, dim3 *grid, int *warp);
RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
				      const char *name, int limit, void *tid, void *bid,
				      dim3 *block, dim3 *grid, int *warp)
{
	(void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
	add((struct image *)handle, host, name, KERNEL, 0);
}

RT_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
				 size_t size, int constant, int global);
RT_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
				 size_t size, int constant, int global)
{
	(void)device, (void)ext, (void)constant, (void)global;
	add((struct image *)handle, host, name, VARIABLE, size);
}

/* The program reads the variable through *host, on the host as well. */
RT_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
					int ext, size_t size, int constant, int global);
RT_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
					int ext, size_t size, int constant, int global)
{
	(void)device, (void)ext, (void)constant, (void)global;
	add((struct image *)handle, host, name, MANAGED, size);
	if (handle)
		((struct image *)handle)->managed = 1;
}

RT_EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
RT_EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	(void)handle, (void)name, (void)host, (void)size;
}

RT_EXPORT void __cudaRegisterUnifiedTable(void **handle, void *table);
RT_EXPORT void __cudaRegisterUnifiedTable(void **handle, void *table)
{
	(void)handle, (void)table;
}

/* Its library, in *library.  The mutex is held: two threads' first launches load it once. */
static cudaError_t load(struct image *i)
{
	static int once;
	CUresult rc;

	if (i->library || i->failed)
		return i->failed;
	if (!once) {
		once = 1;
		atexit(at_exit);
	}
	rc = DRV(cuLibraryLoadData)(&i->library, i->data, NULL, NULL, 0, NULL, NULL, 0);
	i->failed = rt_error(rc);
	if (rc != CUDA_SUCCESS || !i->managed)
		return i->failed;
	for (size_t b = 0; b < BUCKETS; b++) {
		for (struct symbol *s = bucket[b]; s; s = s->next) {
			if (s->image != i || s->kind != MANAGED)
				continue;
			rc = DRV(cuLibraryGetManaged)(&s->address, NULL, i->library, s->name);
			if (rc != CUDA_SUCCESS)
				return i->failed = rt_error(rc);
			*(void **)(uintptr_t)s->host = (void *)(uintptr_t)s->address;
		}
	}
	return cudaSuccess;
}

RT_EXPORT char __cudaInitModule(void **handle);
RT_EXPORT char __cudaInitModule(void **handle)
{
	cudaError_t rc = rt_begin(RT_CONTEXT);

	if (rc == cudaSuccess && handle) {
		pthread_mutex_lock(&mutex);
		rc = load((struct image *)handle);
		pthread_mutex_unlock(&mutex);
	}
	return (char)(rt_end(rc) == cudaSuccess);
}

static struct symbol *find(const void *host)
{
	struct symbol *s = bucket[bucket_of(host)];

	while (s && s->host != host)
		s = s->next;
	return s;
}

cudaError_t rt_kernel(const void *host, CUkernel *kernel)
{
	cudaError_t rc = cudaSuccess;
	struct symbol *s;

	pthread_mutex_lock(&mutex);
	s = find(host);
	if (!s) {
		/* cudaGetKernel's and cudaLibraryGetKernel's handles go wherever a function does;
		 * the driver judges them */
		*kernel = (CUkernel)(uintptr_t)host;
		rc = host ? cudaSuccess : cudaErrorInvalidDeviceFunction;
	} else if (s->kind != KERNEL) {
		rc = cudaErrorInvalidDeviceFunction;
	} else {
		rc = load(s->image);
		if (rc == cudaSuccess && !s->kernel &&
		    DRV(cuLibraryGetKernel)(&s->kernel, s->image->library, s->name) != CUDA_SUCCESS)
			rc = cudaErrorInvalidDeviceFunction;
		*kernel = s->kernel;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

cudaError_t rt_symbol(const void *host, CUdeviceptr *address, size_t *size)
{
	cudaError_t rc = cudaErrorInvalidSymbol;
	struct symbol *s;

	pthread_mutex_lock(&mutex);
	s = find(host);
	/* a managed variable's own name in the program is its address on the device */
	for (size_t b = 0; !s && b < BUCKETS; b++)
		for (struct symbol *m = bucket[b]; m && !s; m = m->next)
			if (m->kind == MANAGED && m->address && m->address == (uintptr_t)host)
				s = m;
	if (s && s->kind != KERNEL) {
		rc = load(s->image);
		if (rc == cudaSuccess && !s->address &&
		    DRV(cuLibraryGetGlobal)(&s->address, NULL, s->image->library, s->name) !=
			    CUDA_SUCCESS)
			rc = cudaErrorInvalidSymbol;
		if (rc == cudaSuccess && address)
			*address = s->address;
		if (rc == cudaSuccess && size)
			*size = s->size;
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

cudaError_t rt_GetSymbolAddress(void **ptr, const void *symbol)
{
	CUdeviceptr p;

	if (!ptr)
		return cudaErrorInvalidValue;
	RT_TRY(rt_symbol(symbol, &p, NULL));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_GetSymbolSize(size_t *size, const void *symbol)
{
	return size ? rt_symbol(symbol, NULL, size) : cudaErrorInvalidValue;
}
