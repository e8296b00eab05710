/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent as its own daemon; see force.h. */
#define _GNU_SOURCE
#include "device/shim/force.h"

#include <stdlib.h>

#include "common/clock.h"

/* How often it looks: kernels begin and end on the GPU without telling anybody. */
#define NAP_MIN_NS (100ull * 1000)
#define NAP_MAX_NS (1 * GS_NS_PER_MS)
#define PERIOD_MAX_MS 86400000ul

int shim_force_wanted(uint64_t *period_ns)
{
	const char *socket = getenv("GPUSHARE_SOCKET"), *text = getenv("GPUSHARE_FORCE_EVICT_MS");
	unsigned long ms;
	char *end;

	if ((socket && *socket) || !text || *text < '0' || *text > '9')
		return 0;
	ms = strtoul(text, &end, 10);
	if (*end || ms > PERIOD_MAX_MS)
		return 0;
	*period_ns = ms * GS_NS_PER_MS;
	return 1;
}

static int evictable(const struct gs_stub *stub)
{
	return (gs_page_load(stub->flags) & GS_STUB_EVICTABLE) != 0;
}

/* Is anything evictable at work?  What has not begun has nothing to leave from. */
static int at_work(struct gs_page *page)
{
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (gs_page_load(page->stub[i].kstate) == GS_K_RUNNING &&
		    evictable(&page->stub[i]) && gs_page_load(page->stub[i].started))
			return 1;
	return 0;
}

/* As the daemon does it: first the turn, then the stubs (DESIGN.md, "Turns"). */
static int take_turn(struct gs_page *page)
{
	int told = 0;

	atomic_store(&page->turn, 0);
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (evictable(&page->stub[i]) && gs_page_load(page->stub[i].started))
			told |= gs_stub_move(&page->stub[i], GS_K_RUNNING, GS_K_TOEVICT);
	return told;
}

static int leaving(struct gs_page *page)
{
	for (uint32_t i = 0; i < GS_PAGE_STUBS; i++)
		if (gs_page_load(page->stub[i].kstate) == GS_K_TOEVICT)
			return 1;
	return 0;
}

/* Launches that met the turn taken back sleep on the bell. */
static void give_turn(struct shim_force *f, struct gs_page *page)
{
	f->evicting = 0;
	f->since_ns = 0;
	gs_page_store(page->turn, 1);
	gs_page_ring(page);
}

void shim_force_step(struct shim_force *f, struct shim_session *s, uint64_t now, uint64_t *nap_ns)
{
	uint64_t nap = f->period_ns / 4;

	if (!f->period_ns)
		return;
	if (f->evicting) {
		if (!leaving(s->page))
			give_turn(f, s->page);
	} else if (!at_work(s->page)) {
		f->since_ns = 0;
	} else if (!f->since_ns) {
		f->since_ns = now;
	} else if (now - f->since_ns >= f->period_ns) {
		f->evicting = take_turn(s->page);
		if (f->evicting)
			*nap_ns = 0; /* the signals are the agent's to send, now */
		else
			give_turn(f, s->page);
	}
	if (nap > NAP_MAX_NS)
		nap = NAP_MAX_NS;
	if (nap < NAP_MIN_NS)
		nap = NAP_MIN_NS;
	if (*nap_ns > nap)
		*nap_ns = nap;
}
