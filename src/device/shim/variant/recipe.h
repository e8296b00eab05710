/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making a variant from what the program's module contains: from its PTX, or from its machine code.
 */
#ifndef GPUSHARE_SHIM_RECIPE_H
#define GPUSHARE_SHIM_RECIPE_H

#include "device/shim/variant/variant.h"

/* How the kernel was launched when its variant was requested; zeros if that is not known. */
struct shim_seen {
	uint32_t threads, shared; /* threads of a block; dynamic shared memory of a block, bytes */
	uint32_t cluster;         /* blocks of a cluster, if the launch had clusters */
};

/* What a variant is made from, for the context's device. */
struct shim_recipe {
	struct shim_kernel *kernel;
	struct shim_context *ctx;
	struct shim_time *time; /* time of the kernel as written; NULL: not known */
	uint32_t sm;            /* the device's compute capability; 90 for 9.0 */
	struct shim_seen seen;
	const _Atomic int *stop; /* becomes nonzero when making it must be given up */
};

/* A module that contains only the variant, under the kernel's name. */
struct shim_made {
	void *bytes; /* machine code, or PTX for the driver to compile */
	size_t len;
	int is_ptx;
	int max_registers; /* for PTX: the limit to tell the driver's compiler; 0: none */
	int from_cache;
	enum ptx_transform_kind transform;
	struct shim_layout params;
	uint8_t by_cluster, group, whole_warps, made_of; /* as in struct shim_variant */
};

/*
 * Makes a variant. Returns PTX_REASON_NONE with *made, which the caller frees by shim_made_free(),
 * or the reason why it cannot be made. fresh: do not use the cache. Asks the driver for addresses
 * of variables, but loads nothing.
 */
enum ptx_reason shim_recipe_make(const struct shim_recipe *r, int fresh, struct shim_made *made);

/*
 * Another way to make a variant than from PTX. It registers itself when the library is loaded
 * (machine.c), and is called with the reason why PTX gave no variant. Returns as shim_recipe_make()
 * does, or `why` itself if it did not try.
 */
struct shim_bytes;
typedef enum ptx_reason shim_recipe_other_fn(const struct shim_recipe *r,
					     const struct shim_bytes *image, enum ptx_reason why,
					     struct shim_made *made);
void shim_recipe_add(shim_recipe_other_fn *other);

/* Frees what *made owns and zeroes it. */
void shim_made_free(struct shim_made *made);

#endif
