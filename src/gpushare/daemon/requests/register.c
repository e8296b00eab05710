/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps come and go: slurmstepd's REGISTER and UNREGISTER, gpusharectl's LOCAL; see register.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/register.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/program.h"
#include "common/text.h"
#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/requests/where.h"
#include "gpushare/daemon/base/local_job.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/base/pending.h"
#include "gpushare/daemon/slurm/slurm_report.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/steps/steps.h"
#include "gpushare/proto/auth.h"
#include "gpushare/proto/job_name.h"

/* UNREGISTERs that wait until their job's last report is out. */
static struct gs_pending_list unreported = LIST_HEAD_INITIALIZER(unreported);

/*
 * A registration counts when root made the credential and root brings it:
 * the first says that the text is slurmstepd's, the second that it was not
 * picked up on its way.
 */
static int open_credential(struct gs_connection *conn, const struct gs_msg *msg, const char *cred,
			   struct gs_msg_step *step)
{
	struct gs_error err;
	uid_t maker;

	if (conn->uid != 0)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_NOT_ALLOWED,
					    "only root registers job steps");
	if (gs_auth_open(cred, conn->d->config->munge_socket, step, &maker, &err) < 0)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_NOT_ALLOWED, "%s",
					    err.text);
	if (maker != 0)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_NOT_ALLOWED,
					    "the credential was made by uid %u", (unsigned)maker);
	return 0;
}

static int answer_registered(struct gs_connection *conn, uint32_t tag, const struct gs_step *step)
{
	const struct gs_config *c = conn->d->config;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_REGISTERED, tag);
	msg.registered.job_id = step->info.job_id;
	msg.registered.step_id = step->info.step_id;
	msg.registered.reservation = step->reservation;
	if (gs_msg_str(msg.registered.shim_dir, sizeof(msg.registered.shim_dir),
		       *c->shim_dir ? c->shim_dir : GS_SHIM_DIR) < 0 ||
	    gs_msg_str(msg.registered.driver, sizeof(msg.registered.driver), c->driver) < 0 ||
	    gs_where_env(conn->d, step, msg.registered.env, sizeof(msg.registered.env)) < 0)
		gs_log(GS_LOG_ERROR, "ShimDir, Driver or JobEnv is too long and was cut");
	return gs_connection_send(conn, &msg, -1);
}

static int register_step(struct gs_connection *conn, uint32_t tag, const struct gs_step_info *info,
			 struct gs_step **step)
{
	struct gs_error err;
	char name[16];

	*step = gs_step_add(conn->d, info, &err);
	if (!*step)
		return gs_connection_refuse(conn, tag, GS_REFUSED_NO_ROOM,
					    "job " GS_JOB_F ".%s: %s", GS_JOB(info->job_id),
					    gs_step_name(info->step_id, name, sizeof(name)),
					    err.text);
	gs_state_save(conn->d);
	gs_user_log(conn->uid,
		    "job " GS_JOB_F ".%s uid %u pid %d: %u shares of gpu %u, %" PRIu64
		    " MiB, partition '%s', QOS '%s', priority %d",
		    GS_JOB(info->job_id), gs_step_name(info->step_id, name, sizeof(name)),
		    (unsigned)info->uid, (int)info->registrant, info->shares, info->gpu,
		    (*step)->reservation >> 20, info->partition, info->qos, (*step)->priority);
	gs_memory_step(conn->d);
	return 0;
}

static void from_conn(const struct gs_connection *conn, struct gs_step_info *info)
{
	memset(info, 0, sizeof(*info));
	info->registrant = conn->pid;
	info->start = conn->start;
}

/* The state file and the log take it as a word; NUL-terminated by gs_msg_check. */
static void keep_name(char *field, size_t size, const char *name)
{
	snprintf(field, size, "%s", name);
	gs_text_disarm(field);
	for (char *c = field; *c; c++)
		if (*c == ' ' || *c == '"')
			*c = '?';
}

int gs_on_register(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_step_info info;
	struct gs_msg_step said;
	struct gs_step *step;
	struct gs_error err;

	(void)fd;
	if (open_credential(conn, msg, msg->registration.cred, &said) < 0)
		return -1;
	from_conn(conn, &info);
	info.job_id = said.job_id;
	info.step_id = said.step_id;
	info.uid = said.uid;
	info.shares = said.shares;
	info.job_shares = said.job_shares;
	info.gpu = said.gpu;
	info.memory = said.memory;
	info.program = said.program;
	info.priority_set = said.priority_set ? GS_PRIORITY_REQUESTED : 0;
	info.priority = said.priority;
	info.tier = said.tier;
	keep_name(info.partition, sizeof(info.partition), said.partition);
	keep_name(info.qos, sizeof(info.qos), said.qos);
	keep_name(info.account, sizeof(info.account), said.account);
	info.sharing.no_corun = said.no_corun != 0;
	info.period = (struct gs_period) { said.period_ns, said.deadline_ns };
	if (gs_period_complete(&info.period, &err) < 0)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST, "%s",
					    err.text);
	if (info.job_id >= GS_LOCAL_JOB_FIRST)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
					    "%u is not the id of a Slurm job", info.job_id);
	if (register_step(conn, msg->header.tag, &info, &step) < 0)
		return -1;
	return answer_registered(conn, msg->header.tag, step);
}

/* A number of its own, also after a restart; once they have gone round somebody may still have it.
 */
static uint32_t next_local(struct gs_daemon *d)
{
	uint32_t id = d->next_local ? d->next_local : GS_LOCAL_JOB_FIRST;

	while (gs_step_find(d, id, 0)) /* of GS_STEPS_MAX steps at most */
		id = gs_local_job_next(id);
	d->next_local = gs_local_job_next(id);
	return id;
}

static int answer_ok(struct gs_connection *conn, uint32_t tag)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_OK, tag);
	return tag ? gs_connection_send(conn, &msg, -1) : 0;
}

int gs_on_periodic(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_period period = { msg->periodic.period_ns, msg->periodic.deadline_ns };
	struct gs_error err;

	(void)fd;
	if (conn->own || conn->step)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
					    "the period is told before the step is registered");
	if (gs_period_complete(&period, &err) < 0)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST, "%s",
					    err.text);
	conn->registration.period = period;
	return answer_ok(conn, msg->header.tag);
}

int gs_on_local(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_daemon *d = conn->d;
	struct gs_step_info info;
	struct gs_step *step;

	(void)fd;
	if (!d->config->allow_local)
		return gs_connection_refuse(
			conn, msg->header.tag, GS_REFUSED_NOT_ALLOWED,
			"the configuration does not allow programs outside Slurm "
			"(AllowLocal)");
	if (conn->own || conn->step || !conn->start)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
					    "this connection is in use already");
	if (msg->local.force_ms > GS_FORCE_MS_MAX)
		return gs_connection_refuse(
			conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
			"forced evictions every %u ms: the period may be at most %u ms",
			msg->local.force_ms, GS_FORCE_MS_MAX);
	from_conn(conn, &info);
	info.local = 1;
	info.uid = conn->uid;
	info.shares = msg->local.shares;
	info.gpu = msg->local.gpu;
	info.memory = msg->local.memory;
	info.program = gs_program_key_said(conn->uid, msg->local.program);
	info.sharing.force_ms = msg->local.force_ms;
	info.period = conn->registration.period;
	info.sharing.no_corun = msg->local.no_corun != 0;
	keep_name(info.partition, sizeof(info.partition), msg->local.partition);
	info.job_id = next_local(d);
	if (register_step(conn, msg->header.tag, &info, &step) < 0)
		return -1;
	conn->own = step;
	return answer_registered(conn, msg->header.tag, step);
}

/* ---- the end of a step ------------------------------------------------ */

void gs_register_conn_gone(struct gs_connection *conn)
{
	gs_pending_drop(&unreported, conn);
	if (conn->own)
		gs_step_over(conn->d, conn->own, "its owner has left");
}

/* A step that is over already, whose last report slurmctld was not there to take. */
static int is_over(const struct gs_daemon *d, const struct gs_msg_step *said)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->finished.list, link)
		if (s->info.job_id == said->job_id && s->info.step_id == said->step_id)
			return 1;
	return 0;
}

/* The job's last report; its ticket, or 0. */
static uint32_t last_report(struct gs_daemon *d, uint32_t job_id)
{
	char text[GS_COMMENT_MAX];

	if (!d->slurm || gs_gather_comment(d, job_id, text, sizeof(text)) < 0)
		return 0;
	return gs_slurm_report_send(d->slurm, job_id, text);
}

int gs_on_unregister(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_msg_step said;
	uint32_t ticket;
	struct gs_step *step;

	(void)fd;
	if (open_credential(conn, msg, msg->unregister.cred, &said) < 0)
		return -1;
	step = gs_step_find(conn->d, said.job_id, said.step_id);
	if (!step && !is_over(conn->d, &said))
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_UNKNOWN_STEP,
					    "job %u has registered no such step here", said.job_id);
	if (step)
		gs_step_over(conn->d, step, "unregistered");
	/* slurmctld refuses comments on a job that has ended, so slurmstepd
	 * waits for this answer before it ends. */
	ticket = last_report(conn->d, said.job_id);
	if (ticket && gs_pending_add(&unreported, conn, ticket, msg->header.tag) == 0)
		return 0;
	return answer_ok(conn, msg->header.tag);
}

void gs_register_reported(struct gs_daemon *d, uint32_t ticket)
{
	uint32_t tag;
	struct gs_connection *conn = gs_pending_take(&unreported, ticket, &tag);

	(void)d;
	if (conn && answer_ok(conn, tag) < 0)
		gs_connection_close(conn);
}
