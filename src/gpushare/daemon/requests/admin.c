/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POLICY, CLASS_POLICY, PRIORITY and SUSPEND: changes while jobs run, by root, by SlurmUser, or by
 * whom the daemon runs as (who could end it anyway).  Each is logged with
 * the uid.
 */
#define _GNU_SOURCE
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/requests/admin.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/checkpoint/suspend.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/proto/job_name.h"

static uid_t admin_uid; /* SlurmUser's */

void gs_admin_init(struct gs_daemon *d)
{
	const char *name = d->config->slurm_user;
	const struct passwd *pw;
	char *end;
	unsigned long uid;

	admin_uid = 0;
	if (!*name)
		return;
	uid = strtoul(name, &end, 10);
	if (!*end && uid < (uid_t)-1) {
		admin_uid = (uid_t)uid;
		return;
	}
	pw = getpwnam(name);
	if (pw)
		admin_uid = pw->pw_uid;
	else
		gs_log(GS_LOG_WARN, "SlurmUser=%s: there is no such user", name);
}

static int may_change(const struct gs_connection *conn)
{
	return conn->uid == 0 || conn->uid == geteuid() || conn->uid == admin_uid;
}

/* 0, or -1: refused. */
static int check(struct gs_connection *conn, uint32_t tag)
{
	if (may_change(conn))
		return 0;
	return gs_connection_refuse(
		conn, tag, GS_REFUSED_NOT_ALLOWED,
		"only root and SlurmUser change policies and priorities, and suspend jobs");
}

static int answer_ok(struct gs_connection *conn, uint32_t tag)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_OK, tag);
	return tag ? gs_connection_send(conn, &msg, -1) : 0;
}

/* What the policy of that class is, "": of the GPU. */
static const char *policy_of(const struct gs_gpu_status *st, const char *class)
{
	for (size_t i = 0; *class && i < st->nclasses; i++)
		if (strcmp(st->class[i].name, class) == 0)
			return st->class[i].is.policy;
	return st->policy;
}

/* Who does not follow the GPU's policy, for the log: "; a, b keep theirs", or "". */
static void say_kept(const struct gs_gpu_status *st, char *buf, size_t size)
{
	size_t at = 0, n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < st->nclasses && at < size; i++)
		if (st->class[i].is.own)
			at += (size_t)snprintf(buf + at, size - at, "%s%s", n++ ? ", " : "; class ",
					       st->class[i].name);
	if (n && at < size)
		snprintf(buf + at, size - at, n > 1 ? " keep theirs" : " keeps its own");
}

/* class "": the GPU's own. */
static int set_policy(struct gs_connection *conn, struct gs_device *dev, const char *class,
		      const char *policy, struct gs_error *err)
{
	struct gs_gpu_status before;
	char kept[512] = "";

	gs_command_status(dev->arbiter, &before);
	if (gs_command_policy(dev->arbiter, class, policy, err) < 0)
		return -1;
	if (!*class)
		say_kept(&before, kept, sizeof(kept));
	gs_log(GS_LOG_INFO, "uid %u pid %d: gpu %u%s%s: policy %s instead of %s%s",
	       (unsigned)conn->uid, (int)conn->pid, dev->index, *class ? ": class " : "", class,
	       policy, policy_of(&before, class), kept);
	return 0;
}

static int change_policy(struct gs_connection *conn, uint32_t tag, uint32_t gpu, int all,
			 const char *class, const char *policy)
{
	struct gs_daemon *d = conn->d;
	struct gs_error err;

	if (check(conn, tag) < 0)
		return -1;
	if (!all && !gs_device_find(d, gpu))
		return gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST,
					    "there is no GPU %u here", gpu);
	for (size_t i = 0; i < d->ndevice; i++)
		if ((all || d->device[i].index == gpu) &&
		    set_policy(conn, &d->device[i], class, policy, &err) < 0)
			return gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST, "%s",
						    err.text);
	return answer_ok(conn, tag);
}

int gs_on_policy(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	const struct gs_msg_policy *m = &msg->policy;

	(void)fd;
	return change_policy(conn, msg->header.tag, m->gpu, m->all != 0, "", m->policy);
}

int gs_on_class_policy(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	const struct gs_msg_class_policy *m = &msg->class_policy;

	(void)fd;
	if (!*m->class)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
					    "which class?");
	return change_policy(conn, msg->header.tag, m->gpu, m->all != 0, m->class, m->policy);
}

int gs_on_priority(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	uint32_t tag = msg->header.tag, job = msg->priority.job_id;
	unsigned steps;

	(void)fd;
	if (check(conn, tag) < 0)
		return -1;
	if (msg->priority.priority > GS_PRIORITY_MAX)
		return gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST,
					    "a priority must be from 0 to %u", GS_PRIORITY_MAX);
	steps = gs_steps_prioritise(conn->d, job, msg->priority.priority);
	if (!steps)
		return gs_connection_refuse(conn, tag, GS_REFUSED_UNKNOWN_STEP,
					    "job " GS_JOB_F " has no step here", GS_JOB(job));
	gs_log(GS_LOG_INFO, "uid %u pid %d: job " GS_JOB_F ": priority %u (%u steps)",
	       (unsigned)conn->uid, (int)conn->pid, GS_JOB(job), msg->priority.priority, steps);
	return answer_ok(conn, tag);
}

int gs_on_suspend(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_daemon *d = conn->d;
	uint32_t tag = msg->header.tag, job = msg->suspend.job_id;

	(void)fd;
	if (check(conn, tag) < 0)
		return -1;
	if (gs_suspend_waits(conn) || !job)
		return gs_connection_refuse(
			conn, tag, GS_REFUSED_BAD_REQUEST,
			"this connection already waits for a job to be suspended");
	if (!msg->suspend.resumed && d->config->suspend_memory)
		return gs_suspend_begin(conn, job, tag); /* and answers */
	if (msg->suspend.resumed)
		gs_suspend_end(d, job);
	return answer_ok(conn, tag);
}
