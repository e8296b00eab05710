/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has been loaded in which contexts; see loading.h. */
#define _GNU_SOURCE
#include "device/shim/loading.h"

#include <pthread.h>
#include <stdlib.h>

#include "device/shim/kernels.h"
#include "device/shim/session.h"
#include "device/shim/wraps.h"

/* A library in a context.  The records of its kernels that are there point to it, so it is never freed. */
struct shim_loaded {
	const void *library;
	_Atomic(CUcontext) ctx; /* NULL: no more */
	_Atomic int whole;      /* all of its kernels are there */
	struct shim_loaded *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_loaded *loaded; /* under lock */
static struct shim_loaded *past;   /* under lock: those of which kernels' records may still say something */

/* As the driver says, which decides in cuInit for good. */
static int is_lazy(void)
{
	static _Atomic int known; /* CUmoduleLoadingMode; 0: not asked yet, or not said */
	CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;

	if (!known && REAL(cuModuleGetLoadingMode)(&mode) == CUDA_SUCCESS)
		known = (int)mode;
	return known != CU_MODULE_EAGER_LOADING;
}

static CUcontext current(void)
{
	CUcontext ctx = NULL;

	return REAL_AT_ONCE(cuCtxGetCurrent)(&ctx) == CUDA_SUCCESS ? ctx : NULL;
}

static struct shim_loaded *find(const void *library, CUcontext ctx)
{
	struct shim_loaded *at;

	pthread_mutex_lock(&lock);
	for (at = loaded; at && !(at->library == library && at->ctx == ctx); at = at->next)
		;
	pthread_mutex_unlock(&lock);
	return at;
}

/* NULL: no memory; then the next call closes the gate as well. */
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

/* ---- behind the closed gate ------------------------------------------------- */

static CUresult load_kernel(const void *kernel)
{
	CUfunction f;

	return REAL(cuKernelGetFunction)(&f, (CUkernel)(uintptr_t)kernel);
}

/* One that cannot be loaded, as for another GPU, is not there for the program either. */
static void load_whole(CUlibrary library)
{
	CUkernel *kernel = NULL;
	unsigned int n = 0;

	if (REAL(cuLibraryGetKernelCount)(&n, library) == CUDA_SUCCESS && n)
		kernel = calloc(n, sizeof(CUkernel));
	if (kernel && REAL(cuLibraryEnumerateKernels)(kernel, n, library) == CUDA_SUCCESS)
		for (unsigned int i = 0; i < n; i++)
			load_kernel(kernel[i]);
	free(kernel);
}

static CUresult load_variables(CUlibrary library)
{
	CUmodule module;

	return REAL(cuLibraryGetModule)(&module, library);
}

/* All that is asked for, in the current context.  What could not be loaded is the program's call's to say. */
static void load(const void *library, CUcontext ctx, struct shim_kernel *kernel, int whole)
{
	struct shim_loaded *is;
	CUresult rc;

	if (whole)
		load_whole((CUlibrary)(uintptr_t)library);
	rc = kernel ? load_kernel(kernel->original) : load_variables((CUlibrary)(uintptr_t)library);
	is = rc == CUDA_SUCCESS ? note(library, ctx) : NULL;
	if (is && whole)
		is->whole = 1;
	if (is && kernel)
		kernel->loaded = is;
}

void shim_load_module(CUmodule module)
{
	CUfunction *f = NULL;
	unsigned int n = 0;

	if (!shim_session_peek() || !is_lazy() || REAL(cuModuleGetFunctionCount)(&n, module) != CUDA_SUCCESS || !n)
		return;
	f = calloc(n, sizeof(CUfunction));
	if (f && REAL(cuModuleEnumerateFunctions)(f, n, module) == CUDA_SUCCESS)
		for (unsigned int i = 0; i < n; i++)
			REAL(cuFuncLoad)(f[i]);
	free(f);
}

/* ---- the calls that may load ------------------------------------------------ */

static void enter(struct shim_load *l, const void *library, CUcontext ctx, struct shim_kernel *kernel, int whole)
{
	CUcontext pushed = NULL;

	l->gated = 1;
	shim_gate_enter(0);
	if (ctx != current() && REAL(cuCtxPushCurrent_v2)(ctx) == CUDA_SUCCESS)
		pushed = ctx;
	load(library, ctx, kernel, whole || shim_module_has_twins(library));
	if (pushed)
		REAL(cuCtxPopCurrent_v2)(&pushed);
}

void shim_load_enter(struct shim_load *l, const void *kernel, CUcontext ctx)
{
	struct shim_kernel *k = kernel && shim_session_peek() ? shim_kernel_seen(kernel) : NULL;
	struct shim_loaded *is;

	l->gated = 0;
	if (!k || !k->library || !is_lazy())
		return;
	if (!ctx)
		ctx = current();
	is = k->loaded;
	if (!ctx || (is && is->ctx == ctx))
		return;
	is = find(k->library, ctx);
	if (is && is->whole)
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

	l->gated = 0;
	if (!library || !shim_session_peek() || !is_lazy())
		return;
	ctx = current();
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
	if (l->gated)
		shim_gate_leave(0);
	return rc;
}

void shim_load_now(const void *kernel)
{
	struct shim_load l;

	shim_load_enter(&l, kernel, NULL);
	shim_load_leave(&l, CUDA_SUCCESS);
}

/* ---- what is no more -------------------------------------------------------- */

/* Under lock: it is no more. */
static void pass(struct shim_loaded **at)
{
	struct shim_loaded *is = *at;

	*at = is->next;
	is->ctx = NULL;
	is->next = past;
	past = is;
}

static void gone(const void *library, CUcontext ctx)
{
	struct shim_loaded **at = &loaded, *is;

	pthread_mutex_lock(&lock);
	while ((is = *at)) {
		if (is->library == library || is->ctx == ctx)
			pass(at);
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
	while (loaded)
		pass(&loaded);
}
