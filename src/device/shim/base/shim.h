/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim from inside: the libcuda.so.1 that a job's process loads.
 *
 * Rules of this folder: never exit; never write to standard output; never hold a lock of the shim
 * across a driver call; do no work in a process that never uses CUDA. The driver is called through
 * REAL() only.
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

/* Marks a symbol that is exported to the program. */
#define SHIM_EXPORT __attribute__((visibility("default")))

/*
 * Marks words that every launch reads. They are placed together: after the driver's own part of a
 * launch mostly none of the shim's data is left in the first caches, and fetching a missing cache
 * line costs more than many instructions. Words that other threads write often do not belong here.
 */
#define SHIM_HOT __attribute__((section("shim_hot"), visibility("hidden")))
#define SHIM_LINE 64
#define SHIM_PAIR (2 * SHIM_LINE) /* processors fetch both lines of a pair together */
/* A condition that is nearly never true; the compiler moves the code for it out of the way. */
#define SHIM_RARELY(is) __builtin_expect(!!(is), 0)
/* For functions that every launch passes through: they are long, but mostly little of them is
 * executed. */
#define SHIM_INLINE inline __attribute__((always_inline))

/* The calling thread's number: the value of pthread_self() without a call (psABI x86-64: the thread
 * pointer points to itself). */
static inline uintptr_t shim_self(void)
{
	uintptr_t self;

	__asm__("movq %%fs:0, %0" : "=r"(self));
	return self;
}

/* Features that most programs never use. Once one is used, launches must check for it, for ever.
 * The flag is set before the feature is used. */
enum shim_uncommon {
	SHIM_UNCOMMON_CAPTURED = 1, /* a stream has been captured (capture.h) */
	/* a thread's current context has changed without a call that the shim sees (context.c) */
	SHIM_UNCOMMON_CONTEXT = 2,
	/* a preemptible launch has used a legacy default stream (order.c) */
	SHIM_UNCOMMON_DEFAULT_BLOCKED = 4,
	/* a preemptible launch was made by a program with more streams than may be busy then
	 * (channels.c) */
	SHIM_UNCOMMON_CROWDED = 8,
	/* a thread or a stream has a priority of its own (own_priority.h) */
	SHIM_UNCOMMON_PRIORITIES = 16,
};
extern _Atomic uint32_t shim_uncommon SHIM_HOT;
static inline uint32_t shim_is_uncommon(uint32_t what)
{
	return atomic_load_explicit(&shim_uncommon, memory_order_relaxed) & what;
}
/* Sets the flag; returns 1 if it was not set before. */
static inline int shim_say_uncommon(uint32_t what)
{
	return !shim_is_uncommon(what) && !(atomic_fetch_or(&shim_uncommon, what) & what);
}

/* ---- hot.c: which threads launch ---- */

/*
 * The launch thread: the only thread that has launched so far, by shim_self(). Another value means
 * that there is none yet, or that several threads launch (context/order.h). Words that only the
 * launch thread writes it may write by plain stores. A thread that finds its own number here is the
 * launch thread, or was it a moment ago; a thread that got the number of an ended launch thread
 * began after that had ended.
 */
extern _Atomic uintptr_t shim_launch_thread SHIM_HOT;

/* The current context of a thread, as the shim remembers it (context.h). */
struct shim_cached {
	struct shim_context *ctx; /* NULL: not known */
	unsigned int since;       /* how many launches have used it since it was remembered */
};

/* State that only the launch thread's launches write. */
struct shim_owned {
	struct shim_cached cached;
	_Atomic(struct shim_section *) section; /* context/order.h */
	_Atomic uint64_t untracked;             /* untracked.h */
};
extern struct shim_owned shim_owned __attribute__((visibility("hidden")));

/* That state if the calling thread is the launch thread; else NULL. */
static SHIM_INLINE struct shim_owned *shim_owned_here(void)
{
	return atomic_load_explicit(&shim_launch_thread, memory_order_acquire) == shim_self() ?
		       &shim_owned :
		       NULL;
}

/* ---- real.c: the driver below us ---- */

/*
 * The driver's function; opens the driver at the first call. Never NULL: a function that the driver
 * lacks returns CUDA_ERROR_NOT_SUPPORTED, and without a driver every function returns
 * CUDA_ERROR_STUB_LIBRARY, except that the version is 0 as without any libcuda.so.1.
 */
void *shim_real(enum shim_fn fn);
#define REAL(name) ((__typeof__(&name))shim_real(SHIM_FN_##name))

/* The same for functions that every launch calls: without a function call once it has been found.
 * Not where tests intercept the calls (testsuite/unit/lock_watch.c). */
/* One for each entry point, NULL before its first call; forward.S reads it, too. */
extern void *shim_slot[SHIM_FN_COUNT];
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

/* The symbol to give to the program instead of the driver's function at `driver`; NULL: entries.def
 * does not list that function. */
void *shim_wrapper_of(const void *driver);

/* The function's name, such as "cuMemFree_v2". */
const char *shim_name(enum shim_fn fn);

/* Allocates zeroed memory that begins at a pair of cache lines and fills whole pairs. The caller
 * frees it by free(). NULL: no memory. */
static inline void *shim_lines(size_t bytes)
{
	void *p = aligned_alloc(SHIM_PAIR, (bytes + SHIM_PAIR - 1) / SHIM_PAIR * SHIM_PAIR);

	return p ? memset(p, 0, bytes) : NULL;
}

/* ---- log.c: lines for the user ---- */

/* Writes a line to the file that GPUSHARE_LOG names, if it is set. */
void shim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes a line to standard error that the user must know, once per process and text. */
void shim_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- preemptible kernels that are out (context/barrier.h) ---- */

/* How many preemptible kernels are out: [0] in all streams; [1] in the legacy default stream or one
 * that synchronises with it. */
extern _Atomic uint32_t shim_held[2] SHIM_HOT;
static inline int shim_is_legacy_held(void)
{
	return atomic_load(&shim_held[1]) != 0;
}

/*
 * The number of hardware connections that the rules for blocked streams count with: what
 * CUDA_DEVICE_MAX_CONNECTIONS says if that is 1 to 32, the driver's 8 if it is not set, and 1, with
 * which nothing is blocked, if it says anything else. A context has one channel less for streams.
 * Read at the program's first cuInit, as the driver does, and the same from then on. Any thread may
 * call it.
 *
 * In a managed client of MPS the first call sets the variable to 13 if the program has not set it.
 * With fewer than that the result is 1 there: smaller numbers have hardly been tried under MPS.
 */
uint32_t shim_connections(void);

#endif
