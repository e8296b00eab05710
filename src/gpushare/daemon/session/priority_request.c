/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PRIORITY_REQUEST: a program requests a priority of its own. As with processes in Linux, only root
 * may raise it. A request of anybody else for a higher priority is ignored, and the step's priority
 * is used (EffiSha, section 6.4).
 */
#define _GNU_SOURCE
#include "gpushare/daemon/session/priority_request.h"

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/step.h"

static void usage(const struct gs_connection *conn, struct gs_msg_usage *out)
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
	out->launches = step->usage.launches;
	out->preemptions = step->usage.preemptions;
	out->active_ns = step->usage.active_ns;
	out->waiting_ns = step->usage.waiting_ns;
}

int gs_on_priority_request(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	uint32_t kind = msg->priority_request.kind, wanted = msg->priority_request.priority;
	struct gs_msg answer;

	(void)fd;
	if (!conn->step || kind >= GS_PRIORITY_REQUEST_COUNT ||
	    (kind == GS_PRIORITY_REQUEST_OWN && wanted > GS_PRIORITY_MAX)) {
		gs_complain("%s: closed: %s", conn->who,
			    conn->step ? "an unknown priority request" :
					 "PRIORITY_REQUEST before HELLO");
		return -1;
	}
	gs_msg_init(&answer, GS_MSG_USAGE, msg->header.tag);
	if (kind != GS_PRIORITY_REQUEST_NONE) {
		conn->registration.has_priority_request = kind == GS_PRIORITY_REQUEST_OWN;
		conn->registration.priority_request = (int32_t)wanted;
		answer.usage.refused =
			conn->registration.has_priority_request &&
			!gs_client_may_have(conn, conn->registration.priority_request);
		if (answer.usage.refused) {
			conn->registration.has_priority_request = 0;
			gs_complain("%s: priority %u refused: its step has %d, and it is not root",
				    conn->who, wanted, (int)conn->step->priority);
		} else {
			gs_log(GS_LOG_DEBUG, "%s: priority %d", conn->who,
			       (int)gs_client_priority(conn));
		}
		if (conn->client)
			gs_command_priority(conn->device->arbiter, conn->client,
					    gs_client_priority(conn), gs_client_priority_most(conn),
					    gs_step_class(conn->d->config, &conn->step->info));
	}
	usage(conn, &answer.usage);
	return msg->header.tag ? gs_connection_send(conn, &answer, -1) : 0;
}
