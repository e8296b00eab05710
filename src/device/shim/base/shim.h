/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the shim: the libcuda.so.1 that a job's process sees.
 *
 * Rules of this folder: never exit, never write to standard output, never
 * hold a lock of ours across a driver call, no work in a process that never
 * touches CUDA.  The driver is called through REAL() only.
 */
#ifndef GPUSHARE_SHIM_SHIM_H
#define GPUSHARE_SHIM_SHIM_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/cuda.h"
#include "device/shim/base/more_cuda.h"
#include "device/shim/base/operations.h"

/* One number per entry point, in the order of entries.def. */
enum shim_fn {
#define ENTRY(name, kind, blocked) SHIM_FN_##name,
#include "device/shim/base/entries.def"
#undef ENTRY
	SHIM_FN_COUNT
};

/* Of a symbol that is exported to the program. */
#define SHIM_EXPORT __attribute__((visibility("default")))

/*
 * Of the words that every launch reads.  They lie together: of the driver's own part of a launch it
 * depends what is left of ours in the first caches, mostly nothing, and each line that is not there
 * costs more than many instructions.  What others write often is not for here.
 */
#define SHIM_HOT __attribute__((section("shim_hot"), visibility("hidden")))
#define SHIM_LINE 64
#define SHIM_PAIR (2 * SHIM_LINE) /* of which processors fetch the one with the other */
/* What nearly never is so: what is done then is out of the way. */
#define SHIM_RARELY(is) __builtin_expect(!!(is), 0)
/* Of what stands in every launch's way: it is long, but mostly little of it is gone through. */
#define SHIM_INLINE inline __attribute__((always_inline))

/* The calling thread: what pthread_self() gives, without a call (psABI x86-64: the thread pointer
 * points at itself). */
static inline uintptr_t shim_self(void)
{
	uintptr_t self;

	__asm__("movq %%fs:0, %0" : "=r"(self));
	return self;
}

/*
 * What most programs never do and none undoes, and what launches then have to ask about; said
 * before it is done.
 */
enum shim_uncommon {
	SHIM_UNCOMMON_CAPTURED = 1, /* a stream has been captured (capture.h) */
	SHIM_UNCOMMON_CONTEXT = 2,  /* a thread's context has changed and no call that we see had
				       done it (context.c) */
	SHIM_UNCOMMON_DEFAULT_BLOCKED =
		4,                 /* a kernel has been held in a legacy default stream (order.c) */
	SHIM_UNCOMMON_CROWDED = 8, /* a kernel was to be held with more streams than may be busy
				      then (channels.c) */
};
extern _Atomic uint32_t shim_uncommon SHIM_HOT;
static inline uint32_t shim_is_uncommon(uint32_t what)
{
	return atomic_load_explicit(&shim_uncommon, memory_order_relaxed) & what;
}
/* 1: it is the first time. */
static inline int shim_say_uncommon(uint32_t what)
{
	return !shim_is_uncommon(what) && !(atomic_fetch_or(&shim_uncommon, what) & what);
}

/* ---- hot.c: which threads launch ---- */

/*
 * The one thread that has launched so far, by shim_self(); another value: there is none, or there
 * are more (context/order.h).  What only the owner writes it may write by plain stores, and nobody
 * else writes it: a thread that finds its own number here is the owner or was it a moment ago, and
 * whoever has the number after it began when it had ended.
 */
extern _Atomic uintptr_t shim_launch_thread SHIM_HOT;

/* What is known of the context that is current on a thread (context.h). */
struct shim_cached {
	struct shim_context *ctx; /* NULL: not known */
	unsigned int since;       /* launches that have gone by that since */
};

/* What the owner's launches write. */
struct shim_owned {
	struct shim_cached cached;
	_Atomic(struct shim_section *) section; /* context/order.h */
	_Atomic uint64_t untracked;             /* untracked.h */
};
extern struct shim_owned shim_owned __attribute__((visibility("hidden")));

/* The calling thread's; NULL: it is not the owner. */
static SHIM_INLINE struct shim_owned *shim_owned_here(void)
{
	return atomic_load_explicit(&shim_launch_thread, memory_order_acquire) == shim_self() ?
		       &shim_owned :
		       NULL;
}

/* ---- real.c: the driver below us ---- */

/*
 * The driver's function; opens the driver on first use.  Never NULL: what
 * the driver lacks answers CUDA_ERROR_NOT_SUPPORTED, and without a driver
 * everything answers CUDA_ERROR_STUB_LIBRARY; but the version is 0, as without any libcuda.so.1.
 */
void *shim_real(enum shim_fn fn);
#define REAL(name) ((__typeof__(&name))shim_real(SHIM_FN_##name))

/*
 * The same for what every launch calls, without a call once it has been found.
 * Not where the tests put themselves between (testsuite/unit/lock_watch.c).
 */
extern void *shim_slot[SHIM_FN_COUNT]; /* per entry point, NULL before its first call; forward.S
					  reads it, too */
static inline void *shim_real_at_once(enum shim_fn fn)
{
	void *p = __atomic_load_n(&shim_slot[fn], __ATOMIC_ACQUIRE);

	return p ? p : shim_real(fn);
}
#ifdef SHIM_REAL_WATCHED
#define REAL_AT_ONCE REAL
#else
#define REAL_AT_ONCE(name) ((__typeof__(&name))shim_real_at_once(SHIM_FN_##name))
#endif

/* Our symbol to hand out instead of the driver's function at `driver`; NULL: it is none that
 * entries.def lists. */
void *shim_wrapper_of(const void *driver);

/* "cuMemFree_v2" */
const char *shim_name(enum shim_fn fn);

/* So many bytes of zeros from the start of a pair of cache lines on, and the rest of the last pair.
 * NULL: no memory; else for free(). */
static inline void *shim_lines(size_t bytes)
{
	void *p = aligned_alloc(SHIM_PAIR, (bytes + SHIM_PAIR - 1) / SHIM_PAIR * SHIM_PAIR);

	return p ? memset(p, 0, bytes) : NULL;
}

/* One line to GPUSHARE_LOG's file, if that is set. */
void shim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One line to standard error, for what the user must know (once per process and text). */
void shim_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- what is held (context/barrier.h) ---- */

/* Kernels held: all; in the legacy default stream or one that synchronises with it. */
extern _Atomic uint32_t shim_held[2] SHIM_HOT;
static inline int shim_is_legacy_held(void)
{
	return atomic_load(&shim_held[1]) != 0;
}

/* Hardware connections that a context has at least (CUDA_DEVICE_MAX_CONNECTIONS), as a number and
 * as text. */
#define SHIM_CONNECTIONS_N 13
#define SHIM_CONNECTIONS "13"

#endif
