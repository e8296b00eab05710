/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a kernel's variant once that is worth it: in the background, by one thread of low priority,
 * the longest kernel first. */
#ifndef GPUSHARE_SHIM_BUILD_H
#define GPUSHARE_SHIM_BUILD_H

#include "device/shim/variant/recipe.h"
#include "device/shim/variant/variant.h"

/*
 * Call when a launch of the kernel would have been evictable if a variant existed in this context,
 * which is current. takes_ns: how long the launch takes; 0: not known. Requests a variant if that
 * is worth it (VariantMin=); the next launch after it is ready uses it.
 */
void shim_build_consider(struct shim_session *s, struct shim_kernel *k, struct shim_context *c,
			 struct shim_time *time, const struct shim_seen *seen, uint64_t takes_ns);

/* Call at the kernel's first launch in this context, which is current. If variants are made at once
 * (VariantMin=0), makes this one and waits for it. */
void shim_build_first(struct shim_session *s, struct shim_kernel *k, struct shim_context *c,
		      const struct shim_seen *seen);

/* The process ends: makes no more variants. Waits, for a second at most, until the thread is no
 * longer inside the driver. */
void shim_build_stop(void);

/* In a forked child: nothing is being made. */
void shim_build_forked(void);

#endif
