/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent as its own daemon; see force.h. */
#define _GNU_SOURCE
#include "device/shim/launch/force.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/clock.h"
#include "device/shim/variant/transforms.h"
#include "device/shim/base/origin.h"

/* How often the slots are polled: kernels begin and end without notifying anybody. */
#define NAP_MIN_NS (100ull * 1000)
#define NAP_MAX_NS (1 * GS_NS_PER_MS)

/* How often to check whether a kernel that left by itself is to be relaunched. */
#define NAP_COUNTED_NS (50ull * 1000)

/* splitmix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The number of block-tasks until the next eviction. With a seed it is between 1 and a quarter of
 * all, so that a kernel leaves about eight times. */
static uint64_t distance(const struct shim_force_plan *plan, const struct shim_launch *l,
			 uint64_t done)
{
	uint64_t most = l->nt / 4 ? l->nt / 4 : 1;

	if (plan->kind == SHIM_FORCE_TASKS)
		return plan->value;
	return 1 + mix(mix(mix(plan->value) ^ gs_page_load(l->slot->seq)) ^ done) % most;
}

/* Called on a thread of the emulated device when it has given the order: records the order in the
 * image, with which the slot's next launch compares. */
static void told(void *user)
{
	struct shim_launch *l = user;

	struct shim_signal to;

	l->as.transform->signal(l, &to);
	__atomic_store_n(to.image, to.leave, __ATOMIC_RELEASE);
	gs_slot_move(l->slot, GS_K_RUNNING, GS_K_TOEVICT);
}

CUresult shim_force_arm(const struct shim_session *s, struct shim_launch *l)
{
	uint64_t done = gs_page_load(l->slot->done);
	const struct gs_emu_export *emulated = shim_emulated();
	struct shim_signal to;

	if (!emulated) {
		shim_notice(
			"GPUSHARE_FORCE_EVICT_TASKS and GPUSHARE_FORCE_EVICT_SEED need the emulated device; use GPUSHARE_FORCE_EVICT_MS on a GPU");
		return CUDA_ERROR_NOT_FOUND;
	}
	l->as.transform->signal(l, &to);
	return emulated->watch(to.counter, done + distance(&s->force, l, done), to.word, to.leave,
			       told, l);
}

static int evictable(const struct gs_slot *slot)
{
	return (gs_page_load(slot->flags) & GS_SLOT_EVICTABLE) != 0;
}

/* Has anything evictable started? What has not started need not leave. */
static int at_work(struct gs_page *page)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].state) == GS_K_RUNNING &&
		    evictable(&page->slot[i]) && gs_page_load(page->slot[i].started))
			return 1;
	return 0;
}

static int evictable_out(struct gs_page *page)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		uint32_t state = gs_page_load(page->slot[i].state);

		if (evictable(&page->slot[i]) &&
		    (state == GS_K_READY || state == GS_K_RUNNING || state == GS_K_TOEVICT))
			return 1;
	}
	return 0;
}

/* In the daemon's order: first the time slice, then the slots (doc/design.md, "The path of an
 * eviction"). */
static int take_grant(struct gs_page *page)
{
	int told = 0;

	atomic_store(&page->grant, 0);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (evictable(&page->slot[i]) && gs_page_load(page->slot[i].started))
			told |= gs_slot_move(&page->slot[i], GS_K_RUNNING, GS_K_TOEVICT);
	return told;
}

static int leaving(struct gs_page *page)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].state) == GS_K_TOEVICT)
			return 1;
	return 0;
}

/* Launches that found the time slice taken back sleep on the doorbell. */
static void give_grant(struct shim_force *f, struct gs_page *page)
{
	f->evicting = 0;
	f->since_ns = 0;
	gs_page_store(page->grant, 1);
	gs_page_doorbell(page);
}

void shim_force_step(struct shim_force *f, struct shim_session *s, uint64_t now, uint64_t *nap_ns)
{
	uint64_t period = s->force.value, nap = period / 4;

	if (shim_force_counts(s) && *nap_ns > NAP_COUNTED_NS && evictable_out(s->page))
		*nap_ns = NAP_COUNTED_NS;
	if (s->force.kind != SHIM_FORCE_PERIOD || !period)
		return;
	if (f->evicting) {
		if (!leaving(s->page))
			give_grant(f, s->page);
	} else if (!at_work(s->page)) {
		f->since_ns = 0;
	} else if (!f->since_ns) {
		f->since_ns = now;
	} else if (now - f->since_ns >= period) {
		f->evicting = take_grant(s->page);
		if (f->evicting)
			*nap_ns = 0; /* the agent must send the signals now */
		else
			give_grant(f, s->page);
	}
	if (nap > NAP_MAX_NS)
		nap = NAP_MAX_NS;
	if (nap < NAP_MIN_NS)
		nap = NAP_MIN_NS;
	if (*nap_ns > nap)
		*nap_ns = nap;
}
