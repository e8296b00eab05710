/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a room asks of the rooms above it, which it neither includes nor calls.  wiring.c fills the
 * table as the library is loaded.
 */
#ifndef GPUSHARE_SHIM_UPCALLS_H
#define GPUSHARE_SHIM_UPCALLS_H

#include "device/shim/base/shim.h"

struct shim_session;

struct shim_upcalls {
	/* The session has its page: launches and the agent begin.  0; -1: it can have no thread. */
	int (*session_begins)(struct shim_session *s);
	/* The process exits. */
	void (*session_ends)(struct shim_session *s);
	/* In a forked child: every module forgets what is its parent's. */
	void (*forked)(void);
	/* A context is about to be destroyed; over: it has been. */
	void (*context_ends)(CUcontext ctx, int over);
	/* shim_launch_reap(), shim_launch_enqueued(), shim_launch_keep_held(): whoever waits for a
	 * kernel that is held asks so what has become of it. */
	unsigned (*reap)(struct shim_session *s);
	unsigned (*enqueued)(struct shim_session *s);
	int (*keep_held)(void);
};

extern const struct shim_upcalls *shim_upcalls;

#endif
