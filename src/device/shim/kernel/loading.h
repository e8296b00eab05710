/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lazy loading, the driver's default (CUDA_MODULE_LOADING).
 *
 * The first call that needs a library in a context, or a kernel of it there, makes the driver load
 * it. The driver may then wait, with its lock held, until nothing runs in that context; behind a
 * preemptible kernel that is a deadlock (context/barrier.h). The first kernel of a library always
 * waits, later ones if they need more memory for their code (doc/measurements/h200-lazy*.csv). So
 * such a call closes the barrier, and what it needs is loaded first.
 *
 * However, two kernels of a program may wait for each other, and one of them may be preemptible.
 * Mostly they come from one source file, so a library or module with a kernel that could be
 * preemptible is loaded as a whole.
 */
#ifndef GPUSHARE_SHIM_LOADING_H
#define GPUSHARE_SHIM_LOADING_H

#include "device/shim/base/shim.h"

/* One such call, on its thread's stack. */
struct shim_load {
	int in_barrier;
	CUresult rc; /* result of the loading */
};

/*
 * Call before a driver call that needs a kernel in the context `ctx` (NULL: the current one). The
 * kernel may be a CUkernel or any CUfunction; NULL and invalid handles are left to the driver.
 * Every shim_load_enter... needs a shim_load_leave().
 */
void shim_load_enter(struct shim_load *l, const void *kernel, CUcontext ctx);

/* The same before a call that makes a graph node of a kernel; node NULL: of no kernel. */
void shim_load_enter_node(struct shim_load *l, const CUDA_KERNEL_NODE_PARAMS *node);

/* The same before a call that needs a variable of a library in the current context; or that needs
 * its module there, which gives access to all of it. */
void shim_load_enter_library(struct shim_load *l, CUlibrary library);
void shim_load_enter_module(struct shim_load *l, CUlibrary library);

/* Call after the driver call; returns rc. */
CUresult shim_load_leave(const struct shim_load *l, CUresult rc);

/* Call before such a kernel is launched in the current context: loads it. Returns the error that
 * the launch must return, or CUDA_SUCCESS. */
CUresult shim_load_now(const void *kernel);

/*
 * Call after a module has been loaded, with the barrier closed: loads its functions, too, if they
 * are few, as in a module that a program has compiled itself. Otherwise each is loaded when the
 * program needs it. Returns 1 if all of them are loaded.
 */
int shim_load_module(CUmodule module);

/* Call before the program asks for a function of a module by name, which loads it. */
void shim_load_enter_by_name(struct shim_load *l, CUmodule module);

/* The program has got this function by name, so it is loaded. */
void shim_load_is_loaded(CUfunction f);

/* The library is about to be unloaded, or the context to be destroyed: forgets what was loaded
 * there. */
void shim_load_gone_library(CUlibrary library);
void shim_load_gone_context(CUcontext ctx);

/* In a forked child: nothing is loaded. */
void shim_load_forked(void);

#endif
