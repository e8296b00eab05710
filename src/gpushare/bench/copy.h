/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies between host and device by a program of a benchmark. */
#ifndef GPUSHARE_BENCH_COPY_H
#define GPUSHARE_BENCH_COPY_H

#include "gpushare/bench/kernel.h"

struct bench_copier;

/*
 * Memory for copies of that kind (enum bench_copy) and size in the kernel's context and stream;
 * *copier, NULL at first, is kept if it has that already, whichever way it copied.  -1 with the
 * reason.
 */
int bench_copier_room(struct bench_copier **copier, const struct bench_kernel *kernel,
		      uint32_t kind, uint64_t bytes, struct gs_error *err);

/* Enqueue one copy, from the device if `back`.  -1 with the reason. */
int bench_copier_copy(const struct bench_copier *copier, int back, struct gs_error *err);

#endif
