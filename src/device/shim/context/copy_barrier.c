/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies under way and the copy barrier; see copy_barrier.h. */
#define _GNU_SOURCE
#include "device/shim/context/copy_barrier.h"

#include <pthread.h>
#include <time.h>

#include "common/clock.h"

/* Longer than the daemon closes it (arbiter/copy_policy.h). */
#define CLOSED_MOST_NS (25 * GS_NS_PER_MS)
/* The agent looks so often while there may be something to open. */
#define POLL_NS (5 * GS_NS_PER_MS)
#define NAP_NS (20 * GS_NS_PER_US)

_Atomic uint32_t shim_copies_behind[2];
__thread uint32_t shim_copy_barrier_forced;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_copy_run runs[GS_COPY_RUNS]; /* under lock; chunks 0: it is free */

/* Under lock. */
static void free_run(struct gs_copies *copies, int i)
{
	gs_page_store(copies->run[i].state, GS_COPY_NONE);
	if (runs[i].waits) {
		atomic_fetch_sub(&shim_copies_behind[0], 1);
		atomic_fetch_sub(&shim_copies_behind[1], (uint32_t)runs[i].legacy);
	}
	runs[i].chunks = 0;
}

/* Under lock: what the GPU says is over; returns the waits of what is not. */
static uint32_t reap(struct gs_copies *copies)
{
	uint32_t waits = 0;

	for (int i = 0; i < GS_COPY_RUNS; i++) {
		if (!runs[i].chunks)
			continue;
		if (gs_page_load(copies->run[i].done) >= runs[i].chunks)
			free_run(copies, i);
		else if (runs[i].waits)
			waits += runs[i].chunks;
	}
	return waits;
}

/* Under lock: a free one, and what it says. */
static int take_run(struct gs_copies *copies, enum gs_copy_direction way, uint64_t bytes,
		    const struct shim_copy_run *run)
{
	struct gs_copy_run *at;
	int i = 0;

	while (i < GS_COPY_RUNS && runs[i].chunks)
		i++;
	if (i == GS_COPY_RUNS)
		return -1;
	runs[i] = *run;
	at = &copies->run[i];
	gs_page_store(at->way, (uint32_t)way);
	gs_page_store(at->chunks, run->chunks);
	gs_page_store(at->done, 0);
	gs_page_store(at->chunk_kib, (uint32_t)(bytes / run->chunks >> 10));
	gs_page_store(at->state, GS_COPY_ENQUEUED);
	return i;
}

int shim_copy_run_begin(struct shim_session *s, enum gs_copy_direction way, uint64_t bytes,
			uint32_t least, struct shim_copy_run *run)
{
	uint32_t left;
	int i = -1, first = 0;

	pthread_mutex_lock(&lock);
	left = SHIM_COPY_WAITS_MAX - reap(&s->page->copies);
	if (run->waits && run->chunks > left)
		run->chunks = left;
	if (run->chunks && run->chunks >= least)
		i = take_run(&s->page->copies, way, bytes, run);
	if (i >= 0 && run->waits) {
		first = atomic_fetch_add(&shim_copies_behind[0], 1) == 0;
		atomic_fetch_add(&shim_copies_behind[1], (uint32_t)run->legacy);
	}
	pthread_mutex_unlock(&lock);
	if (first)
		gs_page_doorbell(s->page); /* the agent is to look after the barrier */
	return i;
}

void shim_copy_run_end(struct shim_session *s, int run)
{
	pthread_mutex_lock(&lock);
	if (runs[run].chunks)
		free_run(&s->page->copies, run);
	pthread_mutex_unlock(&lock);
}

static void open_all(struct gs_copies *copies)
{
	for (int way = 0; way < GS_COPY_ENGINES; way++)
		atomic_store(&copies->open[way], 1);
}

void shim_copy_barrier_force_late(int only_legacy)
{
	struct shim_session *s = shim_session_peek();

	if (!s)
		return;
	pthread_mutex_lock(&lock);
	reap(&s->page->copies);
	pthread_mutex_unlock(&lock);
	if (!atomic_load(&shim_copies_behind[only_legacy]))
		return;
	shim_copy_barrier_forced++;
	atomic_fetch_add(&s->page->copies.forced, 1);
	open_all(&s->page->copies);
}

void shim_copy_barrier_unforce_late(void)
{
	struct shim_session *s = shim_session_peek();

	shim_copy_barrier_forced--;
	if (s)
		atomic_fetch_sub(&s->page->copies.forced, 1);
}

void shim_copy_barrier_wait(struct shim_session *s, enum gs_copy_direction way)
{
	struct gs_copies *copies = &s->page->copies;
	const struct timespec nap = { 0, NAP_NS };
	uint64_t until = 0;

	while (!gs_page_load(copies->open[way]) && !s->stopping) {
		uint64_t now = gs_clock_ns();

		if (!until)
			until = now + CLOSED_MOST_NS;
		else if (now >= until)
			break;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
}

uint64_t shim_copy_barrier_step(struct shim_session *s, uint64_t now, uint64_t nap)
{
	static uint64_t closed_ns[GS_COPY_ENGINES]; /* found closed since then; 0: it was open */
	struct gs_copies *copies = &s->page->copies;

	if (!atomic_load(&shim_copies_behind[0])) {
		closed_ns[GS_COPY_TO_DEVICE] = closed_ns[GS_COPY_TO_HOST] = 0;
		return nap;
	}
	pthread_mutex_lock(&lock);
	reap(copies);
	pthread_mutex_unlock(&lock);
	for (int way = 0; way < GS_COPY_ENGINES; way++) {
		if (gs_page_load(copies->open[way])) {
			closed_ns[way] = 0;
		} else if (!closed_ns[way]) {
			closed_ns[way] = now;
		} else if (now - closed_ns[way] > CLOSED_MOST_NS || atomic_load(&copies->forced)) {
			atomic_store(&copies->open[way], 1);
			closed_ns[way] = 0;
		}
	}
	return nap < POLL_NS ? nap : POLL_NS;
}

void shim_copy_barrier_leave_open(struct shim_session *s)
{
	for (int way = 0; way < GS_COPY_ENGINES; way++)
		gs_page_store(s->page->copies.rule[way], GS_COPY_FREE);
	open_all(&s->page->copies);
}

void shim_copy_barrier_end(struct shim_session *s)
{
	atomic_fetch_add(&s->page->copies.forced, 1);
	shim_copy_barrier_leave_open(s);
}

void shim_copy_runs_destroyed(CUcontext ctx)
{
	struct shim_session *s = shim_session_peek();

	if (!s)
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < GS_COPY_RUNS; i++)
		if (runs[i].chunks && runs[i].ctx == ctx)
			free_run(&s->page->copies, i);
	pthread_mutex_unlock(&lock);
}

void shim_copy_barrier_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < GS_COPY_RUNS; i++)
		runs[i].chunks = 0;
	shim_copy_barrier_forced = 0;
	for (int i = 0; i < 2; i++)
		atomic_store(&shim_copies_behind[i], 0);
}
