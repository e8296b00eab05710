/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls that may load a library into a context and are otherwise only forwarded. Others that
 * may: cuKernelGetFunction and cuLibraryGetModule (module.c), calls that change executable graphs
 * (graph.c), launches (launch.c), and calls that set a kernel's attributes, which wait anyway.
 */
#define _GNU_SOURCE
#include "device/shim/base/counted.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/base/wraps.h"

#define MAY_LOAD(kernel, name, params, args) \
	SHIM_EXPORT CUresult name params \
	{ \
		struct shim_load l; \
		shim_load_enter(&l, kernel, NULL); \
		return shim_load_leave(&l, REAL(name) args); \
	}
#define MAY_LOAD_LIBRARY(name, params, args) \
	SHIM_EXPORT CUresult name params \
	{ \
		struct shim_load l; \
		shim_load_enter_library(&l, library); \
		return shim_load_leave(&l, REAL(name) args); \
	}

#define VARIABLE (CUdeviceptr * ptr, size_t * bytes, CUlibrary library, const char *name)
MAY_LOAD_LIBRARY(cuLibraryGetGlobal, VARIABLE, (ptr, bytes, library, name))
MAY_LOAD_LIBRARY(cuLibraryGetUnifiedFunction, (void **f, CUlibrary library, const char *symbol),
		 (f, library, symbol))

/* The program reads and writes the variable without a call. */
SHIM_EXPORT CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
					 const char *name)
{
	struct shim_load l;

	shim_counted_give_up();
	shim_load_enter_library(&l, library);
	return shim_load_leave(&l, REAL(cuLibraryGetManaged)(ptr, bytes, library, name));
}

MAY_LOAD(kernel, cuKernelGetParamInfo,
	 (CUkernel kernel, size_t index, size_t *offset, size_t *size),
	 (kernel, index, offset, size))

MAY_LOAD(f, cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction f),
	 (value, attribute, f))

MAY_LOAD(f, cuOccupancyMaxActiveBlocksPerMultiprocessor,
	 (int *blocks, CUfunction f, int threads, size_t shared), (blocks, f, threads, shared))
MAY_LOAD(f, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	 (int *blocks, CUfunction f, int threads, size_t shared, unsigned int flags),
	 (blocks, f, threads, shared, flags))
MAY_LOAD(f, cuOccupancyMaxPotentialBlockSize,
	 (int *grid, int *block, CUfunction f, CUoccupancyB2DSize fn, size_t shared, int limit),
	 (grid, block, f, fn, shared, limit))
MAY_LOAD(f, cuOccupancyMaxPotentialBlockSizeWithFlags,
	 (int *grid, int *block, CUfunction f, CUoccupancyB2DSize fn, size_t shared, int limit,
	  unsigned int flags),
	 (grid, block, f, fn, shared, limit, flags))
MAY_LOAD(f, cuOccupancyAvailableDynamicSMemPerBlock,
	 (size_t * shared, CUfunction f, int blocks, int threads), (shared, f, blocks, threads))
MAY_LOAD(f, cuOccupancyMaxActiveClusters,
	 (int *clusters, CUfunction f, const CUlaunchConfig *config), (clusters, f, config))
MAY_LOAD(f, cuOccupancyMaxPotentialClusterSize,
	 (int *size, CUfunction f, const CUlaunchConfig *config), (size, f, config))

#define MAY_LOAD_NODE(kernel_node, name, params, args) \
	SHIM_EXPORT CUresult name params \
	{ \
		struct shim_load l; \
		shim_load_enter_node(&l, kernel_node); \
		return shim_load_leave(&l, REAL(name) args); \
	}

/* The struct of the oldest calls ends before the library's kernel. */
static const void *function_in(const CUDA_KERNEL_NODE_PARAMS *p)
{
	return p ? p->func : NULL;
}

static const CUDA_KERNEL_NODE_PARAMS *kernel_in(const struct shim_node_params *p)
{
	return p && p->type == CU_GRAPH_NODE_TYPE_KERNEL ? &p->is.kernel : NULL;
}

#define ADD_KERNEL \
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *deps, size_t n, \
	 const CUDA_KERNEL_NODE_PARAMS *p)
MAY_LOAD(function_in(p), cuGraphAddKernelNode, ADD_KERNEL, (node, graph, deps, n, p))
MAY_LOAD_NODE(p, cuGraphAddKernelNode_v2, ADD_KERNEL, (node, graph, deps, n, p))
MAY_LOAD_NODE(kernel_in(p), cuGraphAddNode,
	      (CUgraphNode * node, CUgraph graph, const CUgraphNode *deps, size_t n,
	       struct shim_node_params *p),
	      (node, graph, deps, n, p))
MAY_LOAD_NODE(kernel_in(p), cuGraphAddNode_v2,
	      (CUgraphNode * node, CUgraph graph, const CUgraphNode *deps, const void *edges,
	       size_t n, struct shim_node_params *p),
	      (node, graph, deps, edges, n, p))

#define SET_KERNEL (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
MAY_LOAD(function_in(p), cuGraphKernelNodeSetParams, SET_KERNEL, (node, p))
MAY_LOAD_NODE(p, cuGraphKernelNodeSetParams_v2, SET_KERNEL, (node, p))
MAY_LOAD_NODE(kernel_in(p), cuGraphNodeSetParams, (CUgraphNode node, struct shim_node_params *p),
	      (node, p))
