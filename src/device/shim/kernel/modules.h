/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The modules and libraries that the program has loaded, with their images.  Records live as long
 * as the process, since kernels' records point to them.
 */
#ifndef GPUSHARE_SHIM_MODULES_H
#define GPUSHARE_SHIM_MODULES_H

#include "device/shim/kernel/image.h"
#include "device/shim/base/shim.h"

struct shim_module {
	const void *handle;
	int library; /* it is a CUlibrary; otherwise a CUmodule */
	struct shim_image image;
	_Atomic int gone;             /* unloaded, or about to be */
	_Atomic unsigned int users;   /* see shim_module_use() */
	_Atomic uint64_t content;     /* shim_image_content(), once it has been asked for */
	_Atomic int whole;            /* a kernel of it has a variant (loading.h) */
	_Atomic int loaded;           /* of a module: all of its functions are */
	const struct shim_module *of; /* the library whose module it is; NULL: it is itself */
	struct shim_module *next;
};

/* One was loaded; takes over what the image owns.  loaded: as the field. */
void shim_module_add(const void *handle, int library, int loaded, const struct shim_image *image);

/* The driver says that this is a module of a library: its kernels are the library's. */
void shim_module_alias(const void *library, const void *module);

/* The newest of that handle; of a library's module, the library.  NULL: it was not seen. */
struct shim_module *shim_module_find(const void *handle);

/*
 * Its image is read and the driver asked for its variables between these two; 0: it is gone.
 * Whoever unloads it waits meanwhile, so that is not for long.
 */
int shim_module_use(struct shim_module *m);
void shim_module_unuse(struct shim_module *m);

/* It is about to be unloaded: when this returns nobody uses it any more. */
void shim_module_gone(const void *handle);

/* Has it a kernel that could be held? */
int shim_module_has_variants(const void *handle);

/* In a forked child: its parent's modules are not its own. */
void shim_modules_forked(void);

#endif
