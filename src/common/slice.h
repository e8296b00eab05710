/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short slices of the processor, for a thread that sleeps nearly always and must run as soon as it
 * is woken. Linux lets the running thread finish its slice of some milliseconds before one that was
 * woken or moved to the processor, even of higher weight, unless the latter has asked for shorter
 * slices (EEVDF, sched_setattr(2), since Linux 6.12; earlier kernels ignore it). The thread's share
 * of the processor stays the same.
 */
#ifndef GPUSHARE_COMMON_SLICE_H
#define GPUSHARE_COMMON_SLICE_H

/* The calling thread's slices become the shortest there are, 0.1 ms; policy and nice stay.  0, or
 * -1 with errno. */
int gs_slice_short(void);

#endif
