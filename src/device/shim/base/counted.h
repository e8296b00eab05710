/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting the program's driver calls, for IdleReclaim (gpushare.conf(5)).
 *
 * The daemon takes the memory of a step whose programs call nothing, and must learn when one calls
 * again, which then sleeps inside the driver or here.  So every call to the driver is counted as it
 * begins and as it ends, in the page: REAL(), the forwarded entry points and what cuGetProcAddress
 * has handed out all go through shim_slot[], in which each function is replaced by an entry of
 * counted_entry.S that counts.  Where the daemon does not ask for it nothing is replaced.
 */
#ifndef GPUSHARE_SHIM_COUNTED_H
#define GPUSHARE_SHIM_COUNTED_H

/* Offset of calls.ended from calls.begun in the page, for counted_entry.S. */
#define SHIM_CALLS_ENDED 4
/* So many bytes has an entry. */
#define SHIM_COUNTED_BYTES 16

#ifndef __ASSEMBLER__
#include "device/shim/base/shim.h"

struct gs_page;

/* Count from now on, if the page says that the daemon wants it.  Again for each new page. */
void shim_counted_follow(struct gs_page *page);

/* This process's calls cannot be told: its memory is never taken for being idle. */
void shim_counted_give_up(void);

/* A call that is about to sleep in the shim until the daemon has answered counts as well. */
void shim_counted_note(void);

/* In a forked child: its parent's page is not its own. */
void shim_counted_forked(void);

/* What is to be called for that function of the driver's, which has been found just now. */
void *shim_counted_slot(enum shim_fn fn, void *found);

/* The driver's own function behind what stands in shim_slot[fn]. */
void *shim_counted_behind(enum shim_fn fn, void *slot);
#endif

#endif
