/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities of threads and streams; see own_priority.h. */
#define _GNU_SOURCE
#include "device/shim/session/own_priority.h"

#include <pthread.h>

#include "device/shim/base/wraps.h"
#include "gpushare/api/gpushare.h"

#define STREAMS_MAX GPUSHARE_STREAM_PRIORITIES_MAX

SHIM_EXPORT int gpushare_shim_set_thread_priority(int priority);
SHIM_EXPORT int gpushare_shim_reset_thread_priority(void);
SHIM_EXPORT int gpushare_shim_set_stream_priority(void *stream, int priority);
SHIM_EXPORT int gpushare_shim_reset_stream_priority(void *stream);

/* As in gs_priorities.of_slot[]. */
static __thread uint32_t of_thread;

/* Never held while the driver is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUstream stream;
	CUcontext ctx;           /* the stream's; NULL: not known */
	uint32_t priority;       /* GS_PRIORITY_OF_CLIENT: the entry is free */
} of_stream[STREAMS_MAX];        /* under lock */
static _Atomic uint32_t streams; /* entries that are in use */

/* The default stream has two handles. */
static CUstream handle(CUstream stream)
{
	return stream ? stream : CU_STREAM_LEGACY;
}

/* Under lock: the stream's entry, or a free one, or -1 if there is neither. */
static int find(CUstream stream)
{
	int is = -1;

	for (int i = 0; i < STREAMS_MAX; i++) {
		if (of_stream[i].priority && of_stream[i].stream == stream)
			return i;
		if (!of_stream[i].priority && is < 0)
			is = i;
	}
	return is;
}

/* Returns 0, or -1 if no entry is free. */
static int set_stream(CUstream stream, CUcontext ctx, uint32_t priority)
{
	int i;

	pthread_mutex_lock(&lock);
	i = find(stream);
	if (i >= 0) {
		atomic_fetch_add(&streams, (priority != 0) - (of_stream[i].priority != 0));
		of_stream[i].stream = stream;
		of_stream[i].ctx = ctx;
		of_stream[i].priority = priority;
	}
	pthread_mutex_unlock(&lock);
	return i < 0 && priority ? -1 : 0;
}

uint32_t shim_own_priority_late(CUstream stream)
{
	uint32_t is = GS_PRIORITY_OF_CLIENT;

	if (atomic_load(&streams)) {
		int i;

		pthread_mutex_lock(&lock);
		i = find(handle(stream));
		if (i >= 0)
			is = of_stream[i].priority;
		pthread_mutex_unlock(&lock);
	}
	return is ? is : of_thread;
}

void shim_own_priority_destroying(CUstream stream)
{
	if (SHIM_RARELY(atomic_load(&streams)))
		set_stream(handle(stream), NULL, GS_PRIORITY_OF_CLIENT);
}

void shim_own_priority_destroyed(CUcontext ctx)
{
	if (!atomic_load(&streams))
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < STREAMS_MAX; i++)
		if (of_stream[i].priority && of_stream[i].ctx == ctx) {
			of_stream[i].priority = GS_PRIORITY_OF_CLIENT;
			atomic_fetch_sub(&streams, 1);
		}
	pthread_mutex_unlock(&lock);
}

void shim_own_priority_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(of_stream, 0, sizeof(of_stream));
	atomic_store(&streams, 0);
}

/* ---- the program's calls ------------------------------------------------------------ */

static int is_priority(int priority)
{
	return priority >= 0 && priority <= GPUSHARE_PRIORITY_MAX;
}

/* The result of a call whose priority has been noted. It counts even if gpushared answers later. */
static int managed(void)
{
	struct shim_session *s = shim_session();

	return s && s->connected ? GPUSHARE_OK : GPUSHARE_NOT_MANAGED;
}

int gpushare_shim_set_thread_priority(int priority)
{
	if (!is_priority(priority))
		return GPUSHARE_INVALID;
	shim_say_uncommon(SHIM_UNCOMMON_PRIORITIES);
	of_thread = (uint32_t)priority + 1;
	return managed();
}

int gpushare_shim_reset_thread_priority(void)
{
	of_thread = GS_PRIORITY_OF_CLIENT;
	return managed();
}

/* NULL: the driver does not say, or the handle means another stream in each context. */
static CUcontext context_of(CUstream stream)
{
	CUcontext ctx = NULL;

	if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    REAL(cuStreamGetCtx)(stream, &ctx) != CUDA_SUCCESS)
		return NULL;
	return ctx;
}

int gpushare_shim_set_stream_priority(void *stream, int priority)
{
	if (!is_priority(priority))
		return GPUSHARE_INVALID;
	shim_say_uncommon(SHIM_UNCOMMON_PRIORITIES);
	if (set_stream(handle(stream), context_of(handle(stream)), (uint32_t)priority + 1) < 0)
		return GPUSHARE_INVALID;
	return managed();
}

int gpushare_shim_reset_stream_priority(void *stream)
{
	set_stream(handle(stream), NULL, GS_PRIORITY_OF_CLIENT);
	return managed();
}
