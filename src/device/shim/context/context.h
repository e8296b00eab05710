/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim keeps in each CUDA context: the launches' control blocks in
 * device memory, their host images, the page as the GPU sees it, and streams
 * of its own for eviction signals and relaunches.
 */
#ifndef GPUSHARE_SHIM_CONTEXT_H
#define GPUSHARE_SHIM_CONTEXT_H

#include "device/ptx/ctl.h"
#include "device/shim/session/session.h"
#include "device/shim/base/shim.h"

/* Resident limit of a kernel that may stay; the adaptive chunk of the claims (ctl.h). */
#define SHIM_NO_LIMIT UINT32_MAX
#define SHIM_CHUNK_FIRST 1
#define SHIM_CHUNK_MAX 32
/* A claim should take that long while nobody else wants the GPU, and that while somebody does. */
#define SHIM_CHUNK_AIM_NS 20000
#define SHIM_CHUNK_CONTENDED_NS 3000

struct shim_guards;

enum shim_context_event {
	SHIM_SETTLED, /* between control and relaunch: no signal is on its way any more */
	SHIM_ENDED,   /* behind a kernel whose end is asked for (marker.h) */
	SHIM_CONTEXT_EVENTS
};

struct shim_context {
	/* What launches read. */
	_Alignas(SHIM_LINE) CUcontext ctx;
	struct shim_context *next;
	CUdevice device;
	int sms;
	_Atomic int gone;       /* destroyed: never touched again */
	_Atomic CUresult fault; /* what has ended everything in it (fault.h), or CUDA_SUCCESS */
	_Atomic uint32_t
		local_bytes;  /* the largest frame[] of a kernel that was launched in it so far */
	int may_preenqueue;   /* its streams may wait for what is in the page (grant.h) */
	CUdeviceptr ctl;      /* GS_PAGE_SLOTS blocks of struct gs_ctl, and one */
	struct gs_ctl *image; /* what is in them, as far as the host wrote it */
	CUdeviceptr page;     /* struct gs_page */
	struct shim_guards *_Atomic guards; /* guarded.c's; NULL: none has been launched in it */
	/* What the agent writes, too. */
	_Alignas(SHIM_LINE) _Atomic unsigned int users; /* threads that are in it, the program's own
							   calls aside */
	uint64_t polled_ns;                             /* agent: when it last asked for a fault */
	void *view;       /* the page at an address of this context's own, or NULL */
	CUstream control; /* eviction signals */
	CUstream relaunch;
	CUevent event[SHIM_CONTEXT_EVENTS];
	unsigned int attached; /* under context.c's lock: so many times, beyond being made */
	uint32_t *word;        /* pinned: an order's values, to copy one from (agent.c); or NULL */
};

/*
 * The current context's record, made on first use.  NULL: no context is
 * current, or it cannot be equipped (the reason is logged once): its kernels
 * then go to the driver directly.
 */
struct shim_context *shim_context_current(struct shim_session *s);

/*
 * The same without asking the driver where no call of the program has changed what is current on
 * this thread since it was asked last, SHIM_CACHED_MAX times at most.  A context that became
 * current behind our back is found out when the driver is asked the next time; from then on it is
 * asked each time, by all threads.
 */
struct shim_context *shim_context_known(struct shim_session *s);
#define SHIM_CACHED_MAX 128

/*
 * What is known so.  Of the thread that alone launches (shim_launch_thread) it is with what it
 * owns: by its number and not by what is the thread's own (TLS), which takes a library a call into
 * the dynamic linker.  A thread that has that number after one has no current context until it
 * calls for one, which makes this unknown.
 */
/* The calling thread's. */
struct shim_cached *shim_cached_here(void);

/* Does it hold, unless nobody is sure any more (SHIM_UNCOMMON_CONTEXT)? */
static SHIM_INLINE int shim_context_is_cached(struct shim_cached *cached)
{
	return cached->ctx && !atomic_load_explicit(&cached->ctx->gone, memory_order_acquire) &&
	       cached->since++ < SHIM_CACHED_MAX;
}

/* The current context's device, of which the driver is asked no more often than that. */
CUresult shim_context_device(CUdevice *device);

/* The current context's handle, as the driver says; NULL: there is none. */
CUcontext shim_context_handle(void);

/* The program makes a call that changes which context is current on this thread. */
void shim_context_changes(void);

/*
 * The driver crashes over what was in a destroyed context, and the program may destroy
 * it at any time: whoever touches a context that the program did not call about
 * does so between these two.  0: it is gone.
 */
int shim_context_use(struct shim_context *c);
void shim_context_unuse(struct shim_context *c);

/* The limit of its stack is another: how large a frame it has room for is not known any more. */
void shim_context_local_unknown(CUcontext ctx);

/* The program is about to destroy a context: nobody uses it any more when this returns. */
void shim_context_gone(CUcontext ctx);
/* It has been destroyed: what was launched in it is over. */
void shim_context_destroyed(CUcontext ctx);
/* It has not, after all. */
void shim_context_stays(CUcontext ctx);
/* The program has attached to it, 1, or is about to detach from it, -1: how often it had attached
 * to it before. */
unsigned int shim_context_attached(CUcontext ctx, int by);
/* In a forked child: the parent's contexts, and the page in them, are not its own. */
void shim_context_forked(void);

#endif
