/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels of the suite beside each other in one program; see struct bench_corun in page.h. */
#ifndef GPUSHARE_BENCH_SUITE_CORUN_H
#define GPUSHARE_BENCH_SUITE_CORUN_H

#include "gpushare/bench/kernel.h"
#include "gpushare/bench/page.h"

struct bench_coruns; /* those that are loaded */

/*
 * Carry out BENCH_CORUN of a slot in the current context. *coruns is NULL at first; a kernel stays
 * loaded until its place is given to another one, or to another size. A few launches of each are
 * queued. None is begun any more once span_ns have passed and two of each have ended, or after
 * many times span_ns, or when the slot says stop; those that are under way are waited for.
 */
int bench_coruns_order(struct bench_coruns **coruns, const struct bench_kernel *kernel,
		       struct bench_slot *slot, struct gs_error *err);
void bench_coruns_unload(struct bench_coruns *coruns); /* NULL is fine */

#endif
