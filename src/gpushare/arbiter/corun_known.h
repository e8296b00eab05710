/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of clients that were tried beside each other on parts of a GPU (corun.h). */
#ifndef GPUSHARE_ARBITER_CORUN_KNOWN_H
#define GPUSHARE_ARBITER_CORUN_KNOWN_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Puts one more behind or between n clients, in the order of their programs, so that what is known
 * of these does not depend on which one came first. `client` has room for it. */
void gs_corun_insert(struct gs_gpu_client *client[], uint32_t n, struct gs_gpu_client *more);

/* Identifies who they are; not 0. */
uint64_t gs_corun_who(struct gs_gpu_client *const client[], uint32_t n);

/* Identifies the programs that they run, so that what is known of them holds for the next jobs with
 * these programs; a client whose program is not known stands for itself. Not 0. */
uint64_t gs_corun_key(struct gs_gpu_client *const client[], uint32_t n);

/* What is known under the key; else what is known of others longest ago, emptied for them if `make`
 * is 1. NULL: nothing is known. The GPU owns it, until as many others have been made as it can
 * keep. */
struct gs_corun_known *gs_corun_known_of(struct gs_gpu *gpu, uint64_t key, int make);

#endif
