/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs say by gpushare.h; see api.h.  The daemon decides (seed 000, section 6.4). */
#define _GNU_SOURCE
#include "device/shim/api.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "device/shim/shim.h"
#include "gpushare/api/gpushare.h"

SHIM_EXPORT int gpushare_shim_set_priority(int priority);
SHIM_EXPORT int gpushare_shim_reset_priority(void);
SHIM_EXPORT int gpushare_shim_critical(int step);
SHIM_EXPORT int gpushare_shim_get_report(struct gpushare_report *report);

/* One word after the other to the daemon, in the order of the calls; never held in the driver. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int own;               /* the program wants a priority: */
	uint32_t priority;
	unsigned int critical; /* regions that it is in */
} wish;                        /* under lock */

/* Under lock: what is in force by the program's word.  1, or -1: no daemon. */
static int tell(struct shim_session *s, struct gs_msg_standing *standing)
{
	int own = wish.own && !wish.critical;

	return gs_client_wish(s->client, own ? GS_WISH_OWN : GS_WISH_STEPS, wish.priority, standing);
}

void shim_api_repeat(struct shim_session *s)
{
	pthread_mutex_lock(&lock);
	if (wish.own)
		tell(s, NULL);
	pthread_mutex_unlock(&lock);
}

void shim_api_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	wish.critical = 0;
}

/* Under lock, after a change.  What no daemon has heard yet it hears when it answers. */
static int changed(void)
{
	struct shim_session *s = shim_session();
	struct gs_msg_standing standing;

	if (!s || !s->connected || tell(s, &standing) < 0)
		return GPUSHARE_NOT_MANAGED;
	if (!standing.refused)
		return GPUSHARE_OK;
	wish.own = 0;
	shim_notice("priority %u is above this job's, which is %u: only root may raise it", wish.priority,
		    standing.step_priority);
	return GPUSHARE_REFUSED;
}

int gpushare_shim_set_priority(int priority)
{
	int result;

	if (priority < 0 || priority > GPUSHARE_PRIORITY_MAX)
		return GPUSHARE_INVALID;
	shim_session(); /* its first greeting repeats what was said, under the lock */
	pthread_mutex_lock(&lock);
	wish.own = 1;
	wish.priority = (uint32_t)priority;
	result = changed();
	pthread_mutex_unlock(&lock);
	return result;
}

int gpushare_shim_reset_priority(void)
{
	int result;

	shim_session();
	pthread_mutex_lock(&lock);
	wish.own = 0;
	result = changed();
	pthread_mutex_unlock(&lock);
	return result;
}

int gpushare_shim_critical(int step)
{
	int result = GPUSHARE_INVALID;

	shim_session();
	pthread_mutex_lock(&lock);
	if (step > 0 || wish.critical) {
		wish.critical += step > 0 ? 1 : -1u;
		result = changed();
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int gpushare_shim_get_report(struct gpushare_report *report)
{
	struct shim_session *s = shim_session();
	struct gs_msg_standing standing;
	struct gpushare_report full;

	if (!report || report->size < offsetof(struct gpushare_report, pad))
		return GPUSHARE_INVALID;
	if (!s || !s->connected ||
	    gs_client_wish(s->client, GS_WISH_NONE, 0, &standing) < 0)
		return GPUSHARE_NOT_MANAGED;
	full = (struct gpushare_report){
		.size = report->size,
		.job_id = standing.job_id,
		.step_id = standing.step_id,
		.gpu = standing.gpu,
		.shares = standing.shares,
		.priority = standing.priority,
		.job_priority = standing.step_priority,
		.memory_reserved = standing.reservation,
		.memory_used = standing.used,
		.launches = standing.launches,
		.preemptions = standing.preemptions,
		.active_ns = standing.active_ns,
		.waiting_ns = standing.waiting_ns,
	};
	/* The program may have been built for less, or for more, than this version has. */
	memcpy(report, &full, full.size < sizeof(full) ? full.size : sizeof(full));
	return GPUSHARE_OK;
}
