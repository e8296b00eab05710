/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The launches that are out: one for each slot of the page, with what a relaunch needs. A launch
 * belongs to the thread that took it until it is enqueued; after that any thread that finds its
 * slot in a state that needs something may act on it.
 */
#ifndef GPUSHARE_SHIM_POOL_H
#define GPUSHARE_SHIM_POOL_H

#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/variant/variant.h"

struct shim_transform;

/* The program's grid, blocks and dynamic shared memory (bytes), and how many blocks the GPU holds
 * at once. */
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

/* State of a guarded launch. */
struct shim_guard {
	uint32_t unit;  /* blocks that leave together */
	uint32_t group; /* log2 of the number of units that are checked together */
	uint32_t ends;  /* value of the control block's `done` when the launch has ended */
	/* the kernel is in its stream, but the driver has refused what is launched behind it */
	uint8_t endless;
};

/* How far a launch got when it was last on the GPU; used by the agent only. Times are ns. */
struct shim_progress {
	uint64_t out_ns;   /* when it went out */
	uint64_t left_ns;  /* when it was found to have left; 0: it has not */
	uint64_t least_ns; /* the shortest time between those two so far; 0: not known */
	uint64_t began;    /* block-tasks that were finished when it went out */
	uint64_t deaf;     /* block-tasks that it then ran whatever the order (guarded.c) */
	uint64_t retry_ns; /* the driver refused a relaunch: do not try before this time */
};

/* What an evictable launch is launched and relaunched with. */
struct shim_preemptible {
	struct shim_variant *variant;           /* NULL: the kernel as written */
	const struct shim_transform *transform; /* of the variant */
	struct shim_dims_out dims;
	struct shim_attributes attributes;
	struct shim_packed packed;
	struct shim_guard guard;
	uint8_t proxy; /* worker 0 (ctl.h) or a watcher (guarded.c) notices TOEVICT */
	uint8_t sent;  /* the driver has taken all of the first launch of the variant */
	/* words of the control block to write before the launch */
	CUstreamBatchMemOpParams write[10];
	unsigned int nwrite;
};

/* The launch's place among the program's streams. */
struct shim_streams {
	CUstream blocked; /* evictable: the stream that it blocks, by its own name (request.c) */
	/* shim_streams_destroyed when the launch was made: if it differs between two launches,
	 * their streams may be two with one handle */
	uint32_t destroyed;
	/* that stream is, or synchronises with, the legacy default stream */
	uint8_t legacy;
	struct shim_stream *in;    /* its stream until it is enqueued, or NULL (channels.h) */
	_Atomic uint32_t branches; /* a graph's branches that are counted (channels.h) */
};

/* The orders to leave that the launch was given; used by the agent only. */
struct shim_eviction {
	uint64_t signalled_ns; /* when the last one was sent; 0: none */
	uint32_t signals;      /* how many were sent before the kernel started */
	/* a signal may still be on its way, also one of the slot's last launch */
	int unsettled;
	uint8_t unwatched; /* it was called back, and what watched for the order has gone */
};

/* How the launch is timed: by two events around the kernel. */
struct shim_stopwatch {
	uint8_t sampled; /* enum shim_timed */
	/* The context of the events. Not a CUcontext: the driver may give the handle of a destroyed
	 * context to a new one, and crashes over an event of the old one. */
	struct shim_context *ctx;
	CUevent begin, end;
	uint32_t besides; /* the page's, when the launch went out */
	/* when it was found DONE while its events were not ready; 0: it was not */
	uint64_t done_ns;
};

/* The launch's part of what is queued, if it cannot be evicted. */
struct shim_queued {
	_Atomic uint64_t ns;
	_Atomic uint8_t unknown; /* its time is not known */
	_Atomic(CUstream) in;
};

struct shim_launch {
	_Atomic int taken; /* enum shim_slot_owned */
	uint32_t index;    /* of the slot */
	struct gs_slot *slot;
	struct shim_context *ctx;
	struct shim_kernel *kernel;
	struct shim_time *time; /* the kernel's time with its block dimensions */
	uint64_t nt, tasks;     /* as in struct shim_request */
	/* blocks of the kernel as written that the GPU holds at once; 0: not known */
	uint32_t at_once;
	uint8_t evictable;
	uint8_t in_barrier; /* it goes out behind the closed barrier: shim_request_grows() */
	uint8_t beside;     /* enum gs_beside when it went out */
	/* it waits in its stream for its time slice, or has (grant.h) */
	_Atomic uint8_t preenqueued;
	_Atomic int enqueued; /* the agent may relaunch it */
	struct shim_preemptible as;
	struct shim_streams streams;
	struct shim_queued queued;
	struct shim_progress progress;
	struct shim_eviction eviction;
	struct shim_stopwatch watch;
};

/* The states of a launch: free; being prepared or out; being reclaimed. */
enum shim_slot_owned { SHIM_FREE, SHIM_OUT, SHIM_RECLAIMING };

/* Ties every launch to its slot. Call it before any other thread uses them. */
void shim_launch_init(struct gs_page *page);

/* The launch goes out: remembers whether others' kernels may run beside it from here on. */
void shim_launch_note_neighbours(struct shim_launch *l);

/* Takes a free launch, whose slot is in PREP; waits until there is one. */
struct shim_launch *shim_launch_take(struct shim_session *s);
/* Gives a launch back. Its slot goes to PREP by transitions that launch_state.def allows the
 * client. */
void shim_launch_drop(struct shim_launch *l);
/* The launch's context has failed, so nothing on the GPU will end it any more: unblocks its stream
 * and gives it back. */
void shim_launch_abandon(struct shim_launch *l);

/* The launch of slot `index`. */
struct shim_launch *shim_launch_at(uint32_t index);

/* Reclaims launches that are DONE and learns their time per block-task. Returns how many launches
 * are still out. */
unsigned shim_launch_reap(struct shim_session *s);

/* How many launches have been given to the driver, including those that wait there for their time
 * slice. */
unsigned shim_launch_enqueued(struct shim_session *s);

/*
 * Makes every evictable launch that is out unevictable, unless it has been told to leave already.
 * Returns 1 if each of them is on the GPU or on its way there, and has been unevictable for so long
 * that an earlier order to leave would have shown by now.
 */
int shim_launch_keep_held(void);

/* Makes this launch unevictable. */
void shim_launch_keep(struct shim_launch *l);

/* Is this the only launch that is out? */
int shim_launch_is_alone(const struct shim_launch *l);

/* The predicted time, ns, of the launches out that cannot be evicted; how many of them have none;
 * and adding one launch to both. */
uint64_t shim_launch_queued_ns(void);
unsigned int shim_launch_queued_unknown(void);
void shim_launch_queue(struct shim_launch *l, CUstream stream, uint64_t ns, int unknown);
/* The same for one stream; *unknown: how many have no predicted time. Threads' default streams are
 * not distinguished. */
uint64_t shim_launch_queued_in(CUstream stream, unsigned int *unknown);

/* Device addresses of the launch's slot and control block. */
CUdeviceptr shim_launch_slot(const struct shim_launch *l, size_t offset);
CUdeviceptr shim_launch_ctl(const struct shim_launch *l, size_t offset);

#endif
