/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rig (shim_rig.h) with a driver that makes streams and says which of them have something to
 * do, as the test wants it: what test_shim_channels.c and test_shim_patience.c share.
 */
#ifndef TESTSUITE_UNIT_SHIM_STREAMS_H
#define TESTSUITE_UNIT_SHIM_STREAMS_H

#include <pthread.h>

#include "device/shim/context/channels.h"
#include "shim_rig.h"

#define HELD (RIG_CONNECTIONS - 7) /* streams that may hold a kernel then (context/barrier.h) */
#define BUSY (RIG_CONNECTIONS - 4) /* shim_channels_busy() then */
#define MADE (RIG_CONNECTIONS + 4)
#define AT(i) ((CUstream)(uintptr_t)(0x9000 + 0x10 * (i)))

extern _Atomic int pending[MADE]; /* what the driver says of each */
extern _Atomic int requested;     /* so often */
extern _Atomic int stands, usage; /* the driver's answer lets wait for it; it is waited for */
extern _Atomic int captured;
extern __thread int is_out; /* the driver has got the last operation of a held kernel */

/* Of a group of tests. */
int streams_setup(void **state);

/* The program makes streams until there are so many. */
void make(unsigned int n);
/* A kernel is launched there that the GPU is not through with; was it held? */
int launches(unsigned int i);
/* Something goes there that holds nothing, and the GPU is not through with it. */
void occupy(unsigned int i);
void occupy_by_event(unsigned int i);
/* Everything ends, and the driver knows of it. */
void over(void);
/* Whatever was busy before, none is now but stream 0. */
void begin_idle(void);
/* As many as may be, of which one is held and none ends. */
void begin_full(void);

/* A call of another thread's: a launch of what is never held, a wait for an event, a graph. */
struct call {
	pthread_t thread;
	unsigned int stream;
	_Atomic int begun, done;
};
void *launch_as_is(void *call);
void *wait_there(void *call);
void *launch_graph(void *call);
/* It stands still; it is made after all. */
void begin_waiting(struct call *c, void *(*body)(void *), unsigned int stream);
void expect_done(struct call *c);

/* The groups of test_shim_patience.c and test_shim_connections.c, which test_shim_channels.c runs;
 * how many tests failed. The latter set the number of connections themselves. */
int shim_patience(void);
int shim_connections_default(void);
int shim_connections_one(void);
int shim_connections_five(void);
int shim_connections_seven(void);
int shim_connections_most(void);

#endif
