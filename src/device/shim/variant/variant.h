/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preemptible variants of kernels, each for one context, as they look to launches and to calls that
 * set a kernel's attributes. build.h makes them. A variant is complete once it can be found, and
 * stays until its kernel's module is unloaded.
 */
#ifndef GPUSHARE_SHIM_VARIANT_H
#define GPUSHARE_SHIM_VARIANT_H

#include "device/ptx/transform.h"
#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"

/* Where the parameters lie in the parameter block: the program's, and the transform's. */
struct shim_layout {
	uint32_t nparam;     /* number of the program's parameters */
	uint32_t *offset;    /* of each parameter, bytes */
	uint32_t *size;      /* bytes */
	uint32_t ctl_offset; /* where the address of the control block, or the guard, lies */
};

/*
 * Time per block-task of launches with the same block dimensions, as written and as the variant,
 * ps. The first launches after the variant is ready go out in turns as the variant and as written,
 * and only those count. Earlier or later launches may find the GPU at other clocks and other data
 * in its caches, which changes their time by more than the variant does. Of each way the shortest
 * one counts: whatever else happens to a launch makes it longer (code that is not on the GPU yet,
 * another context's kernel in between), and mostly by more than the variant does, too.
 */
struct shim_cost {
	_Atomic uint32_t dims;                   /* shim_dims(); 0: nothing is known */
	_Atomic uint32_t others;                 /* timed launches in a row with other dimensions */
	_Atomic uint64_t written_ps, variant_ps; /* the shortest */
	_Atomic uint32_t writtens, variants;     /* how many launches each is of */
	_Atomic uint32_t launches;               /* launches that took part in the comparison */
};

struct shim_variant {
	struct shim_variant *next;     /* of the same kernel */
	struct shim_variant *unloaded; /* the next one whose module is gone */
	struct shim_context *ctx;
	/* to be unloaded by the shim; NULL: the variant is part of the program's own module */
	CUmodule module;
	CUfunction f;
	enum ptx_transform_kind transform;
	struct shim_layout params;
	uint8_t by_cluster;   /* guarded: blocks are checked by cluster, not one by one... */
	uint8_t group;        /* ...and in groups of 2^group of them (device/ptx/guard.h) */
	uint8_t whole_warps;  /* it needs blocks whose warps are rows of threads (transform.h) */
	uint8_t made_of;      /* enum gs_made_of */
	uint32_t local_bytes; /* local memory per thread, bytes */
	/* The last occupancy that was queried: threads of a block, dynamic shared memory, blocks
	 * per SM (request.c). */
	_Atomic uint64_t occupancy;
	struct shim_cost cost;
};

/* The kernel's variant in that context, or NULL. */
static inline struct shim_variant *shim_variant_in(const struct shim_code *code,
						   const struct shim_context *c)
{
	struct shim_variant *v = atomic_load_explicit(&code->variants, memory_order_acquire);

	while (v && v->ctx != c)
		v = v->next;
	return v;
}

/* Makes launches of the kernel use v from now on; v then belongs to the kernel. */
void shim_variant_add(struct shim_code *code, struct shim_variant *v);
/* only for one that has not been added; NULL is fine */
void shim_variant_free(struct shim_variant *v);

/* If the program's own module contains a variant of the kernel (gpushare-nvcc), uses that one in
 * this context, which must be current. */
void shim_variant_adopt(struct shim_kernel *k, struct shim_context *c);

/* Applies to the variant what the program has set on the kernel so far. The context must be
 * current. */
void shim_variant_take_settings(const struct shim_kernel *k, const struct shim_variant *v);

/* Applies to all variants of the kernel what the program sets on it now. */
void shim_variants_set(const struct shim_code *code, CUfunction_attribute attribute, int value);
void shim_variants_set_cache(struct shim_code *code, CUfunc_cache config);

/* A module or library is about to be unloaded, and no preemptible kernel is out: removes the
 * variants of its kernels. */
void shim_variants_unloaded(const void *module);
/* The same for the modules that go with a context; call shim_modules_ending() before. */
void shim_variants_ending(CUcontext ctx);

/* At most so many launches take part in the comparison of a new variant; all must be timed. */
#define SHIM_COMPARED 12

/* Are both of the variant's times known? */
int shim_variant_is_compared(const struct shim_variant *v);

/* Do timed launches with these block dimensions take part in its comparison, still? */
int shim_variant_is_being_compared(const struct shim_variant *v, uint32_t dims);

/* Should this timed launch with these block dimensions go out as written, to compare the variant
 * with it? Each call counts as a launch of the comparison, if that is of these dimensions. Ask only
 * where the launch may keep the GPU until it ends. */
int shim_variant_compares(struct shim_variant *v, uint32_t dims);

/* Notes that an undisturbed launch with these block dimensions took `ps` per block-task, as written
 * or as the variant in context c. */
void shim_variant_timed(struct shim_code *code, const struct shim_context *c, int as_written,
			uint32_t dims, uint64_t ps);

/* Is the variant worth launching? Until the comparison has ended it is. urgent: another client
 * waits for the GPU. */
int shim_variant_pays(const struct shim_variant *v, int urgent);

#endif
