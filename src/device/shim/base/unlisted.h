/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Doors for functions that a newer driver has and entries.def has not: each
 * passes the barrier (context/barrier.h) and then calls the function of its slot.  The wrappers
 * are in forward.S, which includes this.
 */
#ifndef GPUSHARE_SHIM_UNLISTED_H
#define GPUSHARE_SHIM_UNLISTED_H

/* So many functions can have one, and so many bytes has each. */
#define SHIM_UNLISTED 128
#define SHIM_ENTRY_BYTES 16

#ifndef __ASSEMBLER__
/* One behind the other. */
extern const char shim_unlisted_entry[SHIM_UNLISTED][SHIM_ENTRY_BYTES];

/* What a gated call enters: the driver's function of an entry point, or from SHIM_FN_COUNT on that
 * of a slot. */
void *shim_barrier_target(unsigned int n);
#endif

#endif
