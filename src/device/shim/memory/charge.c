/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory: every allocation is charged before the driver is asked, as in RBDM (doc/papers.md;
 * doc/design.md, "The path of an allocation"). Mostly the bytes come from the lease that the daemon
 * keeps in the page, without a message; otherwise the daemon is asked. The wrappers of the driver's
 * calls are in the other files of this folder.
 */
#define _GNU_SOURCE
#include "device/shim/memory/charge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/shim/base/counted.h"
#include "device/shim/base/shim.h"

#define BUCKETS 4096

/* The charge of a handle or an address, so that freeing it returns as much. */
struct shim_held {
	struct shim_held *next;
	enum shim_charge_kind kind;
	uint64_t key;
	uint64_t bytes;
	CUcontext ctx;
	void *tag;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_held *bucket[BUCKETS]; /* under lock */

/* ---- charges --------------------------------------------------------------- */

static void note_peak(struct shim_session *s)
{
	uint64_t used = s->used, peak = gs_page_load(s->page->peak);

	while (used > peak && !atomic_compare_exchange_weak(&s->page->peak, &peak, used))
		;
}

/* Takes the bytes from the lease if it has enough. */
static int take_leased(struct shim_session *s, uint64_t bytes)
{
	uint64_t left = gs_page_load(s->page->lease);

	while (left >= bytes && left)
		if (atomic_compare_exchange_weak(&s->page->lease, &left, left - bytes))
			return 1;
	return 0;
}

/* Without a daemon this process at least keeps within its own reservation. If no daemon ever told
 * one and DaemonAbsent=fail, it gets nothing. */
static int within_own_bound(const struct shim_session *s, uint64_t bytes)
{
	uint64_t used = s->used;

	if (!s->reservation && s->absent == GS_ABSENT_FAIL)
		return 0;
	return !s->reservation || (used <= s->reservation && bytes <= s->reservation - used);
}

static int request_bytes(struct shim_session *s, uint64_t bytes, uint64_t *used,
			 uint64_t *reservation)
{
	int granted;

	*used = s->used;
	*reservation = s->reservation;
	shim_counted_note(); /* the answer may have to wait until its memory is back */
	pthread_mutex_lock(&s->requesting);
	granted = s->connected ? gs_client_alloc(s->client, bytes, used, reservation) : -1;
	if (granted < 0)
		granted = within_own_bound(s, bytes);
	if (granted)
		atomic_fetch_add(&s->used, bytes);
	pthread_mutex_unlock(&s->requesting);
	return granted;
}

/* "CUDA out of memory" alone would make the user look at the GPU, which may be half empty. */
static void say_refused(uint64_t bytes, uint64_t used, uint64_t reservation)
{
	const char *quiet = getenv("GPUSHARE_QUIET");

	if (!quiet || strcmp(quiet, "1") != 0)
		shim_notice(
			"not enough GPU memory: %.1f MiB more do not fit into the %.1f MiB that this job step has "
			"reserved, of which %.1f are in use; more with --gpushare-mem=SIZE of sbatch and srun, or "
			"--mem SIZE of gpusharectl run",
			(double)bytes / (1 << 20), (double)reservation / (1 << 20),
			(double)used / (1 << 20));
}

int shim_charge(struct shim_session *s, uint64_t bytes)
{
	uint64_t used, reservation;

	if (s->sent_away)
		return 0;
	if (!bytes)
		return 1;
	if (s->connected) {
		/* Count the bytes as used before they leave the lease, so that a new HELLO in
		 * between includes them. */
		atomic_fetch_add(&s->used, bytes);
		if (take_leased(s, bytes)) {
			note_peak(s);
			return 1;
		}
		atomic_fetch_sub(&s->used, bytes);
	}
	if (!request_bytes(s, bytes, &used, &reservation)) {
		shim_pools_settle(s, 1);
		if (!request_bytes(s, bytes, &used, &reservation)) {
			say_refused(bytes, used, reservation);
			return 0;
		}
	}
	note_peak(s);
	return 1;
}

void shim_uncharge(struct shim_session *s, uint64_t bytes)
{
	int connected = s->connected;

	if (!bytes)
		return;
	/* A HELLO that is being answered may have told the daemon of these bytes: wait until it is
	 * known who counts them. */
	if (!connected)
		pthread_mutex_lock(&s->requesting);
	if (s->connected)
		atomic_fetch_add(&s->page->lease, bytes);
	atomic_fetch_sub(&s->used, bytes);
	if (!connected)
		pthread_mutex_unlock(&s->requesting);
}

/* ---- charges by key ------------------------------------------------------------ */

static size_t slot_of(enum shim_charge_kind kind, uint64_t key)
{
	return (size_t)(((key >> 8) + (uint64_t)kind) * UINT64_C(0x9E3779B97F4A7C15) >> 52);
}

CUcontext shim_current(void)
{
	CUcontext ctx = NULL;

	REAL(cuCtxGetCurrent)(&ctx);
	return ctx;
}

static void remember(struct shim_held *h)
{
	struct shim_held **to = &bucket[slot_of(h->kind, h->key)];

	pthread_mutex_lock(&lock);
	h->next = *to;
	*to = h;
	pthread_mutex_unlock(&lock);
}

void shim_charge_record(struct shim_session *s, enum shim_charge_kind kind, uint64_t key,
			uint64_t bytes, CUcontext ctx, void *tag)
{
	struct shim_held *h;

	(void)s;
	if (!bytes && !tag)
		return;
	h = malloc(sizeof(*h));
	if (!h) {
		/* The bytes stay charged for ever: too much rather than too little. */
		shim_log("no memory to remember an allocation of %llu bytes, which stays charged",
			 (unsigned long long)bytes);
		return;
	}
	*h = (struct shim_held) {
		.kind = kind, .key = key, .bytes = bytes, .ctx = ctx, .tag = tag
	};
	remember(h);
}

struct shim_held *shim_take(enum shim_charge_kind kind, uint64_t key)
{
	struct shim_held **at, *h;

	pthread_mutex_lock(&lock);
	at = &bucket[slot_of(kind, key)];
	while (*at && ((*at)->key != key || (*at)->kind != kind))
		at = &(*at)->next;
	h = *at;
	if (h) {
		*at = h->next;
		h->next = NULL;
	}
	pthread_mutex_unlock(&lock);
	return h;
}

int shim_unhold(enum shim_charge_kind kind, uint64_t key, uint64_t *bytes, void **tag)
{
	struct shim_held *h = shim_take(kind, key);

	if (!h)
		return 0;
	*bytes = h->bytes;
	if (tag)
		*tag = h->tag;
	free(h);
	return 1;
}

struct shim_held *shim_take_context(CUcontext ctx)
{
	struct shim_held *taken = NULL, *h;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct shim_held **at = &bucket[i]; *at;) {
			h = *at;
			if (h->ctx != ctx) {
				at = &h->next;
				continue;
			}
			*at = h->next;
			h->next = taken;
			taken = h;
		}
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

void shim_taken(struct shim_session *s, struct shim_held *held, int freed)
{
	struct shim_held *h;

	while ((h = held)) {
		held = h->next;
		if (!freed) {
			remember(h);
			continue;
		}
		if (h->tag)
			shim_pool_freed(s, h->tag, h->bytes);
		else
			shim_uncharge(s, h->bytes);
		free(h);
	}
}

void shim_memory_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(bucket, 0, sizeof(bucket));
}
