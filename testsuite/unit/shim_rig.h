/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim over a recording driver (fake_driver.h): a module with one kernel
 * is loaded, its context equipped, and nobody but the test writes the page:
 * it plays the daemon and the GPU.  What test_shim*.c share.
 */
#ifndef TESTSUITE_UNIT_SHIM_RIG_H
#define TESTSUITE_UNIT_SHIM_RIG_H

#include <unistd.h>

#include "common/clock.h"
#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

/* Visible entry k(u64 p, u32 n), which can be evicted in a grid of LONG_GRID blocks. */
extern const char shim_rig_ptx[];
#define STREAM ((CUstream)0x7000)
#define LONG_GRID 1000

extern struct gs_page *page; /* of the session */
extern CUfunction kernel;    /* k */

/* Poll for a condition that another thread brings about; fails after 20 s. */
#define EVENTUALLY(condition) \
	do { \
		uint64_t until_ = gs_clock_ns() + 20 * GS_NS_PER_S; \
		while (!(condition)) { \
			assert_true(gs_clock_ns() < until_); \
			usleep(200); \
		} \
	} while (0)

/* The process's CUDA_DEVICE_MAX_CONNECTIONS, which shim_rig_setup() sets: with the usual one
 * several streams may hold a kernel. A group in a process of its own may set another one before;
 * NULL: none. */
#define RIG_CONNECTIONS 13
extern const char *shim_rig_connections;

/* Loads the module; again where it went with its context. */
void shim_rig_load(void);
/* Of a group of tests: does what the head of this file says, once in the process. */
int shim_rig_setup(void **state);
/* Before a test: the time slice is ours, nothing is out, no call is remembered. */
int shim_rig_idle(void **state);
#define SHIM(f) cmocka_unit_test_setup(f, shim_rig_idle)

/* Launch f(0x1122334455667788, 0x99aabbcc) in blocks of 32 threads; launch(): in STREAM. */
CUresult launch_in(CUfunction f, unsigned int grid, CUstream stream);
CUresult launch(CUfunction f, unsigned int grid);

/* Is nothing out: is every slot in PREP, and its launch free? */
int all_prepared(void);
/* A slot that is not in PREP; the first when all are. */
struct gs_slot *active(void);
/* What runs ends. */
void finish_all(void);
/* Called by whoever has unlocked a mutex, where lock_watch.c is linked; NULL: nothing is. */
extern void (*_Atomic lock_watch_unlocked)(void);
/* Ends the comparison of the kernel's variants: each launch that may be a variant is one. */
void not_compared(CUfunction f);
/* The daemon's doorbell. */
void ring(void);

/* The driver's calls since the last of these were these. */
void expect_calls(const char *expected);
void forget_calls(void);
/* They come to be these, and no more: the agent makes them when it has a processor. */
void await_calls(const char *expected);
/* All of them, once that one is among them. */
void await_call(const char *call, char *text, size_t size);

/* The groups of test_shim_*.c that test_shim.c runs, and the one that test_shim_channels.c does;
 * how many tests failed. */
int shim_preenqueued(void);
int shim_branches(void);
int shim_untracked(void);
int shim_evictions(void);
int shim_signals(void);
int shim_guarded_launches(void);
int shim_watchers(void);
int shim_holds(void);
int shim_graphs(void);
int shim_queues(void);
int shim_unlisted(void);
int shim_waits(void);
int shim_launch_barriers(void);
int shim_reports(void);
int shim_neighbours(void);
int shim_contexts(void); /* the last one: the agent ends */

#endif
