/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs: walking what one is made of, and what an executable one's kernels take of local memory,
 * which the program may change from launch to launch.
 */
#ifndef GPUSHARE_SHIM_GRAPH_H
#define GPUSHARE_SHIM_GRAPH_H

#include "device/shim/base/shim.h"

struct shim_kernel;

#define SHIM_GRAPH_DEPTH_MAX 16 /* of child graphs; below it nothing is known */

/*
 * Each node, with those of child graphs: a child graph's own node first.  0; 1: not what is in the
 * seventeenth child graph of each other; 2: not what the driver did not tell of; -1: not each, for
 * want of memory.
 */
int shim_graph_each(CUgraph graph,
		    void (*visit)(CUgraphNode node, CUgraphNodeType type, void *user), void *user);

/*
 * So many of its nodes may be at work at once, at most: as many as there are paths, each from one
 * node to one that depends on it, that all nodes lie on (Dilworth); not always the fewest such
 * paths.  Those of child graphs are counted as if they were all at work together.  UINT32_MAX: for
 * want of memory it is not known.
 */
uint32_t shim_graph_branches(CUgraph graph);

/* The driver has made an executable graph of `graph`. */
void shim_graph_made(CUgraphExec exec, CUgraph graph);
/* The program is about to destroy it. */
void shim_graph_gone(CUgraphExec exec);

/*
 * A launch of it has been given to the driver: whatever it takes in local memory, it has now (but
 * perhaps for bodies of conditions that have not run, which nothing tells of), until it is changed.
 */
void shim_graph_went(struct shim_kernel *graph);

/* It has been launched: the copies in it are counted. */
void shim_graph_copied(CUgraphExec exec);

/* In a forked child. */
void shim_graph_forked(void);

#endif
