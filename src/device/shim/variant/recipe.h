/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a variant is made of what the program's module has: from its PTX, or from its machine code.
 */
#ifndef GPUSHARE_SHIM_RECIPE_H
#define GPUSHARE_SHIM_RECIPE_H

#include "device/shim/variant/variant.h"

/* How the kernel was launched when its variant was asked for; zeros where that is not known. */
struct shim_seen {
	uint32_t threads, shared; /* of a block: how many, and bytes of dynamic shared memory */
	uint32_t cluster;         /* blocks of a cluster, if the launch said so */
};

/* What a variant is made of; it is the context's device that runs it. */
struct shim_recipe {
	struct shim_kernel *kernel;
	struct shim_context *ctx;
	const struct shim_time *time; /* what it takes as written; NULL: not known */
	uint32_t sm;                  /* the device's compute capability, 90: 9.0 */
	struct shim_seen seen;
	const _Atomic int *stop; /* not 0: whoever makes it is to give up */
};

/* A module with one kernel, the variant, under the kernel's name. */
struct shim_made {
	void *bytes; /* machine code, or PTX that the driver is to compile */
	size_t len;
	int is_ptx;
	int max_registers; /* of PTX: what the driver's compiler is to be told; 0: nothing */
	int from_cache;
	enum ptx_transform_kind transform;
	struct shim_layout params;
	uint8_t by_cluster, group, whole_warps, made_of; /* as in struct shim_variant */
};

/*
 * PTX_REASON_NONE: it is made, and to be freed by shim_made_free().  Otherwise why it cannot be.
 * fresh: do not take what an earlier process has made.  The driver is asked for addresses; nothing
 * is loaded.
 */
enum ptx_reason shim_recipe_make(const struct shim_recipe *r, int fresh, struct shim_made *made);

/*
 * Another way than from PTX, which adds itself as the library is loaded (machine.c): it is asked
 * where that gives none, and told why.  Returns as shim_recipe_make(); `why` where it is not for it
 * to say.
 */
struct shim_bytes;
typedef enum ptx_reason shim_recipe_other_fn(const struct shim_recipe *r,
					     const struct shim_bytes *image, enum ptx_reason why,
					     struct shim_made *made);
void shim_recipe_add(shim_recipe_other_fn *other);

void shim_made_free(struct shim_made *made);

#endif
