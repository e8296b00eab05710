/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This process as a client of gpushared: one session per process, made on
 * the first call that matters, made anew in a forked child.
 */
#ifndef GPUSHARE_SHIM_SESSION_H
#define GPUSHARE_SHIM_SESSION_H

#include <pthread.h>
#include <stdint.h>

#include "device/shim/base/shim.h"
#include "device/shim/session/force_plan.h"
#include "gpushare/client/client.h"

struct shim_session {
	/* What launches read. */
	_Alignas(SHIM_LINE) struct gs_page *page;
	int alone;               /* there is to be no daemon: the agent plays it (force_plan.h) */
	_Atomic int connected;   /* a daemon manages us */
	_Atomic uint32_t absent; /* enum gs_absent */
	_Atomic uint32_t signal; /* enum gs_signal */
	_Atomic uint64_t variant_min_ns; /* a longer kernel is worth a variant; 0: any, at once */
	_Atomic uint32_t machine_code;   /* enum gs_machine_code */
	_Atomic uint32_t one_context;    /* 1: all clients of the GPU share one context (MPS) */
	int sent_away; /* refused at first sight: no launches, no memory, no second try */
	struct gs_client *client;
	struct shim_force_plan force; /* alone: it evicts by this */
	/* What changes. */
	_Alignas(SHIM_LINE) _Atomic uint64_t
		used;                    /* bytes of device memory that this process holds */
	_Atomic uint64_t reservation;    /* 0: not known */
	_Atomic uint64_t context_memory; /* what a CUDA context is charged with */
	_Atomic uint32_t kernels;        /* numbers given out */
	int refused;                     /* by the daemon that answered last */
	_Atomic int stopping;
	pthread_mutex_t requesting; /* whoever asks the daemon for memory, and a new HELLO */
};

/* NULL: this process is not gpushare's (neither GPUSHARE_SOCKET nor force_plan.h), leave it alone.
 */
struct shim_session *shim_session(void);

/* The session if there is one already; never makes one. */
extern _Atomic(struct shim_session *) shim_session_made SHIM_HOT;
static inline struct shim_session *shim_session_peek(void)
{
	return atomic_load_explicit(&shim_session_made, memory_order_acquire);
}

/* Nobody will give this program a turn again (DaemonAbsent=fail); the agent itself makes the next
 * connection. */
static inline int shim_session_forsaken(const struct shim_session *s)
{
	return !s->connected && s->absent == GS_ABSENT_FAIL;
}

/*
 * Has it been waited for in vain, since then (ns)?  The process ends and somebody, such as the
 * agent, is in the driver for good: its end waits for that a second at most.
 */
int shim_in_vain(uint64_t since_ns);

/* To the user, once: no daemon answers, and what this program does now. */
void shim_session_say_absent(const struct shim_session *s);

/* (Re)connect once; 0, or -1.  Only the session's maker and the agent call it. */
int shim_session_connect(struct shim_session *s, int timeout_ms, struct gs_error *err);

#endif
