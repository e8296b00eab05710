/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many operations a call enqueues in its stream, at most; context/barrier.h bounds them behind
 * a preemptible kernel. forward.S includes this file, too, so it may have only definitions and
 * comments.
 */
#ifndef GPUSHARE_SHIM_OPERATIONS_H
#define GPUSHARE_SHIM_OPERATIONS_H

/* A call of the class QUEUES (entries.def): mostly one; a host function needs one before it and one
 * behind. */
#define SHIM_QUEUES_OPERATIONS 2
/* A launch: the wait for its time slice, the control block's words or the "started" marker, two
 * events, the kernel, and the wait or the completion marker. */
#define SHIM_LAUNCH_OPERATIONS 7

#endif
