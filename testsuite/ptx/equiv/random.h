/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels that nobody thought of: structured programs from a seed, valid and
 * without races, of branches that threads, warps or blocks take, loops, ways
 * to leave, barriers, shared memory, functions and all indices.
 */
#ifndef GPUSHARE_EQUIV_RANDOM_H
#define GPUSHARE_EQUIV_RANDOM_H

#include <stdint.h>

#include "case.h"

/* The module of that seed; malloc'd. */
char *random_text(uint32_t seed);
/* How to launch it; file and kernel point into static memory. */
struct test_case random_case(uint32_t seed);

#endif
