/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities and classes; see priority.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/priority.h"

#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"

static struct gs_config_who who_is(const struct gs_step_info *info)
{
	return (struct gs_config_who) { info->partition, info->qos, info->tier };
}

uint32_t gs_step_class(const struct gs_config *config, const struct gs_step_info *info)
{
	struct gs_config_who who = who_is(info);

	return gs_config_class(config, &who);
}

int32_t gs_step_priority(const struct gs_config *config, const struct gs_step_info *info)
{
	struct gs_config_who who = who_is(info);
	int32_t priority = gs_config_priority(config, &who);

	if (info->priority_set == GS_PRIORITY_ORDER && info->priority <= GS_PRIORITY_MAX)
		return (int32_t)info->priority;
	/* A user's request may only lower the priority; the partition's limit is the
	 * administrator's. */
	if (info->priority_set && info->priority <= GS_PRIORITY_MAX &&
	    (info->uid == 0 || info->priority < (uint32_t)priority))
		priority = (int32_t)info->priority;
	return priority;
}

int gs_client_may_have(const struct gs_connection *conn, int32_t priority)
{
	return conn->uid == 0 || priority <= conn->step->priority;
}

int32_t gs_client_priority(const struct gs_connection *conn)
{
	return conn->registration.has_priority_request &&
			       gs_client_may_have(conn, conn->registration.priority_request) ?
		       conn->registration.priority_request :
		       conn->step->priority;
}

int32_t gs_client_priority_most(const struct gs_connection *conn)
{
	return conn->uid == 0 ? GS_PRIORITY_MAX : conn->step->priority;
}

void gs_steps_reprioritise(struct gs_daemon *d)
{
	struct gs_step *s;
	struct gs_connection *conn;

	TAILQ_FOREACH (s, &d->steps, link) {
		s->priority = gs_step_priority(d->config, &s->info);
		gs_memory_prioritise(s->alloc, s->priority);
	}
	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client)
			gs_command_priority(conn->device->arbiter, conn->client,
					    gs_client_priority(conn), gs_client_priority_most(conn),
					    gs_step_class(d->config, &conn->step->info));
}

unsigned gs_steps_prioritise(struct gs_daemon *d, uint32_t job_id, uint32_t priority)
{
	struct gs_step *s;
	unsigned n = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (s->info.job_id != job_id)
			continue;
		s->info.priority_set = GS_PRIORITY_ORDER;
		s->info.priority = priority;
		n++;
	}
	if (n) {
		gs_steps_reprioritise(d);
		gs_state_save(d);
	}
	return n;
}
