/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guarded kernel, and its launches, for the tests of how it leaves and goes on
 * (test_shim_guarded.c) and of its watchers (test_shim_watchers.c). */
#ifndef GPUSHARE_TEST_GUARDED_RIG_H
#define GPUSHARE_TEST_GUARDED_RIG_H

#include "device/ptx/guard.h"
#include "shim_rig.h"

/* The program's function, what the shim knows of it, and its variant in the current context. */
extern CUfunction guarded;
extern struct shim_kernel *guarded_record;
extern struct shim_variant *guarded_variant;

/* Of a group of tests: loads the kernel and waits for its variant. The second call does nothing. */
int guarded_setup(void **state);

/* The parameters of the last launch. */
struct guarded_sent {
	uint64_t p;
	uint32_t n, pad;
	struct gs_guard guard;
};
const struct guarded_sent *guarded_sent(void);

/* The word that the blocks of the last launch read before they begin (guard.h). */
uint64_t *guarded_word(void);

/* Launches it and expects these calls of the driver; returns the slot. */
struct gs_slot *guarded_launched(const char *calls);

/* It leaves, as the last kernel behind a launch says so: `done` of its blocks have run. */
void guarded_ends(struct gs_slot *slot, uint64_t done, uint32_t state);

/* A launch of several that are out. */
struct guarded_out {
	struct gs_slot *slot;
	uint64_t *word;
};
struct guarded_out guarded_launched_in(CUstream stream);

/* It is told to leave before the GPU has come to it. */
void guarded_tell_unstarted(const struct guarded_out *o);

#endif
