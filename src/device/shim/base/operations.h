/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that a call enqueues into its stream, at most; context/barrier.h bounds them behind a
 * held kernel. Also included by forward.S: only definitions and comments here.
 */
#ifndef GPUSHARE_SHIM_OPERATIONS_H
#define GPUSHARE_SHIM_OPERATIONS_H

/* A call of the class QUEUES (entries.def): one mostly; a host function is one before it and one
 * behind. */
#define SHIM_QUEUES_OPERATIONS 2
/* A launch: a wait for its time slice, the control block's words or a mark, two events, the kernel,
 * the wait or the other mark. */
#define SHIM_LAUNCH_OPERATIONS 7

#endif
