/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of kernels, by their handles; see kernels.h. */
#define _GNU_SOURCE
#include "device/shim/kernel/kernels.h"

#include "device/shim/context/barrier.h"
#include "device/shim/context/context.h"
#include "device/shim/kernel/records.h"
#include "device/shim/session/session.h"

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

static int is_graph(const struct shim_kernel *k)
{
	return k->code->reason == PTX_REASON_GRAPH;
}

static struct shim_kernel *add(const struct shim_identity *is, struct shim_module *m,
			       const char *name)
{
	struct shim_kernel *k =
		is->library || is->ctx ? NULL : shim_record_again(m, is->handle, name);
	struct shim_session *s = shim_session_peek();
	struct shim_code *code;

	if (!k) {
		code = shim_code_new(name);
		if (code)
			shim_code_belongs(code, m);
		k = shim_record_add(is, code);
	} else {
		shim_code_belongs(k->code, m);
	}
	if (!k)
		return NULL;
	k->code->registers = registers_of(is->handle, is->library != NULL);
	if (s)
		shim_kernel_tell(s, k->code);
	return k;
}

void shim_kernel_add(const void *module, int library, const void *handle, const char *name)
{
	struct shim_identity is = { .handle = handle, .library = library ? module : NULL };
	struct shim_module *m = shim_module_find_in(module, &is.ctx);

	/* The driver may reuse the handle of an unloaded kernel for another one, which has another
	 * variant. */
	if (!shim_record_is_known(&is, m, name))
		add(&is, m, name);
}

/* Each context has its own functions. When it is gone their handles may be reused, for the same
 * kernel or for another. */
void shim_kernel_alias(const void *known, const void *handle)
{
	const struct shim_kernel *from = shim_kernel_seen(known);
	const struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_session *s = shim_session_peek();
	struct shim_identity is = { .handle = handle };
	uint32_t registers;

	if (!from || from->handle == handle || (k && k->code == from->code))
		return;
	is.ctx = shim_context_handle();
	if (!shim_record_alias(&is, from->code) || from->code->registers)
		return;
	registers = registers_of(handle, 0);
	from->code->registers = registers;
	if (s && registers)
		shim_kernel_tell(s, from->code);
}

struct shim_kernel *shim_kernel_find(const void *handle)
{
	struct shim_kernel *k = shim_kernel_seen(handle);
	struct shim_identity is = { .handle = handle };
	struct shim_module *m = NULL;
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
		return shim_record_add(&is, shim_code_new("?"));
	if (REAL(cuFuncGetModule)(&module, (CUfunction)(uintptr_t)handle) == CUDA_SUCCESS)
		m = shim_module_find_in(module, &is.ctx);
	shim_barrier_enter(0); /* finding its registers may load it */
	k = add(&is, m, name ? name : "?");
	shim_barrier_leave(0);
	return k;
}

struct shim_kernel *shim_graph_seen(CUgraphExec graph)
{
	struct shim_kernel *k = shim_kernel_seen(graph);

	return k && is_graph(k) ? k : NULL;
}

struct shim_kernel *shim_graph_find(CUgraphExec graph)
{
	const struct shim_identity is = { .handle = graph };
	struct shim_kernel *k = shim_graph_seen(graph);
	struct shim_session *s = shim_session_peek();
	struct shim_code *code;

	if (k)
		return k;
	k = shim_record_again(NULL, graph, "(graph)");
	if (!k) {
		code = shim_code_new("(graph)");
		if (code)
			code->reason = PTX_REASON_GRAPH;
		k = shim_record_add(&is, code);
	}
	if (!k)
		return NULL;
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
		shim_record_forget(k);
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
		shim_record_forget(k);
}

void shim_kernels_ending(CUcontext ctx)
{
	shim_kernels_each(forget_ending, ctx);
}

static void forget_ended(struct shim_kernel *k, void *ctx)
{
	const struct shim_context *in = k->counted_in;

	if (in && in->gone && in->ctx == ctx)
		shim_kernel_count(k, NULL, k->original);
	if (!k->handle && k->ctx && k->ctx == ctx)
		k->over = 1;
}

void shim_kernels_ended(CUcontext ctx)
{
	shim_kernels_each(forget_ended, ctx);
}

void shim_kernel_graph_gone(struct shim_kernel *k)
{
	shim_record_forget(k);
	k->over = 1;
}

static void announce(struct shim_kernel *k, void *session)
{
	shim_kernel_tell(session, k->code);
}

void shim_kernels_announce(struct shim_session *s)
{
	shim_kernels_keep();
	shim_kernels_each(announce, s);
	shim_kernels_release();
}

void shim_kernels_forked(void)
{
	shim_records_forked();
}
