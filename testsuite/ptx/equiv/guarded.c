/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guarded variant as the shim runs it: the original's grid, launched, told to
 * leave, launched again from the prefix that has run, with the kernel behind it
 * that reports its end (device/ptx/guard_end.h).
 */
#define _GNU_SOURCE
#include "transformed.h"
#include "device/ptx/guard_end.h"
#include "device/ptx/slot_layout.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define LAUNCHES_MAX 100000

struct kernels {
	void *variant, *end, *watch;
};

struct evictor {
	struct shared_words *words;
	int proxy; /* by way of the slot's state and the watcher, else W itself */
	unsigned us;
};

static void *evict(void *arg)
{
	struct evictor *e = arg;
	struct timespec pause = { 0, (long)e->us * 1000 };
	uint32_t running = PTX_STATE_RUNNING;

	nanosleep(&pause, NULL);
	if (e->proxy) /* not if the kernel has just left */
		atomic_compare_exchange_strong(
			(_Atomic uint32_t *)(void *)(e->words->slot + PTX_SLOT_STATE), &running,
			PTX_STATE_TOEVICT);
	else
		atomic_store(
			(_Atomic uint32_t *)(void *)((char *)&e->words->guard + GS_GUARD_UPPER_AT),
			GS_GUARD_LEAVE_UPPER);
	return NULL;
}

static void launch(struct launch *l, const struct kernels *k, const struct board *b,
		   const struct way *w, uint64_t base, unsigned limit_us)
{
	uint64_t word = b->device + offsetof(struct shared_words, guard);
	uint64_t slot = b->device + offsetof(struct shared_words, slot);
	uint64_t done = b->device + offsetof(struct shared_words, ctl.done);
	uint64_t total = case_tasks(l->c);
	uint32_t unit = 1, group = 0, finished = 1;
	struct gs_guard guard = { .word = word, .base = base };
	void *end[] = { &word, &slot, &done, &total, &unit, &group };
	void *watch[] = { &word, &slot, &done, &finished };
	struct evictor e = { b->host, (int)w->proxy, limit_us };
	const struct test_case *c = l->c;
	pthread_t thread;

	l->pointer[l->nargs] = &guard;
	if (w->proxy)
		DO(l->drv->launch(k->watch, 1, 1, 1, 1, 1, 1, 0, b->watch, watch, NULL));
	if (limit_us && pthread_create(&thread, NULL, evict, &e) != 0)
		fail(c, "no thread");
	DO(l->drv->launch(k->variant, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
			  c->block[2], c->shared, b->stream, l->pointer, NULL));
	DO(l->drv->launch(k->end, 1, 1, 1, 1, 1, 1, 0, b->stream, end, NULL));
	DO(l->drv->stream_sync(b->stream));
	if (limit_us)
		pthread_join(thread, NULL);
	if (w->proxy) /* it ends with the kernel */
		DO(l->drv->stream_sync(b->watch));
}

/* What the end must have reported of n blocks. */
static void check_words(const struct launch *l, const struct shared_words *s, uint64_t n,
			uint64_t total)
{
	uint32_t state, started;
	uint64_t done;

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
	if (s->ctl.done != (n == total))
		fail(l->c, "the stream's word is %u", s->ctl.done);
}

/* The slot of a launch that has just gone out. */
static void begin(struct shared_words *s, uint64_t word)
{
	uint32_t running = PTX_STATE_RUNNING;

	s->guard = word;
	s->ctl.done = 0;
	memset(s->slot, 0, sizeof(s->slot));
	memcpy(s->slot + PTX_SLOT_STATE, &running, sizeof(running));
}

static unsigned pause_of(const struct way *w, unsigned launches, unsigned idle)
{
	if (!w->limit_us)
		return 0;
	return w->limit_us + idle / 4 * 200 +
	       (w->seed ? (w->seed * 7919u + launches * 104729u) % (2 * w->limit_us) : 0);
}

/* The copies wait for the end as the shim's streams do. */
static void enqueue_behind(const struct launch *l, const struct board *b, const struct way *w)
{
	if (!w->behind)
		return;
	b->host->ctl.done = 0;
	DO(l->drv->stream_wait(b->behind, b->device + offsetof(struct shared_words, ctl.done), 1,
			       0 /* >= */));
	image_take(l, w->behind, b->behind);
}

static void load(const struct launch *l, struct kernels *k, void *variant)
{
	static void *module;

	if (!module)
		DO(l->drv->module_load(&module, ptx_guard_module));
	k->variant = variant;
	DO(l->drv->module_function(&k->end, module, PTX_GUARD_END));
	DO(l->drv->module_function(&k->watch, module, PTX_GUARD_WATCH));
}

unsigned guarded_run(struct launch *l, void *variant, const struct board *b, const struct way *w)
{
	struct shared_words *s = b->host;
	uint64_t total = case_tasks(l->c), n = 0;
	unsigned launches = 0, idle = 0;
	struct kernels k;

	load(l, &k, variant);
	if (!w->proxy) { /* told to leave before it began, it must do nothing */
		begin(s, GS_GUARD_LEAVE);
		launch(l, &k, b, w, 0, 0);
		check_words(l, s, 0, total);
	}
	enqueue_behind(l, b, w);
	for (;;) {
		uint64_t last = n;

		/* `every`: told to leave from the first, but for so many blocks. */
		begin(s, w->every && n + w->every < total ? GS_GUARD_LEAVE | (n + w->every) : n);
		launch(l, &k, b, w, n, pause_of(w, launches, idle));
		memcpy(&n, s->slot + PTX_SLOT_DONE, sizeof(n));
		check_words(l, s, n, total);
		if (w->every && n != last + w->every && n != total)
			fail(l->c, "%llu blocks ran", (unsigned long long)(n - last));
		if (n == total && s->guard && !w->limit_us) /* else told late */
			fail(l->c, "W is not ready for the next launch");
		if (n == total)
			return launches;
		if (GS_GUARD_COUNT(s->guard) != n)
			fail(l->c, "W says another prefix");
		idle = n == last ? idle + 1 : 0;
		if (++launches > LAUNCHES_MAX)
			fail(l->c, "no progress");
	}
}
