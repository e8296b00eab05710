/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries for functions that a newer driver has and entries.def does not: each passes the barrier
 * (context/barrier.h) and then calls the function of its slot. They are in forward.S, which
 * includes this file.
 */
#ifndef GPUSHARE_SHIM_UNLISTED_H
#define GPUSHARE_SHIM_UNLISTED_H

/* How many functions can have such an entry, and how many bytes each entry takes. */
#define SHIM_UNLISTED 128
#define SHIM_ENTRY_BYTES 16

#ifndef __ASSEMBLER__
/* The entries, one after the other. */
extern const char shim_unlisted_entry[SHIM_UNLISTED][SHIM_ENTRY_BYTES];

/* The function that an entry calls behind the barrier: the driver's function of an entry point, or
 * from SHIM_FN_COUNT on that of a slot. */
void *shim_barrier_target(unsigned int n);
#endif

#endif
