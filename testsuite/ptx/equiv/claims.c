/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The persistent variant, which claims, as the shim runs it: launched, evicted,
 * launched again, until its count is the grid's.
 */
#define _GNU_SOURCE
#include "transformed.h"
#include "device/ptx/slot_layout.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAUNCHES_MAX 100000

struct evictor {
	_Atomic uint32_t *limit, *state; /* launch state: NULL if the limit is to be written */
	unsigned us;
};

static void *evict(void *arg)
{
	struct evictor *e = arg;
	struct timespec pause = { 0, (long)e->us * 1000 };
	uint32_t launched = 0;

	nanosleep(&pause, NULL);
	if (e->state) /* not if the kernel has just left */
		atomic_compare_exchange_strong(e->state, &launched, PTX_STATE_TOEVICT);
	else
		atomic_store(e->limit, 0);
	return NULL;
}

static void launch(struct launch *l, void *variant, const struct board *b, const struct way *w,
		   unsigned limit_us)
{
	uint64_t ctl = b->device + offsetof(struct shared_words, ctl);
	struct evictor e = { (_Atomic uint32_t *)&b->host->ctl.limit,
			     w->proxy ?
				     (_Atomic uint32_t *)(void *)(b->host->slot + PTX_SLOT_STATE) :
				     NULL,
			     limit_us };
	const struct test_case *c = l->c;
	pthread_t thread;

	l->pointer[l->nargs] = &ctl;
	if (limit_us && pthread_create(&thread, NULL, evict, &e) != 0)
		fail(c, "no thread");
	DO(l->drv->launch(variant, w->workers, 1, 1, c->block[0], c->block[1], c->block[2],
			  c->shared, b->stream, l->pointer, NULL));
	DO(l->drv->stream_sync(b->stream));
	if (limit_us)
		pthread_join(thread, NULL);
}

/* What the last block out must have left behind. */
static void check_words(const struct launch *l, const struct way *w, const struct shared_words *s,
			uint64_t total)
{
	uint32_t state, started;
	uint64_t done, n = s->ctl.next < total ? s->ctl.next : total;

	memcpy(&state, s->slot + PTX_SLOT_STATE, 4);
	memcpy(&started, s->slot + PTX_SLOT_STARTED, 4);
	memcpy(&done, s->slot + PTX_SLOT_DONE, 8);
	if (started != 1)
		fail(l->c, "the slot was not told of the start");
	if (done != n)
		fail(l->c, "the slot's count is %llu, not %llu", (unsigned long long)done,
		     (unsigned long long)n);
	if (state != (n == total ? PTX_STATE_DONE : PTX_STATE_READY))
		fail(l->c, "the slot's state is %u", state);
	if (s->ctl.done != (n == total) || s->ctl.exited != 0)
		fail(l->c, "the control block's end is wrong");
	if (w->proxy && s->ctl.limit != UINT32_MAX)
		fail(l->c, "the limit is not ready for the relaunch");
}

/* Evicted before the first claim it must do nothing. */
static void check_limit_0(struct launch *l, void *variant, const struct board *b,
			  const struct way *w)
{
	struct shared_words *s = b->host;

	s->ctl.limit = 0;
	launch(l, variant, b, w, 0);
	check_words(l, w, s, s->ctl.total);
	if (s->ctl.next)
		fail(l->c, "with the limit 0 it claimed %llu block-tasks",
		     (unsigned long long)s->ctl.next);
}

static unsigned pause_of(const struct way *w, unsigned launches, unsigned idle)
{
	if (!w->limit_us)
		return 0;
	return w->limit_us + idle / 4 * 200 +
	       (w->seed ? (w->seed * 7919u + launches * 104729u) % (2 * w->limit_us) : 0);
}

/* What the stream holds behind the kernel sees all that it wrote: the copies wait for `done` as the
 * shim's streams do. */
static void enqueue_behind(const struct launch *l, const struct board *b, const struct way *w)
{
	if (!w->behind)
		return;
	DO(l->drv->stream_wait(b->behind, b->device + offsetof(struct shared_words, ctl.done), 1,
			       0 /* >= */));
	image_take(l, w->behind, b->behind);
}

unsigned persistent_run(struct launch *l, void *variant, const struct board *b, const struct way *w)
{
	struct shared_words *s = b->host;
	const unsigned *g = l->c->grid;
	uint64_t all = case_tasks(l->c), last = 0;
	unsigned launches = 0, idle = 0;

	s->ctl = (struct gs_ctl) {
		.chunk = w->chunk,
		.chunk_max = w->chunk_max,
		.chunk_ns = w->chunk_ns,
		.total = all,
		.nctaid = { g[0], g[1], g[2] },
		.workers = w->workers,
		.slot = b->device + offsetof(struct shared_words, slot),
		.proxy = w->proxy,
		.own_stay = w->sms,
		.stay_at = w->sms ? offsetof(struct gs_ctl, own_stay) : 0,
	};
	memset(s->slot, 0, sizeof(s->slot));
	if (!w->proxy) /* which watches the slot, not the limit */
		check_limit_0(l, variant, b, w);
	enqueue_behind(l, b, w);
	for (;;) {
		uint64_t total = w->every && last + w->every < all ? last + w->every : all;

		s->ctl.total = total;
		s->ctl.limit = w->limit ? w->limit : w->workers;
		s->ctl.done = 0;
		memset(s->slot, 0, sizeof(s->slot));
		launch(l, variant, b, w, pause_of(w, launches, idle));
		check_words(l, w, s, total);
		if (s->ctl.next > total) /* claims beyond the end */
			s->ctl.next = total;
		if (s->ctl.next == all)
			return launches;
		idle = s->ctl.next == last ? idle + 1 : 0;
		last = s->ctl.next;
		if (++launches > LAUNCHES_MAX)
			fail(l->c, "no progress");
	}
}
