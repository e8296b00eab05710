/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches and occupancy. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

/* The parameter block from kernelParams or from extra ("cuLaunchKernel", CUDA driver API). */
static CUresult gather(const struct emu_program *p, uint8_t *block, void **params, void **extra)
{
	const void *buffer = NULL;
	size_t size = 0;

	if (params) {
		for (uint32_t i = 0; i < p->params.n; i++) {
			if (!params[i])
				return CUDA_ERROR_INVALID_VALUE;
			memcpy(block + p->params.param[i].offset, params[i],
			       p->params.param[i].size);
		}
		return CUDA_SUCCESS;
	}
	if (!extra)
		return p->params.n ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (size < p->params.bytes || (p->params.bytes && !buffer))
		return CUDA_ERROR_INVALID_VALUE;
	if (p->params.bytes)
		memcpy(block, buffer, p->params.bytes);
	return CUDA_SUCCESS;
}

static CUresult dims_ok(const struct CUfunc_st *f, const CUlaunchConfig *c)
{
	const struct emu_program *p = f->program;
	uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
	uint32_t dynamic_max = f->dynamic_max ? (uint32_t)f->dynamic_max :
						EMU_SHARED_DEFAULT - p->needs.shared_bytes;
	const uint32_t *req = f->ast->bounds.reqntid, *max = f->ast->bounds.maxntid;

	if (!c->gridDimX || !c->gridDimY || !c->gridDimZ || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > EMU_MAX_THREADS || c->blockDimZ > 64 || c->gridDimY > 65535 ||
	    c->gridDimZ > 65535 || c->gridDimX > INT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (req[0] && (c->blockDimX != req[0] || c->blockDimY != (req[1] ? req[1] : 1) ||
		       c->blockDimZ != (req[2] ? req[2] : 1)))
		return CUDA_ERROR_INVALID_VALUE;
	if (max[0] && threads > (uint64_t)max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1))
		return CUDA_ERROR_INVALID_VALUE;
	if (p->needs.shared_bytes > EMU_SHARED_DEFAULT || c->sharedMemBytes > dynamic_max)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/*
 * The memory of the grid barrier, which lives as long as the process. One cooperative launch at a
 * time uses it.
 */
static CUresult workspace(struct CUctx_st *ctx, uint64_t *ptr)
{
	static uint64_t shared;
	CUresult rc = CUDA_SUCCESS;

	pthread_mutex_lock(&emu.mutex);
	if (!shared)
		rc = emu_alloc(ctx, &shared, 4096, EMU_MEM_MODULE, 0);
	*ptr = shared;
	pthread_mutex_unlock(&emu.mutex);
	return rc;
}

static void set_dims(struct emu_grid *g, const CUlaunchConfig *c)
{
	g->nctaid[0] = c->gridDimX;
	g->nctaid[1] = c->gridDimY;
	g->nctaid[2] = c->gridDimZ;
	g->ntid[0] = c->blockDimX;
	g->ntid[1] = c->blockDimY;
	g->ntid[2] = c->blockDimZ;
	g->total = (uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ;
	g->dynamic_shared = c->sharedMemBytes;
}

CUresult emu_launch_task(struct CUctx_st *ctx, const CUlaunchConfig *c, CUfunction f, void **params,
			 void **extra, int cooperative, struct emu_task **task)
{
	struct emu_task *t;
	struct emu_grid *g;
	CUresult rc;

	if (!emu_handle_is(f, EMU_MAGIC_FUNC, "a function"))
		return CUDA_ERROR_INVALID_HANDLE;
	EMU_TRY(emu_function_prepare(f, NULL));
	EMU_TRY(dims_ok(f, c));
	t = emu_task_new(EMU_T_KERNEL);
	g = calloc(1, sizeof(*g));
	if (!t || !g) {
		free(t);
		free(g);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	t->grid = g;
	t->a = (uintptr_t)f;
	g->program = f->program;
	g->name = f->name;
	set_dims(g, c);
	g->id = atomic_fetch_add(&emu.next_id, 1) + 1;
	g->mem = emu.mem;
	g->nsm = emu.config->sms;
	g->clock_khz = emu.config->clock_khz;
	g->cycles = emu_engine_cycles(emu.engine);
	g->param = calloc(1, f->program->params.bytes + 8);
	rc = g->param ? gather(f->program, g->param, params, extra) : CUDA_ERROR_OUT_OF_MEMORY;
	if (rc == CUDA_SUCCESS && cooperative) {
		rc = g->total > (uint64_t)emu.config->sms * emu.config->blocks_per_sm ?
			     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE :
			     workspace(ctx, &g->workspace);
	}
	if (rc != CUDA_SUCCESS) {
		free(g->param);
		free(g);
		free(t);
		return rc;
	}
	*task = t;
	return CUDA_SUCCESS;
}

static CUresult launch(const CUlaunchConfig *c, CUfunction f, void **params, void **extra,
		       int cooperative)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, c->hStream, &s));
	EMU_TRY(emu_launch_task(ctx, c, f, params, extra, cooperative, &t));
	return emu_stream_enqueue(s, t, NULL);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
				unsigned int bx, unsigned int by, unsigned int bz,
				unsigned int shared, CUstream stream, void **params, void **extra)
{
	CUlaunchConfig c = { gx, gy, gz, bx, by, bz, shared, stream, NULL, 0 };

	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(&c, f, params, extra, 0);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
				  void **extra)
{
	int cooperative = 0;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			cooperative = a->value.cooperative != 0;
		/* a cluster of more than one block has shared memory that this device lacks */
		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
		    (a->value.clusterDim.x > 1 || a->value.clusterDim.y > 1 ||
		     a->value.clusterDim.z > 1))
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	}
	return launch(config, f, params, extra, cooperative);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
					   unsigned int gz, unsigned int bx, unsigned int by,
					   unsigned int bz, unsigned int shared, CUstream stream,
					   void **params)
{
	CUlaunchConfig c = { gx, gy, gz, bx, by, bz, shared, stream, NULL, 0 };

	return launch(&c, f, params, NULL, 1);
}

static CUresult host_function(struct CUctx_st *ctx, struct emu_task *t)
{
	(void)ctx;
	((CUhostFn)(uintptr_t)t->a)((void *)(uintptr_t)t->b);
	return CUDA_SUCCESS;
}

CUresult emu_host_task(CUhostFn fn, void *data, struct emu_task **task)
{
	struct emu_task *t;

	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = host_function;
	t->node = CU_GRAPH_NODE_TYPE_HOST;
	t->a = (uintptr_t)fn;
	t->b = (uintptr_t)data;
	*task = t;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	EMU_TRY(emu_host_task(fn, data, &t));
	return emu_stream_enqueue(s, t, NULL);
}

/* Blocks of the function that are resident on an SM at once: the device's places, whatever their
 * shape. */
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f,
								      int block_size,
								      size_t dynamic_shared,
								      unsigned int flags)
{
	(void)flags;
	if (!blocks || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!emu_handle_is(f, EMU_MAGIC_FUNC, "a function"))
		return CUDA_ERROR_INVALID_HANDLE;
	EMU_TRY(emu_function_prepare(f, NULL));
	*blocks = block_size > EMU_MAX_THREADS ||
				  f->program->needs.shared_bytes + dynamic_shared > EMU_SHARED_MAX ?
			  0 :
			  (int)emu.config->blocks_per_sm;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f,
							     int block_size, size_t dynamic_shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block_size,
								    dynamic_shared, 0);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size,
							   CUfunction f, CUoccupancyB2DSize fn,
							   size_t dynamic_shared, int limit,
							   unsigned int flags)
{
	int max;

	(void)flags;
	(void)fn;
	(void)dynamic_shared;
	if (!min_grid || !block_size)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(cuFuncGetAttribute(&max, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	*block_size = limit > 0 && limit < max ? limit : max;
	*min_grid = (int)(emu.config->sms * emu.config->blocks_per_sm);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, CUfunction f,
						  CUoccupancyB2DSize fn, size_t dynamic_shared,
						  int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, f, fn,
							 dynamic_shared, limit, 0);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_shared, CUfunction f,
							 int blocks, int block_size)
{
	if (!dynamic_shared || blocks <= 0 || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!emu_handle_is(f, EMU_MAGIC_FUNC, "a function"))
		return CUDA_ERROR_INVALID_HANDLE;
	EMU_TRY(emu_function_prepare(f, NULL));
	*dynamic_shared = EMU_SHARED_DEFAULT - f->program->needs.shared_bytes;
	return CUDA_SUCCESS;
}
