/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preemptible variants of kernels, each for one context, as launches and what sets a kernel's
 * attributes see them.  build.h makes them.  A variant is complete once it can be found, and stays
 * until its kernel's module goes.
 */
#ifndef GPUSHARE_SHIM_VARIANT_H
#define GPUSHARE_SHIM_VARIANT_H

#include "device/ptx/transform.h"
#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"

/* Where in the parameter block what lies: the program's parameters, and ours. */
struct shim_layout {
	uint32_t nparam;     /* of the program's */
	uint32_t *offset;    /* of each, bytes */
	uint32_t *size;      /* bytes */
	uint32_t ctl_offset; /* of the control block's address, or the guard */
};

/* What launches of the same shape take as written and as the variant, ps per block-task. */
struct shim_cost {
	_Atomic uint32_t dims; /* shim_dims(); 0: nothing is known */
	_Atomic uint64_t written_ps, variant_ps;
};

struct shim_variant {
	struct shim_variant *next;     /* of the same kernel */
	struct shim_variant *unloaded; /* the next one whose module is gone */
	struct shim_context *ctx;
	CUmodule module; /* ours to unload; NULL: the variant is one of the program's own module */
	CUfunction f;
	enum ptx_transform_kind transform;
	struct shim_layout params;
	uint8_t by_cluster;   /* guarded: it asks by cluster, not by block... */
	uint8_t group;        /* ...and by 2^group of them (device/ptx/guard.h) */
	uint8_t whole_warps;  /* it wants blocks whose warps are rows of threads (transform.h) */
	uint8_t made_of;      /* enum gs_made_of */
	uint32_t local_bytes; /* local memory of a thread */
	/* The last occupancy that was asked for: block threads, dynamic shared, blocks per SM
	 * (request.c). */
	_Atomic uint64_t occupancy;
	struct shim_cost cost;
};

/* The kernel's in that context, or NULL. */
static inline struct shim_variant *shim_variant_in(const struct shim_code *code,
						   const struct shim_context *c)
{
	struct shim_variant *v = atomic_load_explicit(&code->variants, memory_order_acquire);

	while (v && v->ctx != c)
		v = v->next;
	return v;
}

/* Launches of the kernel use v from now on; v belongs to the kernel then. */
void shim_variant_add(struct shim_code *code, struct shim_variant *v);
void shim_variant_free(struct shim_variant *v); /* one that has not been added; NULL is fine */

/*
 * The kernel's module has been made with the variant in it (gpushare-nvcc)?  Then it is the
 * kernel's in this context, which is current, from now on.
 */
void shim_variant_adopt(struct shim_kernel *k, struct shim_context *c);

/* What the program has set on the kernel so far holds for its variant.  The context is current. */
void shim_variant_take_settings(const struct shim_kernel *k, const struct shim_variant *v);

/* What it sets from now on. */
void shim_variants_set(const struct shim_code *code, CUfunction_attribute attribute, int value);
void shim_variants_set_cache(struct shim_code *code, CUfunc_cache config);

/* A module or library is about to be unloaded, and nothing is held: its kernels' variants go. */
void shim_variants_unloaded(const void *module);

/*
 * A launch of that shape, undisturbed, took so long per block-task; v NULL: as written, in that
 * context.
 */
void shim_variant_timed(struct shim_code *code, const struct shim_context *c, int as_written,
			uint32_t dims, uint64_t ps);

/* Is it worth launching?  urgent: somebody waits for the GPU. */
int shim_variant_pays(const struct shim_variant *v, int urgent);

#endif
