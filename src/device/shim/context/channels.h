/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits how many streams have work pending while preemptible kernels are out.
 *
 * Of its connections a context has one less as channels for streams, and a stream with pending work
 * has one of them. A stream that gets work takes a channel in which nothing is pending. If there is
 * none it takes any channel, perhaps one behind a preemptible kernel's wait, and then its work
 * starts only when that kernel has ended. If this happens to the stream in which evicted kernels
 * are relaunched, the kernel never ends. On an H200 it takes eleven streams with pending work of
 * twelve channels, whatever they wait for, and each branch of a graph counts
 * (doc/measurements/h200-channels.csv).
 *
 * So at most shim_channels_busy() streams may have pending work while a preemptible kernel is out.
 * A program that has made no more streams than that needs no care. For any other program, from its
 * first preemptible kernel on, it is noted which streams are used. A stream that would be one too
 * many waits for another one's work to end, and a kernel goes out preemptibly only if there is room
 * for its stream. If a stream has waited for long, the work that it waits for may depend on it;
 * then no kernel that is out is evicted any more, and none goes out preemptibly until all streams
 * that were at work then have been idle once: until then one of them may share a channel with the
 * relaunches.
 *
 * Not counted: copies, which end by themselves, and what a program lets a stream wait for by its
 * own memory operations.
 */
#ifndef GPUSHARE_SHIM_CHANNELS_H
#define GPUSHARE_SHIM_CHANNELS_H

#include "device/shim/session/session.h"
#include "device/shim/base/shim.h"

/*
 * How many streams may have pending work while a preemptible kernel is out, the legacy default
 * stream among them: the connections less four, which are those of the driver itself, the signals,
 * the relaunches and the watchers (guarded.c). 0 where there are no more than four. With seven or
 * fewer no kernel goes out preemptibly (barrier.c), so nothing ever waits for this number.
 */
uint32_t shim_channels_busy(void);

/* How long a stream waits at first for another one's work to end. It is short: a program with many
 * streams should not be slower than without gpushare, and its kernels stay on the GPU instead. Only
 * tests set it. */
extern uint64_t shim_channels_patience_ns;

struct shim_stream;

/*
 * Call around enqueueing something into `stream`: in between the stream counts as busy. Waits while
 * it would be one stream too many. Not for a stream that is being captured. shim_channel_enter()
 * returns what shim_channel_leave() needs; NULL is fine.
 */
struct shim_stream *shim_channel_enter_late(struct shim_session *s, CUstream stream);
void shim_channel_leave_late(struct shim_stream *in);

static inline struct shim_stream *shim_channel_enter(struct shim_session *s, CUstream stream)
{
	return shim_is_uncommon(SHIM_UNCOMMON_CROWDED) ? shim_channel_enter_late(s, stream) : NULL;
}
static inline void shim_channel_leave(struct shim_stream *in)
{
	if (SHIM_RARELY(in))
		shim_channel_leave_late(in);
}

/*
 * Call before a preemptible kernel goes out in `stream`, after shim_blocked_begin(). Returns 1 if
 * there is room. Then, if *in is not NULL, the stream has been entered as above, and the caller
 * must leave it.
 */
int shim_channel_blocks(struct shim_session *s, CUstream stream, struct shim_stream **in);

/* Call before a graph with this many more branches is launched: waits while they would be too many.
 * shim_channels_join(): the graph has ended. */
void shim_channels_fork(struct shim_session *s, uint32_t branches);
void shim_channels_join(uint32_t branches);

/* Call before a stream is captured, after shim_capture_used() has become true: when this returns,
 * no thread queries a stream's state any more. */
void shim_channels_capture(void);

/* Has a context ever had two or more streams that the program or its threads made? */
int shim_channels_several(void);

/* The program has made a stream of the current context. */
void shim_channel_made(CUstream stream);
/* The program is about to destroy a stream. The driver allows that while work is pending, and the
 * stream keeps its channel until that work has ended. */
void shim_channel_destroying(CUstream stream);
/* The thread's own default stream is used; from now on it counts as one of the context's. */
void shim_channels_thread(void);

/* The context has been destroyed, with its streams. */
void shim_channels_destroyed(CUcontext ctx);
/* In a forked child: the parent's streams are not its own. */
void shim_channels_forked(void);

#endif
