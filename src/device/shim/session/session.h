/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This process as a client of gpushared. There is one session per process, made at the first call
 * that needs it, and made anew in a forked child. */
#ifndef GPUSHARE_SHIM_SESSION_H
#define GPUSHARE_SHIM_SESSION_H

#include <pthread.h>
#include <stdint.h>

#include "device/shim/base/shim.h"
#include "device/shim/session/force_plan.h"
#include "gpushare/client/client.h"

struct shim_session {
	/* Read by launches. */
	_Alignas(SHIM_LINE) struct gs_page *page;
	int alone;               /* there will be no daemon; the agent plays it (force_plan.h) */
	_Atomic int connected;   /* a daemon manages this process */
	_Atomic uint32_t absent; /* enum gs_absent */
	_Atomic uint32_t signal; /* enum gs_signal */
	/* a kernel that takes longer is worth a variant; 0: every kernel is, at once */
	_Atomic uint64_t variant_min_ns;
	_Atomic uint32_t machine_code; /* enum gs_machine_code */
	_Atomic uint32_t one_context;  /* 1: all clients of the GPU share one context (MPS) */
	/*
	 * refused at the first connection: gets no launches and no memory, and does not try again
	 */
	int sent_away;
	struct gs_client *client;
	struct shim_force_plan force; /* the plan of evictions, if `alone` */
	/* Fields that change. */
	/* bytes of device memory that this process has in use */
	_Alignas(SHIM_LINE) _Atomic uint64_t used;
	_Atomic uint64_t reservation;    /* bytes; 0: not known */
	_Atomic uint64_t context_memory; /* bytes that a CUDA context is charged with */
	_Atomic uint32_t kernels;        /* how many kernel numbers have been given out */
	/* the last daemon that answered has refused this process, or GS_CLIENT_WAITS */
	int refused;
	_Atomic int stopping;
	/* held while the daemon is asked for memory, and during a new HELLO */
	pthread_mutex_t requesting;
};

/* The session, which is made if there is none yet. NULL: leave this process alone, since it has
 * neither GPUSHARE_SOCKET nor a plan of evictions (force_plan.h), or no session could be made. */
struct shim_session *shim_session(void);

/* The session if there is one already, else NULL; never makes one. */
extern _Atomic(struct shim_session *) shim_session_made SHIM_HOT;
static inline struct shim_session *shim_session_peek(void)
{
	return atomic_load_explicit(&shim_session_made, memory_order_acquire);
}

/* Is it decided that this process is left alone? Then its launches are passed to the driver at
 * once. */
extern _Atomic int shim_session_none SHIM_HOT;
static inline int shim_session_is_none(void)
{
	return atomic_load_explicit(&shim_session_none, memory_order_relaxed);
}

/* With DaemonAbsent=fail and no daemon, this program gets no time slice until the agent has
 * connected to one. */
static inline int shim_session_forsaken(const struct shim_session *s)
{
	return !s->connected && s->absent == GS_ABSENT_FAIL;
}

/* Should a wait that began at since_ns be given up? Yes, if the process is ending: a thread such as
 * the agent may be inside the driver for good, so the end waits for it for a second at most. */
int shim_in_vain(uint64_t since_ns);

/* Tells the user, once, that no daemon answers and what this program does now. */
void shim_session_say_absent(const struct shim_session *s);

/* Connects or reconnects once. Returns 0, or -1 with the reason. Only the thread that makes the
 * session and the agent call it. */
int shim_session_connect(struct shim_session *s, int timeout_ms, struct gs_error *err);

#endif
