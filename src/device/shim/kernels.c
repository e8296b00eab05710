/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles to kernels; see kernels.h. */
#define _GNU_SOURCE
#include "device/shim/kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/shim/session.h"

#define BUCKETS (1 << SHIM_BUCKET_BITS)

struct module {
	const void *handle;
	const void *library; /* whose description it shares, or NULL */
	struct ptx_transformed *t;
	enum ptx_reason why; /* t is NULL */
	struct module *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *modules;  /* under lock */
static struct module *unloaded; /* under lock: their kernels' records point there */
_Atomic(struct shim_kernel *) shim_bucket[BUCKETS];
struct shim_kernel shim_place[BUCKETS];

void shim_module_add(const void *module, struct ptx_transformed *t, enum ptx_reason why)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m) {
		ptx_transformed_free(t);
		return;
	}
	m->handle = module;
	m->t = t;
	m->why = why;
	pthread_mutex_lock(&lock);
	m->next = modules;
	modules = m;
	pthread_mutex_unlock(&lock);
}

/*
 * The kernels' records point into the description, and a launch may be
 * reading one: only the text is given up.
 */
void shim_module_gone(const void *module)
{
	struct module **at = &modules, *m;
	int found = 0;

	pthread_mutex_lock(&lock);
	while ((m = *at)) {
		/* The newest of that handle, and a library's modules with it. */
		if (m->library != module && (m->handle != module || found)) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		found |= m->handle == module;
		if (!m->t || m->library) {
			free(m);
			continue;
		}
		free(m->t->text);
		m->t->text = NULL;
		m->next = unloaded;
		unloaded = m;
	}
	pthread_mutex_unlock(&lock);
}

void shim_module_alias(const void *library, const void *module)
{
	struct module *known = NULL, *alias = NULL, *m = calloc(1, sizeof(*m));

	pthread_mutex_lock(&lock);
	for (struct module *at = modules; at; at = at->next) {
		if (!known && at->handle == library)
			known = at;
		if (!alias && at->handle == module)
			alias = at;
	}
	/* What was another module with this handle, whose context took it along, is not this one.
	 */
	if (m && known && (!alias || alias->t != known->t || alias->why != known->why)) {
		m->handle = module;
		m->library = library;
		m->t = known->t;
		m->why = known->why;
		m->next = modules;
		modules = m;
		m = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(m);
}

/* NULL: *why it has no description. */
static const struct ptx_kernel *described(const void *module, const char *name, uint64_t *content,
					  enum ptx_reason *why)
{
	const struct ptx_kernel *found = NULL;

	*why = PTX_REASON_UNSEEN;
	pthread_mutex_lock(&lock);
	for (struct module *m = modules; m; m = m->next) {
		if (m->handle != module)
			continue;
		/* The newest, even if nothing is known of it: an older one has gone with its
		 * context. */
		*content = m->t ? m->t->content : 0;
		/* What the PTX does not have was linked with it. */
		*why = m->t ? PTX_REASON_MACHINE_CODE : m->why;
		for (uint32_t i = 0; m->t && i < m->t->nkernel; i++)
			if (strcmp(m->t->kernel[i].name, name) == 0)
				found = &m->t->kernel[i];
		break;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

int shim_module_has_variants(const void *module)
{
	struct module *m;
	int has = 0;

	pthread_mutex_lock(&lock);
	for (m = modules; m && m->handle != module; m = m->next)
		;
	for (uint32_t i = 0; m && m->t && i < m->t->nkernel; i++)
		has |= shim_launches(m->t->kernel[i].transform);
	pthread_mutex_unlock(&lock);
	return has;
}

/* Why nothing is known of a function that no call has given to the program: cuFFT gets some by the
 * driver's own ways. */
static enum ptx_reason unseen(CUfunction f)
{
	enum ptx_reason why = PTX_REASON_UNSEEN;
	CUmodule module = NULL;
	struct module *m;

	if (REAL(cuFuncGetModule)(&module, f) != CUDA_SUCCESS)
		return why;
	pthread_mutex_lock(&lock);
	for (m = modules; m && m->handle != module; m = m->next)
		;
	if (m && !m->t)
		why = m->why;
	pthread_mutex_unlock(&lock);
	return why;
}

static void announce(struct shim_kernel *k, void *client)
{
	gs_client_kernel(client, k->number, k->transform, k->reason, k->registers, k->content,
			 k->name);
}

/* Asked once, not at each launch.  Of a library's kernel they are the current device's; without
 * one, not known yet. */
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

/* For good.  NULL: no memory. */
static struct shim_kernel *new_record(size_t bucket, const char *name)
{
	struct shim_kernel *k = &shim_place[bucket];
	char *own = strdup(name);

	if (own && atomic_flag_test_and_set(&k->placed))
		k = shim_lines(sizeof(*k));
	if (own && k) {
		k->name = own;
		return k;
	}
	free(own);
	return NULL;
}

static struct shim_kernel *insert(const void *handle, const char *name)
{
	struct shim_session *s = shim_session_peek();
	size_t bucket = shim_bucket_of(handle);
	struct shim_kernel *k = new_record(bucket, name), *head, *placed = &shim_place[bucket];

	if (!k)
		return NULL;
	k->original = k->direct = (CUfunction)(uintptr_t)handle;
	k->transform = PTX_TRANSFORM_AS_IS;
	k->reason = PTX_REASON_UNSEEN;
	k->number = s ? atomic_fetch_add(&s->kernels, 1) : 0;
	k->handle = handle;
	head = atomic_load(&shim_bucket[bucket]);
	do
		k->next = head;
	while (!atomic_compare_exchange_weak(&shim_bucket[bucket], &head, k));
	if (k != placed && placed->handle == handle)
		placed->handle = NULL;
	return k;
}

/* The variant beside the original, by its name.  The driver takes each handle for what it is. */
static CUfunction variant_of(const void *module, int library, const char *name,
			     enum ptx_transform_kind transform)
{
	CUfunction f = NULL;
	CUkernel kernel = NULL;
	CUresult rc;
	char *variant; /* templates give names of several thousand characters */

	if (asprintf(&variant, "%s%s", name, ptx_transform_suffix(transform)) < 0)
		return NULL;
	if (library) {
		rc = REAL(cuLibraryGetKernel)(&kernel, (CUlibrary)(uintptr_t)module, variant);
		f = (CUfunction)(uintptr_t)kernel;
	} else {
		rc = REAL(cuModuleGetFunction)(&f, (CUmodule)(uintptr_t)module, variant);
	}
	free(variant);
	if (rc == CUDA_SUCCESS)
		return f;
	shim_log("kernel %s: the preemptible variant is missing (%d)", name, rc);
	return NULL;
}

void shim_kernel_add(const void *module, int library, const void *handle, const char *name)
{
	uint64_t content = 0;
	enum ptx_reason why;
	const struct ptx_kernel *d = described(module, name, &content, &why);
	struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_session *s = shim_session_peek();
	int launches = d && shim_launches(d->transform);
	CUfunction variant = launches ? variant_of(module, library, name, d->transform) : NULL;

	/* The driver gives the number of an unloaded kernel to another one, whose variant is
	 * another. */
	if (k && strcmp(k->name, name) == 0 && !d == !k->param_offset && k->content == content &&
	    k->variant == variant && (d || k->reason == why) &&
	    k->library == (library ? module : NULL))
		return;
	k = insert(handle, name);
	if (!k)
		return;
	k->library = library ? module : NULL;
	k->content = content;
	k->reason = why;
	if (d) {
		k->transform = d->transform;
		k->reason = d->reason;
		k->nparam = d->nparam;
		k->param_offset = d->param_offset;
		k->param_size = d->param_size;
		k->ctl_offset = d->ctl_offset;
		k->needs.whole_warps = d->whole_warps && d->transform == PTX_TRANSFORM_PERSISTENT;
		k->variant = variant;
		if (launches && !k->variant) {
			k->transform = PTX_TRANSFORM_AS_IS;
			k->reason = PTX_REASON_NO_VARIANT;
		}
	}
	k->registers = registers_of(handle, library);
	if (s)
		announce(k, s->client);
}

void shim_kernel_alias(const void *known, const void *handle)
{
	const struct shim_kernel *from = shim_kernel_seen(known);
	struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_session *s = shim_session_peek();
	CUstreamCaptureMode mode;
	CUfunction variant = NULL;

	if (!from || from->handle == handle)
		return;
	/* Not every call takes a library's kernel for a function: the variant's own function, too.
	 */
	if (from->variant && !from->variant_absent) {
		shim_capture_relax(&mode);
		if (REAL(cuKernelGetFunction)(&variant, (CUkernel)(uintptr_t)from->variant) !=
		    CUDA_SUCCESS)
			variant = NULL;
		shim_capture_restore(mode);
	}
	/* As above: each context has functions of its own, whose numbers come again when it is
	 * gone. */
	if (k && k->number == from->number && k->variant == variant)
		return;
	k = insert(handle, from->name);
	if (!k)
		return;
	k->variant = variant;
	k->transform = from->variant && !k->variant ? PTX_TRANSFORM_AS_IS : from->transform;
	k->reason = from->variant && !k->variant ? PTX_REASON_NO_VARIANT : from->reason;
	k->nparam = from->nparam;
	k->param_offset = from->param_offset;
	k->param_size = from->param_size;
	k->ctl_offset = from->ctl_offset;
	k->needs = from->needs;
	k->number = from->number;
	k->content = from->content;
	k->registers = from->registers ? from->registers : registers_of(handle, 0);
	if (s && k->registers != from->registers)
		announce(k, s->client);
}

struct shim_kernel *shim_kernel_find(const void *handle)
{
	struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_session *s = shim_session_peek();
	const char *name = NULL;

	if (k)
		return k;
	if (REAL(cuFuncGetName)(&name, (CUfunction)(uintptr_t)handle) != CUDA_SUCCESS)
		name = NULL;
	k = insert(handle, name ? name : "?");
	if (k && name) {
		k->registers = registers_of(handle, 0);
		k->reason = unseen((CUfunction)(uintptr_t)handle);
	}
	if (k && s)
		announce(k, s->client);
	return k;
}

struct shim_kernel *shim_graph_find(CUgraphExec graph)
{
	struct shim_kernel *k = shim_kernel_seen(graph);
	struct shim_session *s = shim_session_peek();

	if (k && k->reason == PTX_REASON_GRAPH)
		return k;
	k = insert(graph, "(graph)");
	if (!k)
		return NULL;
	k->reason = PTX_REASON_GRAPH;
	if (s)
		announce(k, s->client);
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

enum ptx_reason shim_kernel_why(const struct shim_kernel *k)
{
	return k->reason != PTX_REASON_NONE ? k->reason : (enum ptx_reason)k->why;
}

struct shim_time *shim_kernel_time(struct shim_kernel *k, const unsigned int block[3],
				   uint64_t tasks)
{
	uint32_t dims = shim_dims(block[0], block[1], block[2], tasks);

	for (size_t i = 0; i < SHIM_DIMS_MAX - 1; i++) {
		uint32_t known = atomic_load_explicit(&k->time[i].dims, memory_order_relaxed);

		if (known == dims ||
		    (!known && (atomic_compare_exchange_strong(&k->time[i].dims, &known, dims) ||
				known == dims)))
			return &k->time[i];
	}
	return &k->time[SHIM_DIMS_MAX - 1];
}

uint64_t shim_kernel_launches(const struct shim_kernel *k)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SHIM_DIMS_MAX; i++)
		n += shim_time_launches(&k->time[i]);
	return n;
}

/* Shapes are taken in turn, so that the first free one is the last to look at. */
static uint64_t untracked_of(const struct shim_kernel *k)
{
	uint64_t n = 0;

	for (size_t i = 0; i < SHIM_DIMS_MAX && (k->time[i].dims || i == SHIM_DIMS_MAX - 1); i++)
		n += shim_time_untracked(&k->time[i]);
	return n;
}

/* What has been told is read before what there is, which only grows: never less than has been told.
 */
uint32_t shim_kernel_take_untracked(struct shim_kernel *k)
{
	uint64_t told = k->untracked_told, n;

	do {
		n = untracked_of(k) - told;
		if (n > UINT32_MAX)
			n = UINT32_MAX;
	} while (n && !atomic_compare_exchange_weak(&k->untracked_told, &told, told + n));
	return (uint32_t)n;
}

void shim_kernel_recall(struct shim_session *s, struct shim_kernel *k, struct shim_time *t,
			const unsigned int block[3], uint64_t tasks, double part)
{
	uint64_t none = 0, tpt;

	if (t->tpt_ps || atomic_flag_test_and_set(&t->requested))
		return;
	tpt = gs_client_time(s->client, k->number,
			     gs_slot_dims(block[0], block[1], block[2], shim_size(tasks)));
	if (tpt)
		atomic_compare_exchange_strong(&t->tpt_ps, &none,
					       (uint64_t)((double)tpt * part) + 1);
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

/* A kernel of another library keeps its number. */
static void forget_code(struct shim_kernel *k, void *module)
{
	if (k->library && k->library != module)
		return;
	if (k->counted_in)
		shim_kernel_count(k, NULL, k->original);
	k->occupancy = 0;
	k->variant_absent = 0;
}

void shim_kernels_unloaded(const void *module)
{
	shim_kernels_each(forget_code, (void *)(uintptr_t)module);
}

void shim_kernels_announce(struct shim_session *s)
{
	shim_kernels_each(announce, s->client);
}

void shim_kernels_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	modules = unloaded = NULL;
	for (size_t i = 0; i < BUCKETS; i++) {
		if (atomic_exchange(&shim_bucket[i], NULL))
			shim_place[i].handle = NULL;
	}
}
