/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modules and libraries that the program has loaded, with their images. Records live as long as
 * the process, since kernels' records point to them. A CUmodule with a short image
 * (256 KiB at most) that is unloaded and loaded again gets its old record back, and its kernels
 * get theirs: a program may do that without end. Others get new records each time. */
#ifndef GPUSHARE_SHIM_MODULES_H
#define GPUSHARE_SHIM_MODULES_H

#include "device/shim/kernel/image.h"
#include "device/shim/base/shim.h"

struct shim_module {
	const void *handle;
	int library;        /* 1: a CUlibrary; 0: a CUmodule */
	CUcontext ctx;      /* in which a CUmodule is loaded, and with which it goes */
	_Atomic int ending; /* the destruction of that context has begun */
	struct shim_image image;
	_Atomic int gone;           /* it has been unloaded, or is about to be */
	_Atomic unsigned int users; /* see shim_module_use() */
	_Atomic uint64_t content;   /* shim_image_content(), once it has been computed */
	/* a kernel of it has a variant, so it is loaded as a whole (loading.h) */
	_Atomic int whole;
	_Atomic int loaded;           /* for a module: all of its functions are loaded */
	const struct shim_module *of; /* the library to which this module belongs; NULL: to none */
	size_t len;                   /* once it has been unloaded: its image's length, bytes */
	uint64_t hash; /* and a hash of all of the image; 0: the record is not used again */
	struct shim_module *next;
};

/* A module or library was loaded; takes over what the image owns. loaded: as the field. */
void shim_module_add(const void *handle, int library, int loaded, const struct shim_image *image);

/* The driver says that this is a library's module in the current context, so its kernels are the
 * library's. It goes with the context, or with the library. */
void shim_module_alias(const void *library, const void *module);

/* The newest record with that handle; for a library's module, the library's record. NULL: its
 * loading was not seen. */
struct shim_module *shim_module_find(const void *handle);
/* The same. *ctx: for a library's module, the context with which that module and its functions go,
 * although the library stays; else NULL. */
struct shim_module *shim_module_find_in(const void *handle, CUcontext *ctx);

/*
 * Between these two calls the module's image may be read and the driver be asked for its variables.
 * shim_module_use() returns 0 if the module is gone. A thread that unloads it waits meanwhile, so
 * keep it short.
 */
int shim_module_use(struct shim_module *m);
void shim_module_unuse(struct shim_module *m);

/* The module is about to be unloaded. When this returns no thread uses it any more. Returns its
 * record; NULL: its loading was not seen. */
struct shim_module *shim_module_gone(const void *handle);

/* The module has been unloaded, or the driver has refused that, and nothing is known of its
 * kernels' handles any more: its record may be used again. m NULL: does nothing. */
void shim_module_unloaded(struct shim_module *m);

/* Call before the driver destroys a context: notes which modules go with it, and returns how many.
 * If the driver refuses, the note does no harm. Libraries' modules there are forgotten at once. */
unsigned int shim_modules_ending(CUcontext ctx);

/*
 * Call after that: returns the records of these modules in a list. Modules with the same context's
 * handle that were loaded since are another context's, and stay. The caller hands each record to
 * shim_module_unloaded() once nothing refers to its handles.
 */
struct shim_module *shim_modules_ended(CUcontext ctx);

/* Has it a kernel with a variant? */
int shim_module_has_variants(const void *handle);

/* In a forked child: forgets the parent's modules. */
void shim_modules_forked(void);

#endif
