/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The launches in flight: one per slot of the page, with what a relaunch
 * needs.  A launch belongs to the thread that took it until it is enqueued,
 * then to whoever finds its slot in a state that needs something done.
 */
#ifndef GPUSHARE_SHIM_POOL_H
#define GPUSHARE_SHIM_POOL_H

#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/variant/variant.h"

struct shim_transform;

/* The program's grid and blocks, dynamic shared memory, and the blocks that the GPU holds at once.
 */
struct shim_dims_out {
	unsigned int grid[3], block[3], shared, workers;
};

/* More than these a launch has hardly ever. */
#define SHIM_ATTRIBUTES_MAX 4

/* Attributes that go with the variant, whenever it is launched. */
struct shim_attributes {
	unsigned int n;
	CUlaunchAttribute of[SHIM_ATTRIBUTES_MAX];
};

/* The kernel's parameter block, with the transform's own parameter behind the program's. */
struct shim_packed {
	unsigned char *bytes;
	size_t len, room;
};

/* Of a guarded launch. */
struct shim_guard {
	uint32_t unit;  /* blocks that leave together */
	uint32_t group; /* log2 of the units asked together */
	uint32_t ends;  /* what the control block's `done` is when it has ended */
};

/* How far a launch got when it was on the GPU last; the agent's. */
struct shim_progress {
	uint64_t out_ns;   /* when it went out */
	uint64_t left_ns;  /* when it was seen to have left; 0: it has not */
	uint64_t least_ns; /* the least that there has been between the two; 0: not known */
	uint64_t began;    /* block-tasks that were finished when it went out */
	uint64_t deaf;     /* block-tasks that it then ran whatever was ordered (guarded.c) */
	uint64_t retry_ns; /* the driver refused a relaunch; not again before */
};

/* What a launch that can be evicted goes out with, first and again. */
struct shim_preemptible {
	struct shim_variant *variant;           /* NULL: the kernel as written */
	const struct shim_transform *transform; /* of the variant */
	struct shim_dims_out dims;
	struct shim_attributes attributes;
	struct shim_packed packed;
	struct shim_guard guard;
	uint8_t proxy; /* worker 0 (ctl.h) or a watcher (guarded.c) sees TOEVICT */
	CUstreamBatchMemOpParams write[10]; /* words of the control block to write first */
	unsigned int nwrite;
};

/* Its place among the program's streams. */
struct shim_streams {
	CUstream blocked;          /* evictable: the one that it blocks, for barrier.c alone */
	uint8_t legacy;            /* that is, or synchronises with, the legacy default stream */
	struct shim_stream *in;    /* its stream, until it is enqueued; or NULL (channels.h) */
	_Atomic uint32_t branches; /* of a graph: those that are counted (channels.h) */
};

/* The orders to leave that it was given; the agent's. */
struct shim_eviction {
	uint64_t signalled_ns; /* when the last one was sent; 0: none */
	uint32_t signals;      /* how often, before the kernel started */
	int unsettled;         /* one may be on its way, also from the slot's last launch */
};

/* How it is timed: by two events around the kernel. */
struct shim_stopwatch {
	uint8_t sampled; /* enum shim_timed */
	/*
	 * Whose the events are.  Not a CUcontext: the driver gives the handle of a context that is
	 * gone to another one, and crashes over an event of the first.
	 */
	struct shim_context *ctx;
	CUevent begin, end;
	uint64_t done_ns; /* reclaiming: it was DONE then, but its events not ready; 0: not so */
};

/* Of a launch that cannot be evicted: its part of what is queued. */
struct shim_queued {
	_Atomic uint64_t ns;
	_Atomic uint8_t unknown; /* its time is not known */
	_Atomic(CUstream) in;
};

struct shim_launch {
	_Atomic int taken; /* enum below */
	uint32_t index;    /* of the slot */
	struct gs_slot *slot;
	struct shim_context *ctx;
	struct shim_kernel *kernel;
	struct shim_time *time; /* of its blocks' shape */
	uint64_t nt, tasks;     /* as the request has them */
	uint32_t at_once;       /* blocks that the GPU holds at once, as written; 0: not known */
	uint8_t evictable;
	uint8_t in_barrier; /* it goes out behind the closed barrier: shim_request_grows() */
	uint8_t beside;     /* enum gs_beside, as it went out */
	_Atomic uint8_t preenqueued; /* it has waited in its stream for its time slice
					(grant.h), or does */
	_Atomic int enqueued;        /* the agent may relaunch it */
	struct shim_preemptible as;
	struct shim_streams streams;
	struct shim_queued queued;
	struct shim_progress progress;
	struct shim_eviction eviction;
	struct shim_stopwatch watch;
};

/* Free; being prepared or out; being reclaimed. */
enum shim_slot_owned { SHIM_FREE, SHIM_OUT, SHIM_RECLAIMING };

/* Tie every launch to its slot, before anybody else looks at them. */
void shim_launch_init(struct gs_page *page);

/* Take a free launch; waits until there is one. Its slot is in PREP. */
struct shim_launch *shim_launch_take(struct shim_session *s);
/* Give it back unused (its slot goes to PREP by the client's edges of launch_state.def). */
void shim_launch_drop(struct shim_launch *l);
/* Its context has failed: nothing on the GPU will end it any more.  Its hold ends, it is dropped.
 */
void shim_launch_abandon(struct shim_launch *l);

/* The launch of slot `index`. */
struct shim_launch *shim_launch_at(uint32_t index);

/* Reclaim what is DONE, learn its time per block-task; how many launches are still out. */
unsigned shim_launch_reap(struct shim_session *s);

/* How many of them have been given to the driver, those that wait there for their turn among them.
 */
unsigned shim_launch_enqueued(struct shim_session *s);

/*
 * No held kernel out is evicted any more, if it has not been told to leave already.  1: each of
 * them is on the GPU or on its way there, and has not been evictable for so long that it would have
 * been told.
 */
int shim_launch_keep_held(void);

/* Is this the only launch that is out? */
int shim_launch_is_alone(const struct shim_launch *l);

/* Predicted time of the launches out that cannot be evicted, how many of them have none; and adding
 * this one's. */
uint64_t shim_launch_queued_ns(void);
unsigned int shim_launch_queued_unknown(void);
void shim_launch_queue(struct shim_launch *l, CUstream stream, uint64_t ns, int unknown);
/* The same of this stream alone; threads' default streams are told apart by nobody. */
uint64_t shim_launch_queued_in(CUstream stream, unsigned int *unknown);

/* Device addresses of the launch's slot and control block. */
CUdeviceptr shim_launch_slot(const struct shim_launch *l, size_t offset);
CUdeviceptr shim_launch_ctl(const struct shim_launch *l, size_t offset);

#endif
