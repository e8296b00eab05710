/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SM threads, and the thread that holds the device's compute for them, slice
 * by slice; on a deterministic device it runs the SMs itself.
 */
#define _GNU_SOURCE
#include "device/emu/engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define BUDGET 2048 /* operations of a warp before the next one's turn */

struct job {
	struct emu_grid *grid;
	int priority;
	int done;
	struct job *next;
};

struct sm {
	struct emu_engine *engine;
	struct emu_block *block; /* blocks_per_sm places */
	uint8_t *busy;
	struct job **job;
	uint32_t id, resident;
};

struct emu_engine {
	struct emu_device *dev;
	const struct emu_config *config;
	pthread_mutex_t mutex;
	pthread_cond_t work;     /* SMs: run or jobs changed */
	pthread_cond_t manage;   /* the manager: jobs changed, an SM stopped */
	pthread_cond_t finished; /* callers of run */
	struct job *jobs;        /* by priority, then age */
	struct job *only;        /* deterministic: the one that runs */
	_Atomic uint64_t cycles; /* deterministic: the clock */
	_Atomic int run;         /* the compute is ours */
	uint32_t running;        /* SMs between two looks at run */
	struct sm *sm;
	_Atomic uint64_t instructions;
};

/* The job leaves the list once its last block has ended.  Mutex held. */
static void retire(struct emu_engine *e, struct job *j)
{
	if (e->only == j)
		e->only = NULL;
	for (struct job **p = &e->jobs; *p; p = &(*p)->next) {
		if (*p == j) {
			*p = j->next;
			break;
		}
	}
	j->done = 1;
	pthread_cond_broadcast(&e->finished);
	pthread_cond_signal(&e->manage);
}

/* One block of the job has ended, or could not begin.  Mutex held. */
static void block_over(struct emu_engine *e, struct job *j)
{
	struct emu_grid *g = j->grid;
	uint64_t untaken = 0;

	if (atomic_load(&g->failed)) {
		uint64_t next = atomic_exchange(&g->next, g->total);

		untaken = next < g->total ? g->total - next : 0;
	}
	if (atomic_fetch_sub(&g->left, 1 + untaken) == 1 + untaken && !e->config->deterministic)
		retire(e, j); /* otherwise all_sms does, once the clock has advanced */
}

static void block_ended(struct sm *sm, uint32_t place)
{
	struct emu_engine *e = sm->engine;

	atomic_fetch_add(&e->instructions, emu_block_instructions(&sm->block[place]));
	pthread_mutex_lock(&e->mutex);
	sm->busy[place] = 0;
	sm->resident--;
	block_over(e, sm->job[place]);
	pthread_mutex_unlock(&e->mutex);
}

/* Begin the job's next block in the place: 1, or 0 if it has none left.  Mutex held. */
static int begin(struct sm *sm, uint32_t place, struct job *j)
{
	struct emu_grid *g = j->grid;
	int none = 0;

	if (atomic_load(&g->failed) || atomic_load(&g->next) >= g->total)
		return 0;
	sm->block[place].smid = sm->id;
	sm->block[place].slot = place;
	if (emu_block_start(&sm->block[place], g, atomic_fetch_add(&g->next, 1)) == 0) {
		sm->busy[place] = 1;
		sm->job[place] = j;
		sm->resident++;
		return 1;
	}
	if (atomic_compare_exchange_strong(&g->failed, &none, 1)) {
		g->fault.kind = EMU_FAULT_STACK;
		atomic_store(&g->failed, 2);
	}
	block_over(sm->engine, j);
	return 0;
}

/* A block for the place, from the first job that has one left.  Mutex held. */
static int claim(struct sm *sm, uint32_t place)
{
	struct emu_engine *e = sm->engine;

	if (e->config->deterministic)
		return e->only && begin(sm, place, e->only);
	for (struct job *j = e->jobs, *next; j; j = next) {
		next = j->next; /* begin may retire it */
		if (begin(sm, place, j))
			return 1;
	}
	return 0;
}

/* Blocks for the SM's free places.  Mutex held. */
static void fill(struct sm *sm)
{
	for (uint32_t i = 0; i < sm->engine->config->blocks_per_sm; i++)
		if (!sm->busy[i])
			claim(sm, i);
}

/* Let each of the SM's blocks execute for a while. Returns the thread instructions executed. */
static uint64_t run_round(struct sm *sm, int *ended)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < sm->engine->config->blocks_per_sm; i++) {
		struct emu_block *b = &sm->block[i];
		enum emu_run state = EMU_RUN_DONE;
		uint64_t before;

		if (!sm->busy[i])
			continue;
		before = emu_block_instructions(b);
		if (!atomic_load(&b->grid->failed))
			state = emu_block_run(b, BUDGET);
		n += emu_block_instructions(b) - before;
		if (state == EMU_RUN_MORE)
			continue;
		block_ended(sm, i);
		*ended = 1;
	}
	return n;
}

static void *sm_main(void *arg)
{
	struct sm *sm = arg;
	struct emu_engine *e = sm->engine;

	for (;;) {
		int ended = 0;

		pthread_mutex_lock(&e->mutex);
		for (;;) {
			if (atomic_load(&e->run)) {
				fill(sm);
				if (sm->resident)
					break;
			}
			pthread_cond_wait(&e->work, &e->mutex);
		}
		e->running++;
		pthread_mutex_unlock(&e->mutex);
		while (!ended && atomic_load_explicit(&e->run, memory_order_relaxed))
			run_round(sm, &ended);
		pthread_mutex_lock(&e->mutex);
		e->running--;
		if (!atomic_load(&e->run))
			pthread_cond_signal(&e->manage);
		pthread_mutex_unlock(&e->mutex);
	}
	return NULL;
}

static void deadline(struct timespec *ts, uint32_t ms)
{
	clock_gettime(CLOCK_MONOTONIC, ts);
	ts->tv_nsec += (long)(ms % 1000) * 1000000;
	ts->tv_sec += (time_t)(ms / 1000) + ts->tv_nsec / 1000000000;
	ts->tv_nsec %= 1000000000;
}

static void stop_sms(struct emu_engine *e)
{
	atomic_store(&e->run, 0);
	while (e->running)
		pthread_cond_wait(&e->manage, &e->mutex);
}

/*
 * On the deterministic device: let every resident block execute for a while. The mutex is held, but
 * not while they run.
 */
static void all_sms(struct emu_engine *e)
{
	uint64_t longest = 0;
	int ended = 0;

	if (!e->only)
		e->only = e->jobs;
	for (uint32_t i = 0; i < e->config->sms; i++)
		fill(&e->sm[i]);
	pthread_mutex_unlock(&e->mutex);
	for (uint32_t i = 0; i < e->config->sms; i++) {
		uint64_t n = run_round(&e->sm[i], &ended) / EMU_LANES;

		longest = n > longest ? n : longest;
	}
	atomic_fetch_add(&e->cycles, longest + 1);
	pthread_mutex_lock(&e->mutex);
	if (!atomic_load(&e->only->grid->left))
		retire(e, e->only);
}

/* Wait until the time, or until something has changed. 1: the time has come. */
static int run_until(struct emu_engine *e, const struct timespec *until)
{
	struct timespec now;

	if (!e->config->deterministic)
		return pthread_cond_timedwait(&e->manage, &e->mutex, until) == ETIMEDOUT;
	all_sms(e);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > until->tv_sec ||
	       (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

/* Owns the compute while there are jobs; between slices the others get theirs. */
static void *manager_main(void *arg)
{
	struct emu_engine *e = arg;

	pthread_mutex_lock(&e->mutex);
	for (;;) {
		struct timespec until;
		int rc = 0;

		while (!e->jobs)
			pthread_cond_wait(&e->manage, &e->mutex);
		pthread_mutex_unlock(&e->mutex);
		while ((rc = emu_device_acquire(e->dev, 1000000)) == 0)
			;
		pthread_mutex_lock(&e->mutex);
		if (rc < 0) { /* the device file is gone: go on alone rather than hang */
			rc = 0;
		}
		atomic_store(&e->run, 1);
		pthread_cond_broadcast(&e->work);
		deadline(&until, e->config->slice_ms);
		while (e->jobs) {
			if (!run_until(e, &until))
				continue;
			pthread_mutex_unlock(&e->mutex);
			rc = emu_device_others_want(e->dev);
			pthread_mutex_lock(&e->mutex);
			if (rc)
				break;
			deadline(&until, e->config->slice_ms);
		}
		stop_sms(e);
		rc = e->jobs != NULL;
		pthread_mutex_unlock(&e->mutex);
		emu_device_yield(e->dev, rc);
		pthread_mutex_lock(&e->mutex);
	}
	return NULL;
}

static int start_thread(void *(*fn)(void *), void *arg, struct gs_error *err)
{
	pthread_attr_t attr;
	pthread_t t;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&t, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return rc ? gs_fail(err, "cannot start a thread of the device") : 0;
}

struct emu_engine *emu_engine_create(struct emu_device *dev, struct gs_error *err)
{
	struct emu_engine *e = calloc(1, sizeof(*e));
	pthread_condattr_t ca;
	uint32_t places;

	if (!e) {
		gs_fail(err, "out of memory");
		return NULL;
	}
	e->dev = dev;
	e->config = emu_device_config(dev);
	places = e->config->blocks_per_sm;
	pthread_mutex_init(&e->mutex, NULL);
	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	pthread_cond_init(&e->work, &ca);
	pthread_cond_init(&e->manage, &ca);
	pthread_cond_init(&e->finished, &ca);
	pthread_condattr_destroy(&ca);
	e->sm = calloc(e->config->sms, sizeof(*e->sm));
	if (!e->sm)
		return NULL;
	for (uint32_t i = 0; i < e->config->sms; i++) {
		struct sm *sm = &e->sm[i];

		sm->engine = e;
		sm->id = i;
		sm->block = calloc(places, sizeof(*sm->block));
		sm->busy = calloc(places, 1);
		sm->job = calloc(places, sizeof(*sm->job));
		if (!sm->block || !sm->busy || !sm->job)
			return NULL;
	}
	if (start_thread(manager_main, e, err))
		return NULL;
	for (uint32_t i = 0; i < e->config->sms && !e->config->deterministic; i++)
		if (start_thread(sm_main, &e->sm[i], err))
			return NULL;
	return e;
}

void emu_engine_run(struct emu_engine *e, struct emu_grid *grid, int priority)
{
	struct job j = { .grid = grid, .priority = priority }, **p;

	atomic_store(&grid->next, 0);
	atomic_store(&grid->left, grid->total);
	atomic_store(&grid->failed, 0);
	pthread_mutex_lock(&e->mutex);
	for (p = &e->jobs; *p && (*p)->priority <= priority; p = &(*p)->next)
		;
	j.next = *p;
	*p = &j;
	pthread_cond_signal(&e->manage);
	pthread_cond_broadcast(&e->work);
	while (!j.done)
		pthread_cond_wait(&e->finished, &e->mutex);
	pthread_mutex_unlock(&e->mutex);
}

const _Atomic uint64_t *emu_engine_cycles(const struct emu_engine *e)
{
	return e->config->deterministic ? &e->cycles : NULL;
}

void emu_engine_pass(struct emu_engine *e, uint64_t cycles)
{
	atomic_fetch_add(&e->cycles, cycles);
}
