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

#include "device/driver/cuda.h"
#include "device/shim/more_cuda.h"
#include "device/shim/operations.h"

/* One number per entry point, in the order of entries.def. */
enum shim_fn {
#define ENTRY(name, kind, hold) SHIM_FN_##name,
#include "device/shim/entries.def"
#undef ENTRY
	SHIM_FN_COUNT
};

/* Of a symbol that is exported to the program. */
#define SHIM_EXPORT __attribute__((visibility("default")))

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
extern void *shim_slot[SHIM_FN_COUNT]; /* per entry point, NULL before its first call; forward.S reads it, too */
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

/* Our symbol to hand out instead of the driver's function at `driver`: a wrapper, or what keeps the hold rule; NULL: none. */
void *shim_wrapper_of(const void *driver);

/* "cuMemFree_v2" */
const char *shim_name(enum shim_fn fn);

/* One line to GPUSHARE_LOG's file, if that is set. */
void shim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One line to standard error, for what the user must know (once per process and text). */
void shim_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- capture.c ---- */

/* Has any stream of this process been captured so far? */
int shim_capture_used(void);

/* Hardware connections of a context (CUDA_DEVICE_MAX_CONNECTIONS), as a number and as text. */
#define SHIM_CONNECTIONS_N 12
#define SHIM_CONNECTIONS "12"

/* ---- hold.c: the hold rule ---- */

/*
 * An evictable kernel is about to be launched in `stream`: 1 if that is
 * allowed now; -1 if a call that must not meet a held kernel is inside the
 * driver, 0 if too many streams hold one already: then the kernel goes out as
 * an original.  legacy: the stream is, or synchronises with, the legacy
 * default stream.
 */
int shim_hold_begin(CUstream stream, int legacy);
/* It is done. */
void shim_hold_end(CUstream stream, int legacy);

/* Is a kernel held in the legacy default stream or in one that synchronises with it? */
int shim_hold_is_legacy(void);

/*
 * A call that enqueues so many operations (operations.h), into the legacy default stream as far as is known:
 * waits while too many are behind a held kernel there.
 */
void shim_hold_behind(unsigned int operations);
/* Kernels held: all; in the legacy default stream or one that synchronises with it. */
extern _Atomic uint32_t shim_held[2];

/*
 * Around a driver call that may block inside the driver with its lock held.  A launch that is
 * such a call may begin a hold in between: nothing else is held then.
 */
void shim_gate_enter(int only_legacy);
void shim_gate_leave(int only_legacy);

/* In a forked child, which has none of its parent's kernels: nothing is held, nobody is in a call. */
void shim_hold_forked(void);

#endif
