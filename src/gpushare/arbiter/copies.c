/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients' copies; see copies.h. */
#include "gpushare/arbiter/copies.h"

#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/arbiter/usage.h"

/* Who has copied so shortly ago is about to copy again. */
#define LATELY_NS (1 * GS_NS_PER_S)
/* A client that makes one copy after another begins the next one within this time. */
#define BETWEEN_NS (10 * GS_NS_PER_MS)
/* A copy that makes no progress for so long, although it may, waits for something else. */
#define STALLED_NS (500 * GS_NS_PER_MS)
/* Pages are not polled for copies more often: an arbiter that polls for kernels comes by every
 * microsecond, and each time takes cache lines from the clients' processors. */
#define POLL_NS (5 * GS_NS_PER_US)
/* More clients do not take part. */
#define COPIERS_MAX 64
#define PARTS 1024 /* of a share, so that some are left for each of several clients */
/* Enough for all that can be copied between two looks, whatever a page says. */
#define CHUNK_KIB_MOST (UINT32_C(1) << 24)

/* ---- polling ----------------------------------------------------------------- */

/* A run has gone on from one number of chunks to another. */
static void progress(struct gs_client_copies *c, const struct gs_copy_run *run, uint32_t way,
		     uint32_t from, uint32_t to)
{
	uint32_t kib = gs_page_load(run->chunk_kib);

	if (to > from && kib <= CHUNK_KIB_MOST)
		c->copier[way].bytes += (uint64_t)(to - from) * kib << 10;
}

static void poll_run(struct gs_client_copies *c, struct gs_copy_seen *seen,
		     const struct gs_copy_run *run, uint64_t now)
{
	uint32_t state = gs_page_load(run->state), way = gs_page_load(run->way);
	uint32_t chunks = gs_page_load(run->chunks), done = gs_page_load(run->done);

	if (way >= GS_COPY_ENGINES)
		return;
	if (seen->since_ns && (state == GS_COPY_NONE || done >= chunks)) {
		progress(c, run, way, seen->done, chunks);
		seen->since_ns = 0;
	}
	if (state == GS_COPY_NONE || done >= chunks)
		return;
	if (!seen->since_ns || done < seen->done)
		seen->done = 0;
	if (!seen->since_ns || done != seen->done || c->copier[way].closed) {
		progress(c, run, way, seen->done, done);
		seen->done = done;
		seen->since_ns = now;
	}
	c->pending[way]++;
	if (state == GS_COPY_BEGUN && now - seen->since_ns < STALLED_NS)
		c->copier[way].wants = 1;
}

static void poll_page(struct gs_gpu_client *t, uint64_t now)
{
	const struct gs_copies *page = &t->p.page->copies;
	struct gs_client_copies *c = &t->copies;
	int any = 0;

	for (int way = 0; way < GS_COPY_ENGINES; way++) {
		c->pending[way] = 0;
		c->copier[way].wants = 0;
		any |= gs_page_load(page->rule[way]) != GS_COPY_FREE;
	}
	for (int i = 0; i < GS_COPY_RUNS; i++)
		if (any || c->run[i].since_ns)
			poll_run(c, &c->run[i], &page->run[i], now);
	for (int way = 0; way < GS_COPY_ENGINES; way++) {
		uint64_t made = gs_page_load(page->made[way].bytes);

		if (c->pending[way] || made != c->made[way])
			c->moved_ns[way] = now;
		c->made[way] = made;
	}
}

static int is_copying(const struct gs_gpu_client *t, int way, uint64_t now)
{
	return t->copies.moved_ns[way] && now - t->copies.moved_ns[way] < LATELY_NS;
}

/* ---- deciding ------------------------------------------------------------------ */

static uint32_t rank(const struct gs_gpu_client *of)
{
	const struct gs_gpu_client *t;
	uint32_t less = 0;

	LIST_FOREACH (t, &of->gpu->clients, link)
		less += gs_gpu_client_compare(of, t) > 0;
	return less;
}

/* Dekker's handshake with the client (page.h). */
static void set_barrier(struct gs_gpu_client *t, int way, int open)
{
	struct gs_copies *page = &t->p.page->copies;

	if ((int)atomic_load(&page->open[way]) == open)
		return;
	atomic_store(&page->open[way], (uint32_t)open);
	if (!open && atomic_load(&page->forced))
		atomic_store(&page->open[way], 1);
}

static void book_waiting(struct gs_gpu_client *t, int way)
{
	struct gs_client_copies *c = &t->copies;

	t->p.usage->copied[way].waited_ns += c->copier[way].waited_ns - c->waited[way];
	c->waited[way] = c->copier[way].waited_ns;
}

/* Does it copy, or has it only paused? */
static int wants(const struct gs_gpu_client *t, int way, uint64_t now)
{
	return t->copies.copier[way].wants ||
	       (t->copies.moved_ns[way] && now - t->copies.moved_ns[way] < GS_COPY_PAUSE_NS);
}

/* The allocation's shares are divided among those of its clients that copy that way, by the shares
 * of their steps. */
static uint32_t copier_shares(const struct gs_gpu_client *of, int way, uint64_t now)
{
	uint64_t own = gs_usage_shares(of), all = 0;
	const struct gs_gpu_client *t;
	double is;

	LIST_FOREACH (t, &of->gpu->clients, link)
		if (t->p.alloc == of->p.alloc && (t == of || wants(t, way, now)))
			all += gs_usage_shares(t);
	is = (double)of->p.alloc_shares * PARTS * (double)own / (double)all;
	return is < 1 ? 1 : is < UINT32_MAX ? (uint32_t)is : UINT32_MAX;
}

/* Those that copy that way now, several of them: who may. */
static void decide(struct gs_gpu *gpu, int way, uint64_t now)
{
	struct gs_copier *copier[COPIERS_MAX];
	struct gs_gpu_client *t;
	size_t n = 0;

	LIST_FOREACH (t, &gpu->clients, link) {
		if (!is_copying(t, way, now))
			continue;
		if (n == COPIERS_MAX) {
			/* Its barrier may be closed from before. Nobody decides about it now, so it
			 * is opened. */
			t->copies.copier[way].closed = 0;
			continue;
		}
		t->copies.copier[way].rank = rank(t);
		t->copies.copier[way].shares = copier_shares(t, way, now);
		copier[n++] = &t->copies.copier[way];
	}
	gs_copy_decide(gpu->o.copies.policy, copier, n, now);
}

static enum gs_copy_rule rule_of(const struct gs_gpu_client *t, int way, unsigned copying,
				 uint64_t now)
{
	int own = is_copying(t, way, now);

	if (LIST_NEXT(LIST_FIRST(&t->gpu->clients), link) == NULL ||
	    t->gpu->o.copies.policy == GS_COPY_POLICY_NO)
		return GS_COPY_FREE;
	if (own)
		return copying > 1 ? GS_COPY_CUT : GS_COPY_FREE;
	return copying ? GS_COPY_TELL : GS_COPY_FIRST;
}

/* ---- acting ---------------------------------------------------------------------- */

/* One direction; how many clients copy in it. */
static unsigned step(struct gs_gpu *gpu, int way, uint64_t now)
{
	struct gs_gpu_client *t;
	unsigned copying = 0;

	LIST_FOREACH (t, &gpu->clients, link)
		copying += (unsigned)is_copying(t, way, now);
	if (copying > 1)
		decide(gpu, way, now);
	LIST_FOREACH (t, &gpu->clients, link) {
		struct gs_copies *page = &t->p.page->copies;
		struct gs_copier *c = &t->copies.copier[way];
		enum gs_copy_rule rule = rule_of(t, way, copying, now);

		if (rule != GS_COPY_CUT || gpu->pin.client == t)
			c->closed = 0;
		gs_page_tell(page->chunk_kib[way], gpu->o.copies.chunk_kib[way]);
		gs_page_tell(page->rule[way], rule);
		set_barrier(t, way, !c->closed);
		book_waiting(t, way);
	}
	return copying;
}

uint64_t gs_copies_step(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;
	unsigned copying = 0, pending = 0;

	if (gpu->o.copies.policy == GS_COPY_POLICY_NO && !gpu->loop.copies_ns)
		return UINT64_MAX;
	if (now < gpu->loop.copies_ns)
		return gpu->loop.copies_ns;
	gpu->loop.copies_ns =
		gpu->o.copies.policy == GS_COPY_POLICY_NO ? 0 : now + gs_polling_poll(gpu, POLL_NS);
	LIST_FOREACH (t, &gpu->clients, link) {
		poll_page(t, now);
		for (int way = 0; way < GS_COPY_ENGINES; way++)
			pending += t->copies.pending[way];
	}
	for (int way = 0; way < GS_COPY_ENGINES; way++)
		copying += step(gpu, way, now);
	if (pending)
		return gpu->loop.copies_ns;
	return copying ? now + LATELY_NS / 4 : UINT64_MAX;
}

int gs_copies_contend(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_gpu_client *t;

	if (gpu->o.copies.policy == GS_COPY_POLICY_NO)
		return 0;
	for (int way = 0; way < GS_COPY_ENGINES; way++) {
		unsigned copying = 0, busy = 0;

		LIST_FOREACH (t, &gpu->clients, link) {
			copying += (unsigned)is_copying(t, way, now);
			busy += t->copies.moved_ns[way] &&
				now - t->copies.moved_ns[way] < BETWEEN_NS;
		}
		if (copying > 1 && busy)
			return 1;
	}
	return 0;
}

void gs_copies_join(struct gs_gpu_client *t)
{
	for (int way = 0; way < GS_COPY_ENGINES; way++)
		t->copies.made[way] = gs_page_load(t->p.page->copies.made[way].bytes);
}

void gs_copies_leave(struct gs_gpu_client *t)
{
	for (int way = 0; way < GS_COPY_ENGINES; way++) {
		gs_page_store(t->p.page->copies.rule[way], GS_COPY_FREE);
		set_barrier(t, way, 1);
		book_waiting(t, way);
	}
}
