/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which priority of a client is in force; see own_priority.h. */
#include "gpushare/arbiter/own_priority.h"

#include "gpushare/arbiter/gpu_core.h"

/* The priority of the launch in slot i. One above the client's limit counts as the limit. */
static int32_t of_launch(const struct gs_gpu_client *t, unsigned i)
{
	uint32_t is = gs_page_load(t->p.page->priorities.of_slot[i]);

	if (is == GS_PRIORITY_OF_CLIENT)
		return t->p.priority;
	return is - 1 < (uint32_t)t->p.priority_most ? (int32_t)(is - 1) : t->p.priority_most;
}

int32_t gs_own_priority(const struct gs_gpu_client *t)
{
	const struct gs_page *page = t->p.page;
	unsigned slots;
	int32_t most = -1;

	if (!gs_page_load(page->priorities.used) || gs_page_load(page->priorities.overruled))
		return t->p.priority;
	slots = gs_page_slots(page);
	for (unsigned i = 0; i < slots; i++)
		if (t->watch.seen[i].live && of_launch(t, i) > most)
			most = of_launch(t, i);
	return most < 0 ? t->p.priority : most;
}
