/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channels: the few hardware queues that the streams of a context share.
 *
 * Measured on an H200: of the n connections of a context (CUDA_DEVICE_MAX_CONNECTIONS,
 * 1 to 32, 8 if unset) n - 1 serve streams.  A stream without pending work that gets
 * some takes an idle channel, one in which no stream has pending work, or
 * else shares a busy one by round robin, and keeps it until nothing of it is pending.  What is
 * in a channel begins in the order in which it came, of whatever stream and
 * priority: an operation that waits keeps back all behind it.
 *
 * In channels are kernels, values written and waited for, and waits for events.
 * Copies, memsets and host functions have engines of their own and are in none; nor are
 * records of events, of which nothing was measured.  A graph takes a channel for each of its
 * parallel branches from when it is launched until it is over.
 *
 * All of these under the context's mutex.
 */
#ifndef GPUSHARE_EMU_CHANNEL_H
#define GPUSHARE_EMU_CHANNEL_H

#include <stdint.h>

#include "device/driver/connections.h"

#define EMU_CHANNELS (CU_CONNECTIONS_MAX - 1)

struct CUctx_st;
struct CUstream_st;
struct emu_task;

/* Of a task in a channel. */
struct emu_place {
	struct emu_place *next; /* behind it in the channel */
	const struct emu_task *task;
	uint32_t channel;
};

/* Where a task is: all but `branches` is channel.c's alone. */
struct emu_places {
	uint32_t branches; /* of a graph's launch: channels that it takes; 0: none, or one, as its
			      kind does */
	uint32_t places;   /* in so many channels */
	uint8_t inside;    /* has not passed yet */
	struct emu_place *place, only_place;
};

struct emu_channels {
	uint32_t n, round; /* turn: where the next search begins */
	struct emu_channel {
		struct emu_place *first, **tail;
		uint32_t users; /* streams with pending work here, and branches of graphs */
	} channel[EMU_CHANNELS];
};

/* A context begins: as many as the environment says now. */
void emu_channels_init(struct emu_channels *channels);
/* Does such a task go through a channel? */
int emu_channel_for(const struct emu_task *t);
/* The task goes into the stream: it gets its places, if it is one that has any.  -1: no memory. */
int emu_channel_enter(struct CUstream_st *s, struct emu_task *t);
/* Is another task in front of it in one of its channels? */
int emu_channel_behind(const struct CUctx_st *ctx, const struct emu_task *t);
/* Until none is. */
void emu_channel_wait_until(struct CUctx_st *ctx, const struct emu_task *t);
/*
 * The task begins. What is behind a kernel in its channels may begin as soon as the kernel is
 * dispatched; what is behind anything else, when that is over.
 */
void emu_channel_begin(struct CUctx_st *ctx, struct emu_task *t);
/* It is over: nothing of it is pending. */
void emu_channel_leave(struct CUstream_st *s, struct emu_task *t);

#endif
