/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs: nodes are tasks that have not been given to a stream.  Captured and
 * built graphs are the same; an executable one is its tasks in an order that
 * the dependencies allow, run by the stream's thread as one task.
 */
#ifndef GPUSHARE_EMU_GRAPH_H
#define GPUSHARE_EMU_GRAPH_H

#include "device/emu/emu.h"

struct CUgraphNode_st {
	uint32_t magic;
	struct CUgraph_st *graph;
	CUgraphNodeType type;
	struct emu_task *task; /* the prototype; NULL: an empty node or a child graph */
	struct CUgraph_st *child;
	struct emu_node_list deps;
	size_t index; /* in the graph; used while it is ordered */
	int visited;
	size_t level;  /* nodes of the longest way to it; used while it is ordered */
	void **params; /* what the kernel's parameters were said to be, when asked for */
};

struct CUgraph_st {
	uint32_t magic;
	struct CUctx_st *ctx;
	uint64_t ctx_id; /* of which its kernels are, and with which they go */
	struct emu_node_list nodes;
	uint32_t branches; /* tasks on one level that go through channels, at most; once it has been
			      ordered */
};

/* The tasks of a graph in an order that its edges allow. */
struct emu_steps {
	struct CUctx_st *ctx;
	_Atomic unsigned int refs; /* the graph's, and one for each launch that has not run yet */
	struct emu_step {
		const struct CUgraphNode_st *node; /* never followed: names the step */
		struct emu_task *task;
	} * step;
	size_t n;
};

struct CUgraphExec_st {
	uint32_t magic;
	struct CUctx_st *ctx;
	uint64_t ctx_id;
	struct emu_steps *now; /* what the next launch runs: changes make new ones */
	uint32_t branches;     /* which are of the same shape */
	_Atomic unsigned int refs;
	pthread_mutex_t mutex; /* one launch at a time runs */
};

/* A live graph's or node's handle, of a process that may call; else the error. */
CUresult emu_graph_check(const struct CUgraph_st *graph);
CUresult emu_node_check(const struct CUgraphNode_st *node);

int emu_nodes_add(struct emu_node_list *list, struct CUgraphNode_st *node); /* -1: no memory */
void emu_nodes_clear(struct emu_node_list *list);
int emu_nodes_copy(struct emu_node_list *to, const struct emu_node_list *from);

struct CUgraph_st *emu_graph_new(struct CUctx_st *ctx);
void emu_graph_free(struct CUgraph_st *graph); /* NULL is fine */
/* The task (may be NULL) is the node's from here on, unless NULL comes back: no memory. */
struct CUgraphNode_st *emu_graph_add(struct CUgraph_st *graph, CUgraphNodeType type,
				     struct emu_task *task, struct CUgraphNode_st *const *deps,
				     size_t n);
struct CUgraph_st *emu_graph_clone(struct CUgraph_st *graph);
/* NULL: no memory, or a cycle. */
struct CUgraphExec_st *emu_exec_new(struct CUgraph_st *graph);
void emu_exec_release(struct CUgraphExec_st *exec);
struct emu_steps *emu_steps_copy(const struct emu_steps *steps); /* NULL: no memory */
void emu_steps_release(struct emu_steps *steps);
/* The task that runs the graph. */
CUresult emu_exec_run(struct CUctx_st *ctx, struct emu_task *t);

#endif
