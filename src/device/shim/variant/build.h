/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making a kernel's variant once it pays: in the background, by one thread of low priority, the
 * longest kernel first.
 */
#ifndef GPUSHARE_SHIM_BUILD_H
#define GPUSHARE_SHIM_BUILD_H

#include "device/shim/variant/recipe.h"
#include "device/shim/variant/variant.h"

/*
 * A launch of the kernel that takes so long (ns; 0: not known), of that shape, would have been
 * evictable if there were a variant in that context, which is current.  One is made if that pays
 * (VariantMin=): the next launch after it is ready uses it.
 */
void shim_build_consider(struct shim_session *s, struct shim_kernel *k, struct shim_context *c,
			 const struct shim_time *time, const struct shim_seen *seen,
			 uint64_t takes_ns);

/* The kernel's first launch in that context, which is current: where variants are made at once
 * (VariantMin=0), this one is. */
void shim_build_first(struct shim_session *s, struct shim_kernel *k, struct shim_context *c,
		      const struct shim_seen *seen);

/* The process ends: nothing is made any more, and nobody of ours is in the driver.  Waits for that
 * for a second at most. */
void shim_build_stop(void);

/* In a forked child: nothing is being made. */
void shim_build_forked(void);

#endif
