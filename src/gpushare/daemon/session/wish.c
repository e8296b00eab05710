/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WISH: a program's own word on its priority.  As with processes in Linux,
 * only root may raise it above what it has otherwise; for anybody else such a
 * wish is ignored and the step's priority used (seed 000, section 6.4).
 */
#define _GNU_SOURCE
#include "gpushare/daemon/session/wish.h"

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/step.h"

static void standing(const struct gs_peer *peer, struct gs_msg_standing *out)
{
	const struct gs_step *step = peer->step;

	gs_devices_sync(peer->d, 0);
	out->job_id = step->info.job_id;
	out->step_id = step->info.step_id;
	out->gpu = step->info.gpu;
	out->shares = step->info.shares;
	out->priority = (uint32_t)gs_client_priority(peer);
	out->step_priority = (uint32_t)step->priority;
	out->reservation = step->reservation;
	out->used = step->alloc ? gs_memory_used(peer->d, step->alloc) : 0;
	out->launches = step->tally.launches;
	out->preemptions = step->tally.preemptions;
	out->active_ns = step->tally.active_ns;
	out->waiting_ns = step->tally.waiting_ns;
}

int gs_on_wish(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	uint32_t kind = msg->wish.kind, wanted = msg->wish.priority;
	struct gs_msg answer;

	(void)fd;
	if (!peer->step || kind >= GS_WISH_COUNT ||
	    (kind == GS_WISH_OWN && wanted > GS_PRIORITY_MAX)) {
		gs_complain("%s: closed: %s", peer->who,
			    peer->step ? "a wish that there is not" : "WISH before HELLO");
		return -1;
	}
	gs_msg_init(&answer, GS_MSG_STANDING, msg->header.tag);
	if (kind != GS_WISH_NONE) {
		peer->registration.wished = kind == GS_WISH_OWN;
		peer->registration.wish = (int32_t)wanted;
		answer.standing.refused = peer->registration.wished && !gs_client_may_have(peer, peer->registration.wish);
		if (answer.standing.refused) {
			peer->registration.wished = 0;
			gs_complain("%s: priority %u refused: its step has %d, and it is not root",
				    peer->who, wanted, (int)peer->step->priority);
		} else {
			gs_log(GS_LOG_DEBUG, "%s: priority %d", peer->who, (int)gs_client_priority(peer));
		}
		if (peer->tenant)
			gs_command_priority(peer->device->arbiter, peer->tenant, gs_client_priority(peer),
					    gs_step_class(peer->d->config, &peer->step->info));
	}
	standing(peer, &answer.standing);
	return msg->header.tag ? gs_peer_send(peer, &answer, -1) : 0;
}
