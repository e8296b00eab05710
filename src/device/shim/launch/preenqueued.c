/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches behind a wait for their time slice; see preenqueued.h. */
#define _GNU_SOURCE
#include "device/shim/launch/preenqueued.h"

#include <stddef.h>

#include "device/shim/base/wraps.h"

/* The stream waits for a state of at least RUNNING, so all states before it must be smaller. */
_Static_assert(GS_K_PREP < GS_K_RUNNING && GS_K_READY < GS_K_RUNNING && GS_K_TORUN < GS_K_RUNNING &&
		       GS_K_TOEVICT > GS_K_RUNNING && GS_K_DONE > GS_K_RUNNING,
	       "launch_state.def");

/* Not with DaemonAbsent=fail: the program may then get an error for its launch, but what is in a
 * stream cannot be taken out. */
int shim_preenqueued_may(const struct shim_session *s, const struct shim_launch *l)
{
	return gs_page_load(s->page->preenqueue) && l->ctx->may_preenqueue && l->evictable &&
	       !l->in_barrier && s->absent != GS_ABSENT_FAIL;
}

/* Set the mark before the driver gets the wait, so that nobody who counts what is out misses it
 * (channels.c). */
int shim_preenqueued_wait(struct shim_launch *l, CUstream stream)
{
	l->preenqueued = 1;
	if (REAL(cuStreamWaitValue32_v2)(stream,
					 shim_launch_slot(l, offsetof(struct gs_slot, state)),
					 GS_K_RUNNING, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS)
		return 1;
	l->preenqueued = 0;
	return 0;
}

void shim_preenqueued_say(struct shim_launch *l)
{
	shim_log("%s waits for its time slice in its stream", l->kernel->code->name);
	atomic_fetch_or(&l->slot->flags, GS_SLOT_PREENQUEUED);
}

/* Once the launch has started it is over or was evicted, whatever its state says now. */
static int has_gone(const struct gs_slot *slot)
{
	uint32_t state = gs_page_load(slot->state);

	return state == GS_K_RUNNING || state == GS_K_TOEVICT || state == GS_K_DONE ||
	       gs_page_load(slot->started);
}

static int let_go(const struct shim_session *s, struct gs_slot *slot)
{
	int ours = shim_session_forsaken(s) || (!s->connected && gs_page_load(s->page->grant));

	if (gs_page_load(slot->state) != GS_K_TORUN && !ours)
		return 0;
	atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED);
	return gs_slot_move(slot, GS_K_TORUN, GS_K_RUNNING) ||
	       (ours && gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
}

int shim_preenqueued_went(const struct shim_session *s, const struct shim_launch *l)
{
	return has_gone(l->slot) || let_go(s, l->slot);
}
