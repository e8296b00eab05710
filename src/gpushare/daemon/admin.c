/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POLICY, PRIORITY and SUSPEND: changes while jobs run, by root, by SlurmUser, or by
 * whom the daemon runs as (who could end it anyway).  Each is logged with
 * the uid.
 */
#define _GNU_SOURCE
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/admin.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/hold.h"
#include "gpushare/daemon/peer.h"
#include "gpushare/daemon/steps.h"

void gs_admin_init(struct gs_daemon *d)
{
	const char *name = d->config->slurm_user;
	const struct passwd *pw;
	char *end;
	unsigned long uid;

	d->admin_uid = 0;
	if (!*name)
		return;
	uid = strtoul(name, &end, 10);
	if (!*end && uid < (uid_t)-1) {
		d->admin_uid = (uid_t)uid;
		return;
	}
	pw = getpwnam(name);
	if (pw)
		d->admin_uid = pw->pw_uid;
	else
		gs_log(GS_LOG_WARN, "SlurmUser=%s: there is no such user", name);
}

static int may_change(const struct gs_peer *peer)
{
	return peer->uid == 0 || peer->uid == geteuid() || peer->uid == peer->d->admin_uid;
}

/* 0, or -1: refused. */
static int check(struct gs_peer *peer, uint32_t tag)
{
	if (may_change(peer))
		return 0;
	return gs_peer_refuse(peer, tag, GS_REFUSED_NOT_ALLOWED,
			      "only root and SlurmUser change policies and priorities, and suspend jobs");
}

static int answer_ok(struct gs_peer *peer, uint32_t tag)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_OK, tag);
	return tag ? gs_peer_send(peer, &msg, -1) : 0;
}

static int set_policy(struct gs_peer *peer, struct gs_device *dev, const char *policy,
		      struct gs_error *err)
{
	struct gs_gpu_status before;

	gs_gpu_status(dev->gpu, &before);
	if (gs_gpu_set_policy(dev->gpu, policy, gs_clock_ns(), err) < 0)
		return -1;
	gs_device_poke(dev);
	gs_log(GS_LOG_INFO, "uid %u pid %d: gpu %u: policy %s instead of %s",
	       (unsigned)peer->uid, (int)peer->pid, dev->index, policy, before.policy);
	return 0;
}

int gs_on_policy(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	struct gs_daemon *d = peer->d;
	uint32_t tag = msg->header.tag;
	struct gs_error err;

	(void)fd;
	if (check(peer, tag) < 0)
		return -1;
	if (!msg->policy.all && !gs_device_find(d, msg->policy.gpu))
		return gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST,
				      "there is no GPU %u here", msg->policy.gpu);
	for (size_t i = 0; i < d->ndevice; i++)
		if ((msg->policy.all || d->device[i].index == msg->policy.gpu) &&
		    set_policy(peer, &d->device[i], msg->policy.policy, &err) < 0)
			return gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST, "%s", err.text);
	return answer_ok(peer, tag);
}

int gs_on_priority(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	uint32_t tag = msg->header.tag, job = msg->priority.job_id;
	unsigned steps;

	(void)fd;
	if (check(peer, tag) < 0)
		return -1;
	if (msg->priority.priority > GS_PRIORITY_MAX)
		return gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST,
				      "a priority is 0 to %u", GS_PRIORITY_MAX);
	steps = gs_steps_prioritise(peer->d, job, msg->priority.priority);
	if (!steps)
		return gs_peer_refuse(peer, tag, GS_REFUSED_UNKNOWN_STEP,
				      "job %u has no step here", job);
	gs_log(GS_LOG_INFO, "uid %u pid %d: job %u: priority %u (%u steps)",
	       (unsigned)peer->uid, (int)peer->pid, job, msg->priority.priority, steps);
	return answer_ok(peer, tag);
}

int gs_on_suspend(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	struct gs_daemon *d = peer->d;
	uint32_t tag = msg->header.tag, job = msg->suspend.job_id;

	(void)fd;
	if (check(peer, tag) < 0)
		return -1;
	if (peer->hold_job || !job)
		return gs_peer_refuse(peer, tag, GS_REFUSED_BAD_REQUEST, "one job at a time");
	if (!msg->suspend.resumed && d->config->suspend_memory) {
		gs_hold_begin(peer, job, tag); /* and answers */
		return 0;
	}
	if (msg->suspend.resumed)
		gs_hold_end(d, job);
	return answer_ok(peer, tag);
}
