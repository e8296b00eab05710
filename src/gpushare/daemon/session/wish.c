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

static void standing(const struct gs_connection *conn, struct gs_msg_standing *out)
{
	const struct gs_step *step = conn->step;

	gs_devices_sync(conn->d, 0);
	out->job_id = step->info.job_id;
	out->step_id = step->info.step_id;
	out->gpu = step->info.gpu;
	out->shares = step->info.shares;
	out->priority = (uint32_t)gs_client_priority(conn);
	out->step_priority = (uint32_t)step->priority;
	out->reservation = step->reservation;
	out->used = step->alloc ? gs_memory_used(conn->d, step->alloc) : 0;
	out->launches = step->tally.launches;
	out->preemptions = step->tally.preemptions;
	out->active_ns = step->tally.active_ns;
	out->waiting_ns = step->tally.waiting_ns;
}

int gs_on_wish(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	uint32_t kind = msg->wish.kind, wanted = msg->wish.priority;
	struct gs_msg answer;

	(void)fd;
	if (!conn->step || kind >= GS_WISH_COUNT ||
	    (kind == GS_WISH_OWN && wanted > GS_PRIORITY_MAX)) {
		gs_complain("%s: closed: %s", conn->who,
			    conn->step ? "a wish that there is not" : "WISH before HELLO");
		return -1;
	}
	gs_msg_init(&answer, GS_MSG_STANDING, msg->header.tag);
	if (kind != GS_WISH_NONE) {
		conn->registration.wished = kind == GS_WISH_OWN;
		conn->registration.wish = (int32_t)wanted;
		answer.standing.refused = conn->registration.wished && !gs_client_may_have(conn, conn->registration.wish);
		if (answer.standing.refused) {
			conn->registration.wished = 0;
			gs_complain("%s: priority %u refused: its step has %d, and it is not root",
				    conn->who, wanted, (int)conn->step->priority);
		} else {
			gs_log(GS_LOG_DEBUG, "%s: priority %d", conn->who, (int)gs_client_priority(conn));
		}
		if (conn->client)
			gs_command_priority(conn->device->arbiter, conn->client, gs_client_priority(conn),
					    gs_step_class(conn->d->config, &conn->step->info));
	}
	standing(conn, &answer.standing);
	return msg->header.tag ? gs_connection_send(conn, &answer, -1) : 0;
}
