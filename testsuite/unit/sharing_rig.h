/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fake clients that share a GPU (arbiter/holders.h): what its tests have in common, on top of
 * gpu_rig.h. */
#ifndef GPUSHARE_TEST_SHARING_RIG_H
#define GPUSHARE_TEST_SHARING_RIG_H

#include "gpu_rig.h"

#define SOON (50 * US)
#define AS_IS 0

/* Each priority is a class of its own; one_context: under MPS. */
void begin_sharing(const char *policy, int one_context);
/* Launches kernel i: evictable, leaving after leave_ns (0: nobody knows), or AS_IS. */
void launch_leaving(struct client *c, unsigned i, int evictable, uint64_t leave_ns,
		    uint64_t alone_ns);
/* A ms of a client that always has a kernel of ns, evictable or AS_IS; *left is its own, at
 * first 1.  1 if the kernel ran. */
unsigned work(struct client *c, uint64_t *left, int evictable, uint64_t ns);
/* Keeps a kernel of so long on the GPU or waiting, which cannot leave; 1: it has the time slice. */
int keep_busy(struct client *c, uint64_t *left, uint64_t ns);
/* One of the clients of an allocation with so many shares, which are its step's as well. */
struct client *join_in(uint64_t id, int32_t priority, uint64_t alloc, uint32_t shares);
/* A client whose kernel is on the GPU, which nobody else had; one whose kernel waits for it. */
struct client *running(uint64_t id, int32_t priority, int evictable, uint64_t leave_ns);
struct client *requests(uint64_t id, int32_t priority, int evictable, uint64_t leave_ns);
/* Kernels that had not left by the deadline, so far. */
uint64_t overdue(void);

#endif
