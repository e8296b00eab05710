/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel of the suite beside its sliced variant (device/ptx/slice.h), in a program. */
#ifndef GPUSHARE_BENCH_SUITE_SLICES_H
#define GPUSHARE_BENCH_SUITE_SLICES_H

#include "gpushare/bench/kernel.h"
#include "gpushare/bench/page.h"

struct bench_slices; /* one kernel of one size, with its memory */

/*
 * Carry out BENCH_SLICES of a slot, in the stream of that kernel.  *slices is NULL at first; it is
 * loaded anew for another kernel, and has other memory for another size.  A kernel without a sliced
 * variant is not launched: answer.wave is 0, and answer.refused says why.
 */
int bench_slices_order(struct bench_slices **slices, const struct bench_kernel *kernel,
		       struct bench_slot *slot, struct gs_error *err);
void bench_slices_unload(struct bench_slices *slices); /* NULL is fine */

#endif
