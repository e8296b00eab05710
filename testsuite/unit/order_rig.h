/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that enter a passage (device/shim/context/order.h) and leave it when told, without a
 * driver: what the tests of passages share. */
#ifndef GPUSHARE_TEST_ORDER_RIG_H
#define GPUSHARE_TEST_ORDER_RIG_H

#include <pthread.h>

#include "device/shim/context/order.h"

#define WATCH_US 20000

/* Two that synchronise with the legacy default stream, and one that does not. */
#define ONE ((CUstream)0x7000)
#define TWO ((CUstream)0x7100)
#define OWN ((CUstream)0x7200)

/* Kernels held in a stream that the default one waits for. */
#define held (shim_held[1])
extern const struct shim_context *const context;

/* As launch/calls.c: the owner's launches that hold nothing have a way of their own where nobody
 * has done anything else odd. */
void enter(struct shim_section *p, CUstream stream, int blocks);

/* Nobody has launched yet: the first one that does has the way of its own that one thread has. */
int begin_anew(void **unused);
/* No thread has that. */
int begin_shared(void **unused);

/* A thread that enters, says so, and leaves when told. */
struct visitor {
	CUstream stream;
	int blocks;
	_Atomic int tid, in, leave;
	pthread_t thread;
};

/* It is in, or waits. */
void come(struct visitor *v, CUstream stream, int blocks);
void go(struct visitor *v);
int gets_in(struct visitor *v);

/*
 * The first thread has launched before and is inside the driver when another one
 * launches for the first time, which is to wait for it or not to: does it?
 */
int second_comes(CUstream stream, int blocks, CUstream stream2, int holds2, int waits);

/* test_order_threads.c's: how many failed. */
int order_owners(void);

#define BOTH(test) \
	{ #test ", at first one thread", test, begin_anew, NULL, NULL }, \
	{ \
#test ", not so", test, begin_shared, NULL, NULL \
	}

#endif
