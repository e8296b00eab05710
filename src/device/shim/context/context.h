/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim keeps for each CUDA context: the launches' control blocks in device memory, their
 * images in host memory, the page as the GPU sees it, and streams of its own for eviction signals
 * and relaunches.
 */
#ifndef GPUSHARE_SHIM_CONTEXT_H
#define GPUSHARE_SHIM_CONTEXT_H

#include "device/ptx/ctl.h"
#include "device/shim/session/session.h"
#include "device/shim/base/shim.h"

/*
 * The resident limit of a kernel that may stay; bounds of the adaptive chunk of the claims (ctl.h).
 */
#define SHIM_NO_LIMIT UINT32_MAX
#define SHIM_CHUNK_FIRST 1
#define SHIM_CHUNK_MAX 32
/* How long a claim should take, ns: while nobody else wants the GPU, and while somebody does. */
#define SHIM_CHUNK_AIM_NS 20000
#define SHIM_CHUNK_CONTENDED_NS 3000

struct shim_guards;

enum shim_context_event {
	/* recorded in control, awaited in relaunch: no earlier signal is still on its way */
	SHIM_SETTLED,
	SHIM_ENDED, /* behind a kernel whose end is polled (marker.h) */
	SHIM_CONTEXT_EVENTS
};

/* What is known of a context beside its launches. */
struct shim_context_state {
	uint64_t polled_ns; /* when the agent last checked it for a fault */
	/* the word that says how many workers stay, as the GPU has it (part.h); 1: it may still be
	 * on its way; and who writes it */
	_Atomic uint32_t part_word;
	_Atomic int part_unsettled;
	atomic_flag part_busy;
};

struct shim_context {
	/* Read by launches. */
	_Alignas(SHIM_LINE) CUcontext ctx;
	struct shim_context *next;
	CUdevice device;
	int sms;
	_Atomic int gone; /* the context is destroyed and must not be used */
	/* the error that has ended the context (fault.h), or CUDA_SUCCESS */
	_Atomic CUresult fault;
	/* local memory per thread of the largest kernel launched in it so far, bytes */
	_Atomic uint32_t local_bytes;
	int may_preenqueue; /* its streams can wait for words of the page (grant.h) */
	/* the control blocks: GS_PAGE_SLOTS structs gs_ctl; and behind them the word of
	 * part.h */
	CUdeviceptr ctl;
	struct gs_ctl *image; /* their contents as the host has written them */
	CUdeviceptr page;     /* the page, as the GPU sees it */
	/* of guarded.c; NULL: no guarded kernel was launched in it */
	struct shim_guards *_Atomic guards;
	/* Written by the agent as well. */
	/* threads of the shim that use it now (shim_context_use), apart from the program's own
	 * calls */
	_Alignas(SHIM_LINE) _Atomic unsigned int users;
	struct shim_context_state state;
	void *view;       /* a mapping of the page for this context alone, or NULL */
	CUstream control; /* eviction signals */
	CUstream relaunch;
	CUevent event[SHIM_CONTEXT_EVENTS];
	unsigned int attached; /* how often cuCtxAttach was called; under context.c's lock */
	/* pinned memory with the values of signals that are sent by copies (evict.c), or NULL */
	uint32_t *word;
};

/*
 * The current context's record, which is made on first use. NULL: no context is current, or it
 * cannot be equipped (the reason is logged once), and then its kernels go to the driver directly.
 */
struct shim_context *shim_context_current(struct shim_session *s);

/*
 * The same, but without asking the driver if no call of the program has changed this thread's
 * current context since the driver was last asked; at most SHIM_CACHED_MAX times in a row. If a
 * context became current without such a call, this is noticed when the driver is asked next. From
 * then on all threads ask the driver at each launch.
 */
struct shim_context *shim_context_known(struct shim_session *s);
#define SHIM_CACHED_MAX 128

/*
 * The cached context of the calling thread. The launch thread (shim_launch_thread) keeps it in
 * shim_owned, which is found by the thread's number, since access to thread-local storage costs a
 * library a call into the dynamic linker. A thread that gets the number of one that has ended has
 * no current context until it makes a call for one, and that call drops the cached context.
 */
/* The calling thread's cached context; never NULL. */
struct shim_cached *shim_cached_here(void);

/* May the cached context be used? Counts the use. Check SHIM_UNCOMMON_CONTEXT as well. */
static SHIM_INLINE int shim_context_is_cached(struct shim_cached *cached)
{
	return cached->ctx && !atomic_load_explicit(&cached->ctx->gone, memory_order_acquire) &&
	       cached->since++ < SHIM_CACHED_MAX;
}

/* The current context's device. The driver is asked at most as often as for the context. */
CUresult shim_context_device(CUdevice *device);

/* The current context's handle, as the driver says; NULL: there is none. */
CUcontext shim_context_handle(void);

/* The program makes a call that changes this thread's current context. */
void shim_context_changes(void);

/* The first of all contexts that were equipped, gone ones included; NULL: there is none. They are
 * linked by `next` and never freed. */
struct shim_context *shim_context_first(void);

/*
 * The driver crashes if a resource of a destroyed context is used, and the program may destroy a
 * context at any time. So a thread that uses a context in which the program has not made a call
 * does so between these two calls. shim_context_use() returns 0 if the context is gone, and then
 * shim_context_unuse() must not be called.
 */
int shim_context_use(struct shim_context *c);
void shim_context_unuse(struct shim_context *c);

/*
 * The context's stack limit has changed: forget for how much local memory per thread it has room.
 */
void shim_context_local_unknown(CUcontext ctx);

/* The program is about to destroy a context. When this returns no thread of the shim uses it any
 * more. */
void shim_context_gone(CUcontext ctx);
/* The context has been destroyed, and what was launched in it has ended. */
void shim_context_destroyed(CUcontext ctx);
/* The driver refused to destroy the context. */
void shim_context_stays(CUcontext ctx);
/* The program has attached to the context (by 1), or is about to detach from it (by -1). Returns
 * how often it was attached before. */
unsigned int shim_context_attached(CUcontext ctx, int by);
/* In a forked child: forgets the parent's contexts and the page in them. */
void shim_context_forked(void);

#endif
