/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels and their handles; see kernels.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/shim/context/barrier.h"
#include "device/shim/context/context.h"
#include "device/shim/session/session.h"

#define BUCKETS (1 << SHIM_BUCKET_BITS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic(struct shim_kernel *) shim_bucket[BUCKETS];
struct shim_kernel shim_place[BUCKETS];

void shim_kernel_tell(struct shim_session *s, const struct shim_code *code)
{
	uint32_t reason = code->transform == PTX_TRANSFORM_AS_IS ? code->reason : PTX_REASON_NONE;

	gs_client_kernel(s->client, code->number, code->transform, reason, code->registers,
			 code->content, code->name);
}

/* Asked once per kernel, not at each launch. A library's kernel is asked for on the current device;
 * if there is none the number is not known yet. */
static uint32_t registers_of(const void *handle, int library)
{
	CUdevice device = 0;
	int n = 0;

	if (!library && REAL(cuFuncGetAttribute)(&n, CU_FUNC_ATTRIBUTE_NUM_REGS,
						 (CUfunction)(uintptr_t)handle) != CUDA_SUCCESS)
		return 0;
	if (library &&
	    (REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS ||
	     REAL(cuKernelGetAttribute)(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUkernel)(uintptr_t)handle,
					device) != CUDA_SUCCESS))
		return 0;
	return n > 0 ? (uint32_t)n : 0;
}

static struct shim_code *new_code(const char *name)
{
	struct shim_session *s = shim_session_peek();
	struct shim_code *code = calloc(1, sizeof(*code));

	if (code && !(code->name = strdup(name))) {
		free(code);
		return NULL;
	}
	if (!code)
		return NULL;
	code->reason = PTX_REASON_UNSEEN;
	code->number = s ? atomic_fetch_add(&s->kernels, 1) : 0;
	return code;
}

/*
 * The bucket's place in the table, or else a block of its own that is never freed. NULL: no memory.
 */
static struct shim_kernel *new_record(size_t bucket)
{
	struct shim_kernel *k = &shim_place[bucket];

	return atomic_flag_test_and_set(&k->placed) ? shim_lines(sizeof(*k)) : k;
}

static int is_graph(const struct shim_kernel *k)
{
	return k->code->reason == PTX_REASON_GRAPH;
}

/* code NULL (no memory): does nothing. */
static struct shim_kernel *insert(const void *handle, struct shim_code *code)
{
	size_t bucket = shim_bucket_of(handle);
	struct shim_kernel *k = code ? new_record(bucket) : NULL, *head;

	if (!k)
		return NULL;
	k->code = code;
	k->original = (CUfunction)(uintptr_t)handle;
	k->direct = (CUfunction)(uintptr_t)handle;
	k->handle = handle;
	head = atomic_load(&shim_bucket[bucket]);
	do
		k->next = head;
	while (!atomic_compare_exchange_weak(&shim_bucket[bucket], &head, k));
	/* An older record with this handle is of something that is gone. It must not be found again
	 * when the new one is forgotten. */
	for (struct shim_kernel *old = head; old; old = old->next)
		if (old->handle == handle)
			old->handle = NULL;
	return k;
}

/* Notes the kernel's module, and what is known of it. */
static void belong(struct shim_code *code, struct shim_module *m)
{
	code->module = m;
	if (!m)
		return;
	if (!m->content)
		m->content = shim_image_content(&m->image);
	code->content = m->content;
	code->reason = m->image.at ? PTX_REASON_NOT_BUILT : m->image.why;
}

/* A variant that was made for the earlier load of the module has the addresses of that load's
 * variables. `build` is read first: build.c adds the variant, and only then leaves
 * SHIM_BUILD_WANTED, so one of the two tells. */
static int has_variant_of_the_past(const struct shim_code *code)
{
	return code->build == SHIM_BUILD_WANTED || atomic_load(&code->variants);
}

/* Under lock: a record without a handle gets this one. */
static void stand_for(struct shim_kernel *k, const void *handle)
{
	k->loaded = NULL;
	k->local_bytes[0] = k->local_bytes[1] = 0;
	k->original = (CUfunction)(uintptr_t)handle;
	k->direct = (CUfunction)(uintptr_t)handle;
	k->handle = handle;
}

/* Is it the forgotten record of a kernel of that name in that module? m NULL: of a graph, or of a
 * function that may never have gone (may_be_of), so that its handle must be the same. */
static int was_of(const struct shim_kernel *k, const struct shim_module *m, const void *handle,
		  const char *name)
{
	return !k->handle && k->code->module == m &&
	       (m ? !m->library : !k->library && !k->ctx && k->original == handle) &&
	       !has_variant_of_the_past(k->code) && strcmp(k->code->name, name) == 0;
}

/*
 * The record of a kernel whose module has been unloaded and loaded again (modules.h), which has no
 * handle. Readers walk the bucket without the lock, so the record must stay there: it fits only if
 * the new handle is of the same bucket. What is known of the kernel's time still holds. NULL: there
 * is none, or another record has the handle.
 */
static struct shim_kernel *use_again(const struct shim_module *m, const void *handle,
				     const char *name)
{
	struct shim_kernel *k = NULL;
	struct shim_code *code;

	if (shim_kernel_seen(handle))
		return NULL;
	pthread_mutex_lock(&lock);
	for (k = shim_bucket[shim_bucket_of(handle)]; k && !was_of(k, m, handle, name); k = k->next)
		;
	if (k) {
		code = k->code;
		code->cache_config = 0;
		code->transform = PTX_TRANSFORM_AS_IS;
		code->build = SHIM_BUILD_NOT;
		stand_for(k, handle);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

/* The same for a function of a library's kernel that went with its context. The caller has made
 * sure that no record has the new handle. */
static struct shim_kernel *alias_again(const void *handle, const struct shim_code *code)
{
	struct shim_kernel *k;

	pthread_mutex_lock(&lock);
	for (k = shim_bucket[shim_bucket_of(handle)]; k; k = k->next)
		if (!k->handle && k->code == code && k->ctx)
			break;
	if (k)
		stand_for(k, handle);
	pthread_mutex_unlock(&lock);
	return k;
}

static struct shim_kernel *add(struct shim_module *m, int library, const void *handle,
			       const char *name)
{
	struct shim_kernel *k = use_again(m, handle, name);
	struct shim_session *s = shim_session_peek();
	struct shim_code *code;

	if (!k)
		k = insert(handle, new_code(name));
	if (!k)
		return NULL;
	code = k->code;
	belong(code, m);
	code->registers = registers_of(handle, library);
	if (s)
		shim_kernel_tell(s, code);
	return k;
}

void shim_kernel_add(const void *module, int library, const void *handle, const char *name)
{
	CUcontext ctx;
	struct shim_module *m = shim_module_find_in(module, &ctx);
	struct shim_kernel *k = shim_kernel_seen(handle);

	/* The driver may reuse the handle of an unloaded kernel for another one, which has another
	 * variant. */
	if (k && strcmp(k->code->name, name) == 0 && k->code->module == m &&
	    k->library == (library ? module : NULL))
		return;
	k = add(m, library, handle, name);
	if (!k)
		return;
	k->library = library ? module : NULL;
	k->ctx = ctx;
}

/* Each context has its own functions. When it is gone their handles may be reused, for the same
 * kernel or for another. */
void shim_kernel_alias(const void *known, const void *handle)
{
	const struct shim_kernel *from = shim_kernel_seen(known);
	struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_session *s = shim_session_peek();
	uint32_t registers;

	if (!from || from->handle == handle || (k && k->code == from->code))
		return;
	k = k ? NULL : alias_again(handle, from->code);
	if (!k)
		k = insert(handle, from->code);
	if (!k)
		return;
	k->ctx = shim_context_handle();
	if (from->code->registers)
		return;
	registers = registers_of(handle, 0);
	from->code->registers = registers;
	if (s && registers)
		shim_kernel_tell(s, from->code);
}

struct shim_kernel *shim_kernel_find(const void *handle)
{
	struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_module *m = NULL;
	CUcontext ctx = NULL;
	CUmodule module = NULL;
	const char *name = NULL;

	/* A graph's handle may be a function's once the graph has gone with its context. */
	if (k && !is_graph(k))
		return k;
	/*
	 * No call has given the program this handle by name: it comes from a list of the module's
	 * functions, or from interfaces of the driver that are not public, by which cuFFT gets
	 * some.
	 */
	if (REAL(cuFuncGetName)(&name, (CUfunction)(uintptr_t)handle) != CUDA_SUCCESS)
		return insert(handle, new_code("?"));
	if (REAL(cuFuncGetModule)(&module, (CUfunction)(uintptr_t)handle) == CUDA_SUCCESS)
		m = shim_module_find_in(module, &ctx);
	shim_barrier_enter(0); /* finding its registers may load it */
	k = add(m, 0, handle, name ? name : "?");
	shim_barrier_leave(0);
	if (k)
		k->ctx = ctx;
	return k;
}

struct shim_kernel *shim_graph_seen(CUgraphExec graph)
{
	struct shim_kernel *k = shim_kernel_seen(graph);

	return k && is_graph(k) ? k : NULL;
}

struct shim_kernel *shim_graph_find(CUgraphExec graph)
{
	struct shim_kernel *k = shim_graph_seen(graph);
	struct shim_session *s = shim_session_peek();

	if (k)
		return k;
	k = use_again(NULL, graph, "(graph)");
	if (!k)
		k = insert(graph, new_code("(graph)"));
	if (!k)
		return NULL;
	k->code->reason = PTX_REASON_GRAPH;
	if (s)
		shim_kernel_tell(s, k->code);
	return k;
}

void shim_kernel_graph(const void *handle, uint32_t local_bytes, uint32_t nodes, uint32_t branches)
{
	struct shim_kernel *k = shim_graph_find((CUgraphExec)(uintptr_t)handle);

	if (!k)
		return;
	k->local_bytes[0] = k->local_bytes[1] = local_bytes;
	k->nodes = nodes;
	k->branches = branches;
	for (size_t i = 0; i < SHIM_DIMS_MAX; i++)
		shim_time_forget(&k->time[i]);
}

int shim_kernel_use(const struct shim_kernel *k)
{
	struct shim_module *m = k->code->module;

	if (!m || !shim_module_use(m))
		return 0;
	if (k->handle)
		return 1;
	shim_module_unuse(m);
	return 0;
}

void shim_kernel_unuse(const struct shim_kernel *k)
{
	shim_module_unuse(k->code->module);
}

enum ptx_reason shim_kernel_why(const struct shim_kernel *k)
{
	return k->code->transform == PTX_TRANSFORM_AS_IS ? (enum ptx_reason)k->code->reason :
							   (enum ptx_reason)k->why;
}

void shim_kernels_each(void (*visit)(struct shim_kernel *k, void *user), void *user)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct shim_kernel *k = shim_bucket[i]; k; k = k->next)
			visit(k, user);
}

void shim_kernel_count(struct shim_kernel *k, const void *context, CUfunction direct)
{
	pthread_mutex_lock(&lock);
	atomic_fetch_add(&k->counts, 1);
	k->direct = direct;
	k->counted_in = context;
	atomic_fetch_add(&k->counts, 1);
	pthread_mutex_unlock(&lock);
}

void shim_kernel_forget(struct shim_kernel *k)
{
	if (k->counted_in)
		shim_kernel_count(k, NULL, k->original);
	k->handle = NULL;
}

/* A function whose module is not known may be of the one that goes: with what is known of it
 * another function could be launched that gets its handle. If it stays, the next launch asks the
 * driver for its name and finds its record again. */
static int may_be_of(const struct shim_kernel *k, const void *module)
{
	const struct shim_module *m = k->code->module;

	return m ? m->handle == module : k->library ? k->library == module : !is_graph(k);
}

static void forget_code(struct shim_kernel *k, void *module)
{
	if (k->handle && may_be_of(k, module))
		shim_kernel_forget(k);
}

void shim_kernels_unloaded(const void *module)
{
	shim_kernels_each(forget_code, (void *)(uintptr_t)module);
}

/* A library's kernel stays, and its functions in other contexts do. */
static int may_go_with(const struct shim_kernel *k, const void *ctx)
{
	const struct shim_module *m = k->code->module;

	if (k->ctx)
		return k->ctx == ctx;
	return m ? m->ending && m->ctx == ctx : !k->library && !is_graph(k);
}

static void forget_ending(struct shim_kernel *k, void *ctx)
{
	if (k->handle && may_go_with(k, ctx))
		shim_kernel_forget(k);
}

void shim_kernels_ending(CUcontext ctx)
{
	shim_kernels_each(forget_ending, ctx);
}

static void announce(struct shim_kernel *k, void *session)
{
	shim_kernel_tell(session, k->code);
}

void shim_kernels_announce(struct shim_session *s)
{
	shim_kernels_each(announce, s);
}

void shim_kernels_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (size_t i = 0; i < BUCKETS; i++) {
		if (atomic_exchange(&shim_bucket[i], NULL))
			shim_place[i].handle = NULL;
	}
}
