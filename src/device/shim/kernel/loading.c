/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has been loaded in which context; see loading.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/loading.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "device/shim/base/capture.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/kernel/modules.h"
#include "device/shim/session/session.h"
#include "device/shim/base/wraps.h"

/* A library in a context. The records of its kernels point to this, so it is never freed. */
struct shim_loaded {
	const void *library;
	_Atomic(CUcontext) ctx; /* NULL: it is no longer loaded */
	_Atomic int whole;      /* all of its kernels are loaded */
	/* under lock: if not `whole`, the kernels that are loaded */
	const struct shim_kernel **kernel;
	size_t n, room;
	struct shim_loaded *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_loaded *loaded;     /* under lock */
static struct shim_loaded *parents[2]; /* in a forked child: the parent's lists */
/* under lock: unloaded ones, which kernels' records may still point to */
static struct shim_loaded *past;

/* A module with at most this many functions is loaded as a whole, which takes less time than the
 * program's call. */
#define FEW_FUNCTIONS 32

/* Marks a module's function as loaded. */
static struct shim_loaded a_function;

/* As the driver says; this is fixed from cuInit on. */
static int is_lazy(void)
{
	static _Atomic int known; /* CUmoduleLoadingMode; 0: not queried yet, or not known */
	CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;

	if (!known && REAL(cuModuleGetLoadingMode)(&mode) == CUDA_SUCCESS)
		known = (int)mode;
	return known != CU_MODULE_EAGER_LOADING;
}

/* Under lock. */
static struct shim_loaded *lookup(const void *library, CUcontext ctx)
{
	struct shim_loaded *at;

	for (at = loaded; at && !(at->library == library && at->ctx == ctx); at = at->next)
		;
	return at;
}

static struct shim_loaded *find(const void *library, CUcontext ctx)
{
	struct shim_loaded *is;

	pthread_mutex_lock(&lock);
	is = lookup(library, ctx);
	pthread_mutex_unlock(&lock);
	return is;
}

/* Searches the lists: k->loaded has only the last context, and a program may switch from one
 * context to another and back. */
static struct shim_loaded *find_kernel(const struct shim_kernel *k, CUcontext ctx)
{
	struct shim_loaded *is;
	size_t i;

	pthread_mutex_lock(&lock);
	is = lookup(k->library, ctx);
	if (is && !is->whole) {
		for (i = 0; i < is->n && is->kernel[i] != k; i++)
			;
		is = i < is->n ? is : NULL;
	}
	pthread_mutex_unlock(&lock);
	return is;
}

/* If there is no memory it is not noted, and the next call closes the barrier again. */
static void note_kernel(struct shim_loaded *is, struct shim_kernel *k)
{
	const struct shim_kernel **grown;

	pthread_mutex_lock(&lock);
	if (is->n == is->room) {
		grown = realloc(is->kernel, (2 * is->room + 4) * sizeof(*grown));
		if (grown) {
			is->kernel = grown;
			is->room = 2 * is->room + 4;
		}
	}
	if (is->n < is->room)
		is->kernel[is->n++] = k;
	pthread_mutex_unlock(&lock);
	k->loaded = is;
}

/* NULL: no memory, and then the next call closes the barrier again. */
static struct shim_loaded *note(const void *library, CUcontext ctx)
{
	struct shim_loaded *is = find(library, ctx);

	if (is)
		return is;
	is = calloc(1, sizeof(*is));
	if (!is)
		return NULL;
	is->library = library;
	is->ctx = ctx;
	pthread_mutex_lock(&lock);
	is->next = loaded;
	loaded = is;
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- behind the closed barrier ------------------------------------------------- */

static CUresult load_kernel(const void *kernel)
{
	CUfunction f;

	return REAL(cuKernelGetFunction)(&f, (CUkernel)(uintptr_t)kernel);
}

/* Is this result final, for the program's own calls as well? For example, the library has no code
 * for this GPU. */
static int is_for_good(CUresult rc)
{
	return rc == CUDA_SUCCESS || rc == CUDA_ERROR_NO_BINARY_FOR_GPU ||
	       rc == CUDA_ERROR_INVALID_IMAGE || rc == CUDA_ERROR_INVALID_PTX ||
	       rc == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || rc == CUDA_ERROR_NOT_FOUND;
}

/* Loads all kernels of the library; returns 1 if all that can be loaded are. */
static int load_whole(CUlibrary library)
{
	CUkernel *kernel = NULL;
	unsigned int n = 0;
	int is = REAL(cuLibraryGetKernelCount)(&n, library) == CUDA_SUCCESS;

	if (is && n) {
		kernel = calloc(n, sizeof(CUkernel));
		is = kernel && REAL(cuLibraryEnumerateKernels)(kernel, n, library) == CUDA_SUCCESS;
	}
	for (unsigned int i = 0; i < n && is; i++)
		is = is_for_good(load_kernel(kernel[i]));
	free(kernel);
	return is;
}

static CUresult load_variables(CUlibrary library)
{
	CUmodule module;

	return REAL(cuLibraryGetModule)(&module, library);
}

/* Loads what is needed in the current context. */
static CUresult load(const void *library, CUcontext ctx, struct shim_kernel *kernel, int whole)
{
	struct shim_loaded *is;
	CUresult rc;

	if (whole)
		whole = load_whole((CUlibrary)(uintptr_t)library);
	rc = kernel ? load_kernel(kernel->original) : load_variables((CUlibrary)(uintptr_t)library);
	is = rc == CUDA_SUCCESS ? note(library, ctx) : NULL;
	if (is && whole)
		is->whole = 1;
	if (is && kernel)
		note_kernel(is, kernel);
	return rc;
}

/* Loads all functions of the module unless there are more than `most`. Returns 1 if they are
 * loaded. */
static int load_functions(CUmodule module, unsigned int most)
{
	CUfunction *f = NULL;
	unsigned int n = 0;
	int is = 0;

	if (REAL(cuModuleGetFunctionCount)(&n, module) != CUDA_SUCCESS || n > most)
		return 0;
	f = calloc((size_t)n + 1, sizeof(CUfunction));
	if (f && REAL(cuModuleEnumerateFunctions)(f, n, module) == CUDA_SUCCESS) {
		is = 1;
		for (unsigned int i = 0; i < n; i++)
			REAL(cuFuncLoad)(f[i]);
	}
	free(f);
	return is;
}

int shim_load_module(CUmodule module)
{
	return !shim_session_peek() || !is_lazy() || load_functions(module, FEW_FUNCTIONS);
}

/* ---- the calls that may load ------------------------------------------------ */

/*
 * Closes the barrier and loads. A call that needs more of a library that is present mostly does not
 * wait in the driver, so it waits with patience only: a preemptible kernel that is out may wait for
 * what the program does after the call.
 */
static void enter(struct shim_load *l, const void *library, CUcontext ctx,
		  struct shim_kernel *kernel, int whole)
{
	CUstreamCaptureMode mode;
	int pushed = ctx != shim_context_handle();
	CUcontext popped;

	l->in_barrier = 1;
	whole |= shim_module_has_variants(library);
	if (!find(library, ctx))
		shim_barrier_enter(0);
	else if (!shim_barrier_enter_patiently())
		whole = 0; /* load only what the program asks for */
	shim_capture_relax(&mode);
	l->rc = pushed ? REAL(cuCtxPushCurrent_v2)(ctx) : CUDA_SUCCESS;
	if (l->rc == CUDA_SUCCESS) {
		l->rc = load(library, ctx, kernel, whole);
		if (pushed)
			REAL(cuCtxPopCurrent_v2)(&popped);
	}
	shim_capture_restore(mode);
}

/* Loads a module's function, which belongs to one context. */
static void enter_function(struct shim_load *l, struct shim_kernel *k)
{
	struct shim_module *m = k->code->module;
	CUstreamCaptureMode mode;
	int whole;

	if (!m || m->library || m->loaded || k->loaded)
		return;
	l->in_barrier = 1;
	whole = m->whole;
	if (whole)
		shim_barrier_enter(0);
	else
		shim_barrier_enter_patiently();
	shim_capture_relax(&mode);
	if (whole)
		m->loaded = load_functions((CUmodule)(uintptr_t)m->handle, UINT_MAX);
	else
		REAL(cuFuncLoad)(k->original);
	shim_capture_restore(mode);
	k->loaded = &a_function;
}

void shim_load_enter_by_name(struct shim_load *l, CUmodule module)
{
	const struct shim_module *m = shim_session_peek() ? shim_module_find(module) : NULL;

	*l = (struct shim_load) { .rc = CUDA_SUCCESS };
	if (!m || m->library || m->loaded || !is_lazy())
		return;
	l->in_barrier = 1;
	shim_barrier_enter_patiently();
}

void shim_load_is_loaded(CUfunction f)
{
	struct shim_kernel *k = shim_kernel_seen(f);

	if (k && !k->loaded)
		k->loaded = &a_function;
}

void shim_load_enter(struct shim_load *l, const void *kernel, CUcontext ctx)
{
	struct shim_kernel *k = kernel && shim_session_peek() ? shim_kernel_seen(kernel) : NULL;
	struct shim_loaded *is;

	*l = (struct shim_load) { .rc = CUDA_SUCCESS };
	if (!k || !is_lazy())
		return;
	if (!k->library) {
		enter_function(l, k);
		return;
	}
	if (!ctx)
		ctx = shim_context_handle();
	is = k->loaded;
	if (!ctx || (is && is->ctx == ctx))
		return;
	is = find_kernel(k, ctx);
	if (is)
		k->loaded = is;
	else
		enter(l, k->library, ctx, k, 0);
}

void shim_load_enter_node(struct shim_load *l, const CUDA_KERNEL_NODE_PARAMS *node)
{
	const void *kernel = NULL;

	if (node)
		kernel = node->func ? (const void *)node->func : (const void *)node->kern;
	shim_load_enter(l, kernel, node ? node->ctx : NULL);
}

static void enter_library(struct shim_load *l, CUlibrary library, int whole)
{
	const struct shim_loaded *is;
	CUcontext ctx;

	*l = (struct shim_load) { .rc = CUDA_SUCCESS };
	if (!library || !shim_session_peek() || !is_lazy())
		return;
	ctx = shim_context_handle();
	is = ctx ? find(library, ctx) : NULL;
	if (ctx && (!is || (whole && !is->whole)))
		enter(l, library, ctx, NULL, whole);
}

void shim_load_enter_library(struct shim_load *l, CUlibrary library)
{
	enter_library(l, library, 0);
}

void shim_load_enter_module(struct shim_load *l, CUlibrary library)
{
	enter_library(l, library, 1);
}

CUresult shim_load_leave(const struct shim_load *l, CUresult rc)
{
	if (l->in_barrier)
		shim_barrier_leave(0);
	return rc;
}

CUresult shim_load_now(const void *kernel)
{
	struct shim_load l;

	shim_load_enter(&l, kernel, NULL);
	return shim_load_leave(&l, l.rc);
}

/* ---- what is unloaded ------------------------------------------------------------ */

/* Under lock: moves a library to the list of unloaded ones. */
static void retire(struct shim_loaded **at)
{
	struct shim_loaded *is = *at;

	*at = is->next;
	is->ctx = NULL;
	free(is->kernel);
	is->kernel = NULL;
	is->n = is->room = 0;
	is->next = past;
	past = is;
}

static void gone(const void *library, CUcontext ctx)
{
	struct shim_loaded **at = &loaded, *is;

	pthread_mutex_lock(&lock);
	while ((is = *at)) {
		if (is->library == library || is->ctx == ctx)
			retire(at);
		else
			at = &is->next;
	}
	pthread_mutex_unlock(&lock);
}

void shim_load_gone_library(CUlibrary library)
{
	gone(library, NULL);
}

void shim_load_gone_context(CUcontext ctx)
{
	gone(NULL, ctx);
}

void shim_load_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	/* Do not touch the lists, since a thread of the parent may have been changing them; but
	 * keep them reachable, so that they do not count as leaks. */
	parents[0] = loaded;
	parents[1] = past;
	loaded = past = NULL;
}
