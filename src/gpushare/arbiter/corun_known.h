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

/* What is known under the key. If nothing is: NULL, or with make 1 an empty entry, for which the
 * one goes that was used longest ago. The GPU owns it. */
struct gs_corun_known *gs_corun_known_of(struct gs_gpu *gpu, uint64_t key, int make);

/* These processes (gs_corun_who) begin to run beside each other. */
void gs_corun_known_begin(struct gs_corun_known *known, uint64_t who);

/* They take turns, and are tried again after 10 s, the next time after 20 s, and so on, up to 10
 * minutes. who: only these processes; 0: the same holds for whoever runs these programs. */
void gs_corun_known_refuse(struct gs_corun_known *known, uint64_t who, uint64_t now);
int gs_corun_known_is_refused(const struct gs_corun_known *known, uint64_t who, uint64_t now);

#endif
