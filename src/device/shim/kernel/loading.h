/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lazy loading, the driver's default (CUDA_MODULE_LOADING).
 *
 * Whatever first needs a library in a context, or a kernel of it there, has the driver load that,
 * for which it may wait, with its lock, until nothing runs in that context: behind a held kernel
 * that is a deadlock (barrier rule).  The first kernel of a library always waits, later ones where
 * they need more memory for their code (doc/measurements/h200-lazy*.csv).  So such a call closes
 * the barrier, and what it needs is loaded first.
 *
 * But two kernels of a program may wait for each other, one of them held.  Mostly they come from
 * one source file: a library or module in which a kernel could be held comes as a whole.
 */
#ifndef GPUSHARE_SHIM_LOADING_H
#define GPUSHARE_SHIM_LOADING_H

#include "device/shim/base/shim.h"

/* One such call, on its caller's stack. */
struct shim_load {
	int in_barrier;
	CUresult rc; /* of loading */
};

/*
 * Before a call for a kernel, which may be a CUkernel or a CUfunction of any kind (also NULL or
 * none, which is the driver's to say), in that context, NULL: the current one.
 */
void shim_load_enter(struct shim_load *l, const void *kernel, CUcontext ctx);

/* The same before one that makes a graph's node of a kernel; NULL: of none. */
void shim_load_enter_node(struct shim_load *l, const CUDA_KERNEL_NODE_PARAMS *node);

/* The same before one for a variable of a library in the current context; for its module there,
 * which gives all of it. */
void shim_load_enter_library(struct shim_load *l, CUlibrary library);
void shim_load_enter_module(struct shim_load *l, CUlibrary library);

/* After it; returns rc. */
CUresult shim_load_leave(const struct shim_load *l, CUresult rc);

/* Such a kernel is about to be launched in the current context: it is there then, or else this is
 * what the launch says. */
CUresult shim_load_now(const void *kernel);

/*
 * The barrier is closed and a module has been loaded: so are its functions, if they are few, as are
 * those of a module that a program has compiled itself.  Of others each is loaded as the program
 * comes to it.  1: all of them are loaded.
 */
int shim_load_module(CUmodule module);

/* Before the program asks for a function of a module by name, which loads it. */
void shim_load_enter_by_name(struct shim_load *l, CUmodule module);

/* The program has got it so: it is loaded. */
void shim_load_is_loaded(CUfunction f);

/* About to be unloaded, about to be destroyed: what was there is not any more. */
void shim_load_gone_library(CUlibrary library);
void shim_load_gone_context(CUcontext ctx);

/* In a forked child: nothing is there. */
void shim_load_forked(void);

#endif
