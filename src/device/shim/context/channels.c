/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which streams have pending work; see channels.h. */
#define _GNU_SOURCE
#include "device/shim/context/channels.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "device/shim/base/capture.h"
#include "device/shim/context/context.h"
#include "device/shim/context/order.h"
#include "device/shim/context/patience.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/base/wraps.h"

#define NAP_NS 50000
/* The size of the hash table `found`; a program may use a thousand streams. */
#define FOUND_BITS 11
/* How many streams are queried at a time. */
#define QUERIED_MAX 64

/* Replaces the handle of a stream that was destroyed while it had pending work. */
#define GHOST ((CUstream)(uintptr_t)-1)

struct shim_stream {
	CUstream stream;  /* NULL: this record is free */
	uintptr_t thread; /* for CU_STREAM_PER_THREAD: the thread; else 0 */
	CUcontext ctx;
	struct shim_stream *next;
	unsigned int inside; /* calls that are about to enqueue something */
	/* how often that has happened: an older answer of the driver does not count */
	uint32_t entered;
	int busy, requested; /* work may be pending; how many threads query the driver about it */
	/* it has had work pending since there was no channel for a stream, so it may share one with
	 * the relaunches */
	int shares;
};

uint64_t shim_channels_patience_ns = 100 * GS_NS_PER_MS;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_stream *streams; /* under lock; records are reused, never freed */
/* Under lock: the record that was last found for each hash of a stream. */
static struct shim_stream *found[1 << FOUND_BITS];
/* The branches of the graphs that are out, beyond each graph's first; written under lock. */
static _Atomic uint32_t branches;
static _Atomic uint32_t contexts_gone; /* number of destroyed contexts; written under lock */
static _Atomic int several,
	/* several: a context has had two streams of its own; many: one has had more than may be
	 * busy. */
	many;

uint32_t shim_channels_busy(void)
{
	uint32_t n = shim_connections();

	return n > 4 ? n - 4 : 0;
}

static int is_of(const struct shim_stream *s, CUstream stream, uintptr_t thread)
{
	return s->stream == stream && s->thread == thread;
}

/* Under lock. */
static struct shim_stream *find(CUstream stream)
{
	uintptr_t thread = stream == CU_STREAM_PER_THREAD ? shim_self() : 0;
	struct shim_stream **last =
		&found[(((uintptr_t)stream ^ thread) * UINT64_C(0x9E3779B97F4A7C15)) >>
		       (64 - FOUND_BITS)];
	struct shim_stream *s = *last;

	if (s && is_of(s, stream, thread))
		return s;
	for (s = streams; s && !is_of(s, stream, thread); s = s->next)
		;
	if (s)
		*last = s;
	return s;
}

/* Under lock; NULL: no memory. */
static struct shim_stream *add(CUstream stream, CUcontext ctx)
{
	struct shim_stream *s = streams;

	while (s && (s->stream || s->inside || s->requested))
		s = s->next;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->next = streams;
		streams = s;
	}
	s->stream = stream;
	s->thread = stream == CU_STREAM_PER_THREAD ? shim_self() : 0;
	s->ctx = ctx;
	s->busy = s->shares = 0;
	return s;
}

/* Under lock: nothing is pending in it, so it takes another channel next time. */
static void set_idle(struct shim_stream *s)
{
	s->busy = s->shares = 0;
}

/* Under lock: more streams of the context are busy than there are channels, so any of them may
 * share one. */
static void set_shared(CUcontext ctx)
{
	for (struct shim_stream *s = streams; s; s = s->next)
		s->shares |= s->ctx == ctx && s->busy;
}

/* Under lock: may a stream of the context share its channel with the relaunches? Then what waits in
 * that stream for an evicted kernel would wait for ever. */
static int may_share(CUcontext ctx)
{
	for (const struct shim_stream *s = streams; s; s = s->next)
		if (s->stream && s->ctx == ctx && s->shares)
			return 1;
	return 0;
}

/* Under lock. While usage is not noted, every stream may be busy. */
static int may_be_busy(const struct shim_stream *s)
{
	return s->stream && (s->busy || !shim_is_uncommon(SHIM_UNCOMMON_CROWDED));
}

/* Under lock: the streams of the context that may be busy. */
static uint32_t busy(CUcontext ctx)
{
	uint32_t n = 1 + branches;

	for (const struct shim_stream *s = streams; s; s = s->next)
		n += s->ctx == ctx && may_be_busy(s);
	return n;
}

/* Under lock: collects the streams of the context that may be busy, to be queried without the lock.
 * Returns how many. */
static size_t to_query(CUcontext ctx, struct shim_stream *of[QUERIED_MAX],
		       CUstream stream[QUERIED_MAX], uint32_t entered[QUERIED_MAX])
{
	size_t n = 0;

	for (struct shim_stream *s = streams; s && n < QUERIED_MAX && !shim_capture_used();
	     s = s->next) {
		if (!s->stream || s->stream == GHOST || s->thread || s->ctx != ctx || !s->busy ||
		    s->inside)
			continue;
		s->requested++;
		of[n] = s;
		stream[n] = s->stream;
		entered[n++] = s->entered;
	}
	return n;
}

/* Marks the streams that the driver reports as idle. */
static void query(CUcontext ctx)
{
	struct shim_stream *of[QUERIED_MAX];
	CUstream stream[QUERIED_MAX];
	uint32_t entered[QUERIED_MAX];
	size_t n;

	pthread_mutex_lock(&lock);
	n = to_query(ctx, of, stream, entered);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < n; i++) {
		int idle = REAL(cuStreamQuery)(stream[i]) != CUDA_ERROR_NOT_READY;

		pthread_mutex_lock(&lock);
		of[i]->requested--;
		if (idle && of[i]->entered == entered[i])
			set_idle(of[i]);
		pthread_mutex_unlock(&lock);
	}
}

/* Under lock, while no preemptible kernel is out or none of them is on the GPU: the pending work of
 * destroyed streams then ends by itself, so they are forgotten. */
static void forget_ghosts(void)
{
	for (struct shim_stream *s = streams; s; s = s->next)
		if (s->stream == GHOST)
			s->stream = NULL;
}

/* If no launch with a slot is on the GPU, no stream waits for a preemptible kernel, so all streams
 * count as idle. Under lock: a launch is inside until it is enqueued, so none is missed. */
static int all_idle(struct shim_session *session)
{
	int are;

	pthread_mutex_lock(&lock);
	are = !shim_upcalls->enqueued(session);
	for (struct shim_stream *s = streams; are && s; s = s->next)
		if (!s->inside)
			set_idle(s);
	if (are)
		forget_ghosts();
	pthread_mutex_unlock(&lock);
	return are;
}

/* Finds out which streams are idle by now. Once a stream has been captured the driver is not asked,
 * since the query would end a capture. Another thread's default stream cannot be queried. */
static void inspect(struct shim_session *session, CUcontext ctx)
{
	struct shim_context *c = shim_capture_used() ? NULL : shim_context_known(session);

	shim_upcalls->reap(session);
	if (!all_idle(session) && c && c->ctx == ctx && shim_context_use(c)) {
		query(ctx);
		shim_context_unuse(c);
	}
}

/* Under lock: may `more` further streams of the context be busy? */
static int has_room(CUcontext ctx, uint32_t more)
{
	return !atomic_load(&shim_held[0]) || busy(ctx) + more <= shim_channels_busy();
}

static void nap(void)
{
	static const struct timespec time = { 0, NAP_NS };

	nanosleep(&time, NULL);
}

/*
 * Call with the lock, which is held again on return: waits until `more` further streams may be
 * busy. One too many could be put into the channel of the relaunches, and wait for the very kernel
 * that would be relaunched there. Returns 0 if it has waited in vain.
 */
static int wait_for_room(struct shim_session *session, CUcontext ctx, uint32_t more)
{
	static _Atomic unsigned int in_vain;
	struct shim_patience p = { .in_vain = &in_vain, .most_ns = shim_channels_patience_ns };

	while (!has_room(ctx, more)) {
		int first = !p.then;

		pthread_mutex_unlock(&lock);
		if (shim_patience_ends(&p, session)) {
			shim_log(
				"more streams have work pending than may while a preemptible kernel is out: kernels that are out are no longer evicted");
			pthread_mutex_lock(&lock);
			return 0;
		}
		if (!first)
			nap();
		inspect(session, ctx);
		pthread_mutex_lock(&lock);
	}
	shim_patience_rewarded(&p);
	return 1;
}

/* Under lock: counts a call into the stream, also into a stream whose creation was not seen. */
static struct shim_stream *entered(CUstream stream, struct shim_stream *s, CUcontext ctx)
{
	if (!s)
		s = add(stream, ctx);
	if (s) {
		s->busy = 1;
		s->inside++;
		s->entered++;
	}
	return s;
}

struct shim_stream *shim_channel_enter_late(struct shim_session *session, CUstream stream)
{
	struct shim_stream *s;
	CUcontext ctx;
	int room = 1;

	if (shim_is_default(stream) || shim_capturing(stream))
		return NULL;
	ctx = shim_context_handle();
	pthread_mutex_lock(&lock);
	s = find(stream);
	if (s)
		ctx = s->ctx;
	if (!s || !s->busy)
		room = wait_for_room(session, ctx, 1);
	s = entered(stream, find(stream), ctx);
	if (!room)
		set_shared(ctx);
	pthread_mutex_unlock(&lock);
	return s;
}

void shim_channel_leave_late(struct shim_stream *in)
{
	pthread_mutex_lock(&lock);
	in->inside--;
	pthread_mutex_unlock(&lock);
}

/* Under lock: from now on it is noted which streams are busy. Of the existing ones it is not known,
 * so they count as busy. */
static void take_note(void)
{
	if (shim_is_uncommon(SHIM_UNCOMMON_CROWDED))
		return;
	for (struct shim_stream *s = streams; s; s = s->next)
		s->busy = 1;
	shim_say_uncommon(SHIM_UNCOMMON_CROWDED);
}

/* Under lock: would the stream add to what busy() counts? */
static int is_more(CUstream stream, const struct shim_stream *s)
{
	return shim_is_uncommon(SHIM_UNCOMMON_CROWDED) && !shim_is_default(stream) &&
	       !(s && s->busy);
}

/* Under lock: may a preemptible kernel go out in this stream, whose record is s? */
static int may_block(CUcontext ctx, CUstream stream, const struct shim_stream *s)
{
	return !may_share(ctx) && has_room(ctx, is_more(stream, s));
}

int shim_channel_blocks(struct shim_session *session, CUstream stream, struct shim_stream **in)
{
	struct shim_stream *s;
	CUcontext ctx;
	int room;

	*in = NULL;
	if (!atomic_load(&many) && !atomic_load(&branches))
		return 1;
	ctx = shim_context_handle();
	pthread_mutex_lock(&lock);
	if (many)
		take_note();
	if (atomic_load(&shim_held[0]) == 1)
		forget_ghosts();
	s = find(stream);
	if (s)
		ctx = s->ctx;
	room = may_block(ctx, stream, s);
	if (!room) {
		pthread_mutex_unlock(&lock);
		inspect(session, ctx);
		pthread_mutex_lock(&lock);
		s = find(stream);
		room = may_block(ctx, stream, s);
	}
	if (room && shim_is_uncommon(SHIM_UNCOMMON_CROWDED) && !shim_is_default(stream))
		*in = entered(stream, s, ctx);
	pthread_mutex_unlock(&lock);
	return room;
}

void shim_channels_fork(struct shim_session *session, uint32_t n)
{
	CUcontext ctx = shim_context_handle();

	pthread_mutex_lock(&lock);
	/* Count them first: a kernel that goes out meanwhile must leave room for them. */
	branches += n;
	if (!wait_for_room(session, ctx, 0))
		set_shared(ctx);
	pthread_mutex_unlock(&lock);
}

void shim_channels_join(uint32_t n)
{
	pthread_mutex_lock(&lock);
	branches -= n;
	pthread_mutex_unlock(&lock);
}

void shim_channels_destroyed(CUcontext ctx)
{
	pthread_mutex_lock(&lock);
	contexts_gone++;
	for (struct shim_stream *s = streams; s; s = s->next)
		if (s->ctx == ctx)
			s->stream = NULL;
	pthread_mutex_unlock(&lock);
}

void shim_channels_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (struct shim_stream *s = streams; s; s = s->next) {
		s->stream = NULL;
		s->inside = 0;
		s->requested = 0;
	}
	branches = 0;
	contexts_gone++;
}

static int is_queried(void)
{
	const struct shim_stream *s;

	pthread_mutex_lock(&lock);
	for (s = streams; s && !s->requested; s = s->next)
		;
	pthread_mutex_unlock(&lock);
	return s != NULL;
}

void shim_channels_capture(void)
{
	while (is_queried())
		sched_yield();
}

/* ---- the streams that the program makes ------------------------------------ */

/* Under lock: adds a new stream of the context. If a record has the same handle already, that
 * stream is gone with its context. */
static void add_new(CUstream stream, CUcontext ctx)
{
	struct shim_stream *s = find(stream);
	uint32_t n = 1;

	if (s)
		s->stream = NULL;
	add(stream, ctx);
	for (s = streams; s; s = s->next)
		n += s->stream && s->ctx == ctx;
	if (n > 2)
		atomic_store(&several, 1);
	if (n > shim_channels_busy())
		atomic_store(&many, 1);
}

int shim_channels_several(void)
{
	return atomic_load_explicit(&several, memory_order_relaxed);
}

void shim_channel_made(CUstream stream)
{
	CUcontext ctx = shim_context_handle();

	if (!ctx)
		return;
	pthread_mutex_lock(&lock);
	add_new(stream, ctx);
	pthread_mutex_unlock(&lock);
}

static pthread_key_t ends;

/* A thread has ended; its default stream ends once no work is pending there. */
static void thread_ends(void *of)
{
	struct shim_stream *s = of;

	pthread_mutex_lock(&lock);
	if (s->stream == CU_STREAM_PER_THREAD && s->thread == shim_self())
		s->stream = atomic_load(&shim_held[0]) && may_be_busy(s) ? GHOST : NULL;
	pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
	pthread_key_create(&ends, thread_ends);
}

void shim_channels_thread(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static __thread uint32_t known;
	uint32_t now = atomic_load(&contexts_gone) + 1;
	CUcontext ctx = known == now ? NULL : shim_context_handle();

	if (!ctx)
		return;
	known = now;
	pthread_once(&once, make_key);
	pthread_mutex_lock(&lock);
	add_new(CU_STREAM_PER_THREAD, ctx);
	pthread_setspecific(ends, find(CU_STREAM_PER_THREAD));
	pthread_mutex_unlock(&lock);
}

/* Has the stream pending work? If that is not known, yes. Call with the lock, which is held again
 * on return. */
static int is_pending(CUstream stream, struct shim_stream *s)
{
	int is = 1;

	if (!atomic_load(&shim_held[0]))
		return 0;
	if (shim_capture_used())
		return 1;
	s->requested++;
	pthread_mutex_unlock(&lock);
	is = REAL(cuStreamQuery)(stream) == CUDA_ERROR_NOT_READY;
	pthread_mutex_lock(&lock);
	s->requested--;
	return is;
}

/* Waits until no thread queries the stream. */
void shim_channel_destroying(CUstream stream)
{
	struct shim_stream *s;
	int pending;

	pthread_mutex_lock(&lock);
	s = find(stream);
	pending = s && is_pending(stream, s);
	while ((s = find(stream)) && s->requested) {
		pthread_mutex_unlock(&lock);
		sched_yield();
		pthread_mutex_lock(&lock);
	}
	if (s)
		s->stream = pending && may_be_busy(s) ? GHOST : NULL;
	pthread_mutex_unlock(&lock);
}
