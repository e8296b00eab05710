/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Priorities of single launches, which a program sets for a thread or a stream through gpushare.h.
 * Each launch with a slot writes its priority into the page (gs_priorities). The client then has
 * the priority of the most urgent of its launches that wait or run.
 */
#ifndef GPUSHARE_SHIM_OWN_PRIORITY_H
#define GPUSHARE_SHIM_OWN_PRIORITY_H

#include "device/shim/session/session.h"

/* What gs_priorities.of_slot[] has for a launch of the calling thread into this stream. */
uint32_t shim_own_priority_late(CUstream stream);

/* The same, in a program that may never have set a priority. */
static inline uint32_t shim_own_priority(CUstream stream)
{
	return SHIM_RARELY(shim_is_uncommon(SHIM_UNCOMMON_PRIORITIES)) ?
		       shim_own_priority_late(stream) :
		       GS_PRIORITY_OF_CLIENT;
}

/* Writes the priority into the page for the launch of that slot, which is in PREP. */
static inline void shim_own_priority_say(struct gs_page *page, uint32_t slot, uint32_t priority)
{
	if (SHIM_RARELY(shim_is_uncommon(SHIM_UNCOMMON_PRIORITIES))) {
		gs_page_store(page->priorities.of_slot[slot], (uint16_t)priority);
		gs_page_tell(page->priorities.used, 1);
	}
}

/* Call before a stream is destroyed: it loses its priority, as a later one may get its handle. */
void shim_own_priority_destroying(CUstream stream);

/* The context has been destroyed, with its streams. */
void shim_own_priority_destroyed(CUcontext ctx);

/* Call in a forked child: it has none of its parent's streams, so no stream has a priority. */
void shim_own_priority_forked(void);

#endif
