/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams with something to do, while kernels are held.
 *
 * A context has SHIM_CONNECTIONS_N hardware channels.  A stream with pending work has one; one that
 * gets some takes a channel in which nothing is pending, or, if there is none, any: behind a held
 * kernel's wait, perhaps, and then it goes on when that kernel has ended.  If that happens to the
 * stream in which evicted kernels are relaunched, the kernel never ends. On an H200 it takes eleven
 * pending streams of twelve channels, whatever they wait for, and the branches of a graph count
 * each (doc/measurements/h200-channels.csv).
 *
 * So no more than SHIM_CHANNELS_BUSY have something to do while a kernel is held.  A program that
 * has made no more streams needs no care.  Of any other it is noted, once it holds a kernel, which
 * streams are used: what would be one too many waits for another one to end, and a kernel is held
 * only if there is room for its stream.  What has waited for long may have to go for another one to
 * end; then no kernel that is held is evicted any more.
 *
 * Not counted: copies, which end by themselves; what a program lets a stream wait for by memory
 * operations of its own.
 */
#ifndef GPUSHARE_SHIM_CHANNELS_H
#define GPUSHARE_SHIM_CHANNELS_H

#include "device/shim/session/session.h"
#include "device/shim/base/shim.h"

/* One is the legacy default stream's.  Further ones: the driver's own, the signals', the
 * relaunches' and the watchers' (guarded.c). */
#define SHIM_CHANNELS_BUSY (SHIM_CONNECTIONS_N - 4)

struct shim_stream;

/*
 * Something is about to be enqueued into `stream`, and has been: between the two the stream counts
 * as busy.  Waits while it would be one too many.  Not for a stream that is being captured.
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
 * A kernel is about to be held in `stream`, and shim_blocked_begin() has counted it: 1 if there is
 * room.  Then the stream has been entered as above, if *in is not NULL.
 */
int shim_channel_blocks(struct shim_session *s, CUstream stream, struct shim_stream **in);

/* A graph of so many branches is about to be launched: waits while they would be too many; and it
 * is over. */
void shim_channels_fork(struct shim_session *s, uint32_t branches);
void shim_channels_join(uint32_t branches);

/* A stream is about to be captured, and shim_capture_used() says so: nobody asks for any when this
 * returns. */
void shim_channels_capture(void);

/* Has a context had two streams or more that the program made, or its threads?  For ever. */
int shim_channels_several(void);

/* The program has got a stream of the current context. */
void shim_channel_made(CUstream stream);
/* It destroys one, which the driver does, too, if that has something to do: then it has its channel
 * until it has not. */
void shim_channel_destroying(CUstream stream);
/* The thread's own default stream is used: it is one of the context's, for ever. */
void shim_channels_thread(void);

/* The context has been destroyed, with its streams. */
void shim_channels_destroyed(CUcontext ctx);
/* In a forked child: the parent's streams are not its own. */
void shim_channels_forked(void);

#endif
