/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short slices of the processor, for a thread that sleeps nearly always and must run as soon as it is
 * woken.  Linux lets whoever runs finish its slice, some milliseconds, before a thread of the same
 * or even of higher weight that has been woken or moved there, unless that one has
 * asked for shorter slices (EEVDF, sched_setattr(2); since 6.12, earlier ones take no notice).
 * Nothing is taken from anybody: the share of the processor stays.
 */
#ifndef GPUSHARE_COMMON_SLICE_H
#define GPUSHARE_COMMON_SLICE_H

/* The calling thread's slices become the shortest there are, 0.1 ms; policy and nice stay.  0, or -1 with errno. */
int gs_slice_short(void);

#endif
