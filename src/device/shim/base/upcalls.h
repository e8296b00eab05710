/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a room needs from rooms above it, which it must neither include nor call. wiring.c fills in
 * the table when the library is loaded. */
#ifndef GPUSHARE_SHIM_UPCALLS_H
#define GPUSHARE_SHIM_UPCALLS_H

#include "device/shim/base/shim.h"

struct shim_session;

struct shim_upcalls {
	/* The session has its page, so launches and the agent may begin. Returns 0; -1: no thread
	 * could be started. */
	int (*session_begins)(struct shim_session *s);
	/* The process exits. */
	void (*session_ends)(struct shim_session *s);
	/* In a forked child: every module forgets what belongs to its parent. */
	void (*forked)(void);
	/* A context is about to be destroyed (over 0), or has been (1). */
	void (*context_ends)(CUcontext ctx, int over);
	/* shim_launch_reap(), shim_launch_enqueued() and shim_launch_keep_held(), for waits for
	 * preemptible kernels. */
	unsigned (*reap)(struct shim_session *s);
	unsigned (*enqueued)(struct shim_session *s);
	int (*keep_held)(void);
};

extern const struct shim_upcalls *shim_upcalls;

#endif
