/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channels; see channel.h.  Places are given out when tasks are enqueued, all
 * of a task's at once: whatever a task is behind came before it, in channels as in
 * streams, so channels alone never make tasks wait for each other in a circle.
 */
#define _GNU_SOURCE
#include "device/emu/channel.h"

#include <stdlib.h>

#include "device/emu/emu.h"

void emu_channels_init(struct emu_channels *c)
{
	uint32_t n = cu_connections(CU_CONNECTIONS_DEFAULT);

	c->n = n > 1 ? n - 1 : 1;
	c->round = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		c->channel[i].first = NULL;
		c->channel[i].tail = &c->channel[i].first;
		c->channel[i].users = 0;
	}
}

/* A channel for one more: idle if there is one. */
static uint32_t take(struct emu_channels *c)
{
	uint32_t at = c->round;

	for (uint32_t i = 0; i < c->n; i++) {
		if (!c->channel[(c->round + i) % c->n].users) {
			at = (c->round + i) % c->n;
			break;
		}
	}
	c->round = (at + 1) % c->n;
	c->channel[at].users++;
	return at;
}

int emu_channel_for(const struct emu_task *t)
{
	return t->kind == EMU_T_KERNEL || t->kind == EMU_T_WAIT_VALUE ||
	       t->kind == EMU_T_WAIT_EVENT || t->front;
}

static void append(struct emu_channels *c, struct emu_place *p)
{
	struct emu_channel *at = &c->channel[p->channel];

	p->next = NULL;
	*at->tail = p;
	at->tail = &p->next;
}

int emu_channel_enter(struct CUstream_st *s, struct emu_task *t)
{
	struct emu_channels *c = &s->ctx->channels;
	uint32_t n = t->in.branches ? t->in.branches : (uint32_t)emu_channel_for(t);

	n = n < c->n ? n : c->n;
	if (!n)
		return 0;
	t->in.place = n == 1 ? &t->in.only_place : calloc(n, sizeof(*t->in.place));
	if (!t->in.place)
		return -1;
	t->in.places = n;
	if (!s->pending++)
		s->channel = take(c);
	for (uint32_t i = 0; i < n; i++) {
		t->in.place[i].task = t;
		t->in.place[i].channel = i ? take(c) : s->channel;
		append(c, &t->in.place[i]);
	}
	t->in.inside = 1;
	return 0;
}

int emu_channel_behind(const struct CUctx_st *ctx, const struct emu_task *t)
{
	for (uint32_t i = 0; t->in.inside && i < t->in.places; i++)
		if (ctx->channels.channel[t->in.place[i].channel].first->task != t)
			return 1;
	return 0;
}

void emu_channel_wait_until(struct CUctx_st *ctx, const struct emu_task *t)
{
	while (emu_channel_behind(ctx, t))
		pthread_cond_wait(&ctx->changed, &ctx->mutex);
}

/* It is the first everywhere, and is so no more. */
static void pass(struct CUctx_st *ctx, struct emu_task *t)
{
	int others = 0;

	for (uint32_t i = 0; t->in.inside && i < t->in.places; i++) {
		struct emu_channel *at = &ctx->channels.channel[t->in.place[i].channel];

		at->first = at->first->next; /* the task's own place: this one, or another in the
					      * same channel */
		if (!at->first)
			at->tail = &at->first;
		others |= at->first != NULL;
	}
	t->in.inside = 0;
	if (others)
		pthread_cond_broadcast(&ctx->changed);
}

void emu_channel_begin(struct CUctx_st *ctx, struct emu_task *t)
{
	if (t->kind == EMU_T_KERNEL)
		pass(ctx, t);
}

void emu_channel_leave(struct CUstream_st *s, struct emu_task *t)
{
	struct emu_channels *c = &s->ctx->channels;

	if (!t->in.places)
		return;
	pass(s->ctx, t);
	for (uint32_t i = 1; i < t->in.places; i++)
		c->channel[t->in.place[i].channel].users--;
	if (!--s->pending)
		c->channel[s->channel].users--;
	if (t->in.place != &t->in.only_place)
		free(t->in.place);
	t->in.place = NULL;
	t->in.places = 0;
}
