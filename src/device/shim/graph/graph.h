/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs: visiting the nodes that a graph is made of, and how much local memory an executable
 * graph's kernels need, which the program may change between launches. */
#ifndef GPUSHARE_SHIM_GRAPH_H
#define GPUSHARE_SHIM_GRAPH_H

#include "device/shim/base/shim.h"

struct shim_kernel;

#define SHIM_GRAPH_DEPTH_MAX 16 /* nesting of child graphs; below this depth nothing is known */

/*
 * Calls the function for each node, including those of child graphs; a child graph's own node comes
 * first. Returns 0; 1: except for the seventeenth level of child graphs and below; 2: except for
 * what the driver does not tell; -1: not for every node, since there is no memory.
 */
int shim_graph_each(CUgraph graph,
		    void (*visit)(CUgraphNode node, CUgraphNodeType type, void *user), void *user);

/*
 * How many of its nodes may run at once, at most: as many as there are paths that together contain
 * all nodes, each path from a node to one that depends on it (Dilworth); not always the smallest
 * such number. Those of child graphs are counted as if they all ran at once. UINT32_MAX: not known,
 * since there is no memory.
 */
uint32_t shim_graph_branches(CUgraph graph);

/* The driver has made an executable graph of `graph`. */
void shim_graph_made(CUgraphExec exec, CUgraph graph);
/* The program is about to destroy the executable graph. */
void shim_graph_gone(CUgraphExec exec);

/*
 * A launch of the graph has been given to the driver: the context now has the local memory that it
 * needs, until the graph is changed. (Except perhaps for bodies of conditional nodes that have not
 * run, which no call tells.)
 */
void shim_graph_went(struct shim_kernel *graph);

/* Counts the copies of a graph that has been launched. */
void shim_graph_copied(CUgraphExec exec);

/* In a forked child: forgets the parent's graphs. */
void shim_graph_forked(void);

#endif
