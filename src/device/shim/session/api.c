/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs request through gpushare.h; see api.h. The daemon decides (EffiSha, section 6.4).
 */
#define _GNU_SOURCE
#include "device/shim/session/api.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "device/shim/base/counted.h"
#include "device/shim/base/shim.h"
#include "gpushare/api/gpushare.h"

SHIM_EXPORT int gpushare_shim_set_priority(int priority);
SHIM_EXPORT int gpushare_shim_reset_priority(void);
SHIM_EXPORT int gpushare_shim_critical(int step);
SHIM_EXPORT int gpushare_shim_get_report(struct gpushare_report *report);

/* Requests reach the daemon one by one, in the order of the calls. Never held while the driver is
 * called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int own; /* the program has requested a priority of its own: */
	uint32_t priority;
	unsigned int critical; /* how many critical regions it is in */
} request;                     /* under lock */

/* Under lock: tells the daemon which priority the program requests now. Returns 1, or -1: there is
 * no daemon. */
static int tell(struct shim_session *s, struct gs_msg_usage *usage)
{
	int own = request.own && !request.critical;

	shim_counted_note();
	return gs_client_request_priority(s->client,
					  own ? GS_PRIORITY_REQUEST_OWN : GS_PRIORITY_REQUEST_STEPS,
					  request.priority, usage);
}

/* Under lock: tells the page whether the program is in a critical region, where priorities of
 * launches do not count. The daemon reads it when it gets the priority request that follows. */
static void say_critical(struct shim_session *s)
{
	gs_page_tell(s->page->priorities.overruled, request.critical != 0);
}

void shim_api_repeat(struct shim_session *s)
{
	pthread_mutex_lock(&lock);
	say_critical(s);
	if (request.own)
		tell(s, NULL);
	pthread_mutex_unlock(&lock);
}

void shim_api_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	request.critical = 0;
}

/* Under lock, after a change: tells the daemon. A daemon that is not there is told when it answers
 * again. */
static int changed(void)
{
	struct shim_session *s = shim_session();
	struct gs_msg_usage usage;

	if (s)
		say_critical(s);
	if (!s || !s->connected || tell(s, &usage) < 0)
		return GPUSHARE_NOT_MANAGED;
	if (!usage.refused)
		return GPUSHARE_OK;
	request.own = 0;
	shim_notice("priority %u is above this job's, which is %u: only root may raise it",
		    request.priority, usage.step_priority);
	return GPUSHARE_REFUSED;
}

int gpushare_shim_set_priority(int priority)
{
	int result;

	if (priority < 0 || priority > GPUSHARE_PRIORITY_MAX)
		return GPUSHARE_INVALID;
	shim_session(); /* making the session repeats the request, which takes the lock */
	pthread_mutex_lock(&lock);
	request.own = 1;
	request.priority = (uint32_t)priority;
	result = changed();
	pthread_mutex_unlock(&lock);
	return result;
}

int gpushare_shim_reset_priority(void)
{
	int result;

	shim_session();
	pthread_mutex_lock(&lock);
	request.own = 0;
	result = changed();
	pthread_mutex_unlock(&lock);
	return result;
}

int gpushare_shim_critical(int step)
{
	int result = GPUSHARE_INVALID;

	shim_session();
	pthread_mutex_lock(&lock);
	if (step > 0 || request.critical) {
		request.critical += step > 0 ? 1 : -1u;
		result = changed();
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int gpushare_shim_get_report(struct gpushare_report *report)
{
	struct shim_session *s = shim_session();
	struct gs_msg_usage usage;
	struct gpushare_report full;

	if (!report || report->size < offsetof(struct gpushare_report, pad))
		return GPUSHARE_INVALID;
	shim_counted_note();
	if (!s || !s->connected ||
	    gs_client_request_priority(s->client, GS_PRIORITY_REQUEST_NONE, 0, &usage) < 0)
		return GPUSHARE_NOT_MANAGED;
	full = (struct gpushare_report) {
		.size = report->size,
		.job_id = usage.job_id,
		.step_id = usage.step_id,
		.gpu = usage.gpu,
		.shares = usage.shares,
		.priority = usage.priority,
		.job_priority = usage.step_priority,
		.memory_reserved = usage.reservation,
		.memory_used = usage.used,
		.launches = usage.launches,
		.preemptions = usage.preemptions,
		.active_ns = usage.active_ns,
		.waiting_ns = usage.waiting_ns,
	};
	/* The program may be built for an older or a newer version of the struct. */
	memcpy(report, &full, full.size < sizeof(full) ? full.size : sizeof(full));
	return GPUSHARE_OK;
}
