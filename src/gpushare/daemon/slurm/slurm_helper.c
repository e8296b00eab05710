/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that writes AdminComment and Extra through libslurm, and asks slurmctld about jobs:
 * the only file that knows libslurm.  It may block, and libslurm may end it: the daemon copes.
 */
#define _GNU_SOURCE
#include "gpushare/proto/comment.h"
#include "gpushare/daemon/slurm/slurm_report.h"

#include "config.h"

#ifdef HAVE_LIBSLURM
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/libslurm.h"
#include "common/log.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* Nodes of one job may write at once: look again whether it is still there. */
#define TRIES 4
#define SETTLE_MS 60

static void settle(const char *self)
{
	struct timespec pause = { 0, SETTLE_MS * 1000000L };

	/* Two that met need not meet again. */
	for (; *self; self++)
		pause.tv_nsec += (unsigned char)*self % 8 * 2500000L;
	if (pause.tv_nsec > 200000000L)
		pause.tv_nsec = 200000000L;
	nanosleep(&pause, NULL);
}

/* Asked for an array's first number, slurmctld answers with all of its tasks. */
static const slurm_job_info_t *record_of(const job_info_msg_t *jobs, uint32_t job_id)
{
	for (uint32_t i = 0; jobs && i < jobs->record_count; i++)
		if (jobs->job_array[i].job_id == job_id)
			return &jobs->job_array[i];
	return NULL;
}

enum { WRITTEN, THERE_ALREADY, OVER, NOT_WRITTEN = GS_SLURM_FAILED, LATER = GS_SLURM_LATER };

/* Would it be another answer later? */
static int failed(char *reason, size_t size, int error)
{
	snprintf(reason, size, "%s", slurm_strerror(error));
	switch (error) {
	case ESLURM_INVALID_JOB_ID:
	case ESLURM_ACCESS_DENIED:
	case ESLURM_USER_ID_MISSING:
		return NOT_WRITTEN;
	default:
		return LATER;
	}
}

/*
 * Read, exchange our part, write back: others use the field too.  OVER: slurmctld takes no comment
 * for the job any more; below 0 with the reason.  *nodes: how many the job has.
 */
static int update_once(const struct gs_slurm_request *request, uint32_t *nodes, char *reason,
		       size_t size)
{
	const slurm_job_info_t *job = NULL;
	job_info_msg_t *jobs = NULL;
	char merged[2 * GS_COMMENT_MAX];
	const char *old;
	job_desc_msg_t change;
	int rc = NOT_WRITTEN;

	if (gs_libslurm_load_job(&jobs, request->job_id, SHOW_ALL) != SLURM_SUCCESS) {
		rc = failed(reason, size, errno);
		goto out;
	}
	job = record_of(jobs, request->job_id);
	if (!job) {
		snprintf(reason, size, "slurmctld does not know the job");
		goto out;
	}
	old = job->admin_comment;
	*nodes = job->num_nodes;
	if ((*nodes > 1 ? gs_comment_merge_node(old, request->self, request->text, merged,
						sizeof(merged)) :
			  gs_comment_merge(old, request->text, merged, sizeof(merged))) < 0) {
		snprintf(reason, size, "what others wrote leaves no room");
		goto out;
	}
	if (old && strcmp(old, merged) == 0) {
		rc = THERE_ALREADY;
		goto out;
	}
	slurm_init_job_desc_msg(&change);
#ifdef HAVE_JOB_DESC_MSG_T_JOB_ID
	change.job_id = request->job_id;
#else /* since Slurm 25.11 */
	change.step_id.job_id = request->job_id;
#endif
	change.admin_comment = merged;
	if (slurm_update_job(&change) == SLURM_SUCCESS)
		rc = 0;
	else
		rc = errno == ESLURM_JOB_FINISHED ? OVER : failed(reason, size, errno);
out:
	if (jobs)
		slurm_free_job_info_msg(jobs);
	return rc;
}

/* Merges `ours` into Extra.  job_id 0: the daemon's part; else: the report of a job that is over.
 */
static int update_node(const char *name, uint32_t job_id, const char *ours, char *reason,
		       size_t size)
{
	node_info_msg_t *nodes = NULL;
	char merged[GS_EXTRA_MAX], own[64];
	const char *old;
	update_node_msg_t change;
	int rc = NOT_WRITTEN;

	snprintf(own, sizeof(own), "%s", name);
	if (slurm_load_node_single(&nodes, own, SHOW_ALL) != SLURM_SUCCESS ||
	    nodes->record_count < 1) {
		rc = LATER;
		snprintf(reason, size, "node %s: %s", name, slurm_strerror(errno));
		goto out;
	}
	old = nodes->node_array[0].extra;
	if ((job_id ? gs_comment_add_ended(old, job_id, ours, merged, sizeof(merged)) :
		      gs_comment_merge(old, ours, merged, sizeof(merged))) < 0) {
		snprintf(reason, size, "what others wrote leaves no room");
		goto out;
	}
	slurm_init_update_node_msg(&change);
	change.node_names = own;
	change.extra = merged;
	if (slurm_update_node(&change) != SLURM_SUCCESS) {
		rc = LATER;
		snprintf(reason, size, "node %s: %s", name, slurm_strerror(errno));
	} else {
		rc = 0;
	}
out:
	if (nodes)
		slurm_free_node_info_msg(nodes);
	return rc;
}

/* Is prep/gpushare in slurmctld, to take it from there? */
static int is_taken_from_extra(void)
{
	slurm_conf_t *conf = NULL;
	int is = 0;

	if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
		return 0;
	is = conf->prep_plugins && strstr(conf->prep_plugins, "gpushare");
	gs_libslurm_free_conf(conf);
	return is;
}

/* By way of the node's Extra (comment.h): a job that was cancelled or has run into its time limit
 * is over before its steps are. */
static int report_ended(const struct gs_slurm_request *request, char *reason, size_t size)
{
	if (is_taken_from_extra())
		return update_node(request->self, request->job_id, request->text, reason, size);
	snprintf(reason, size, "%s", slurm_strerror(ESLURM_JOB_FINISHED));
	return NOT_WRITTEN;
}

/* 0: written; GS_SLURM_FAILED or GS_SLURM_LATER with the reason. */
static int update(const struct gs_slurm_request *request, char *reason, size_t size)
{
	uint32_t nodes = 1;
	int rc = update_once(request, &nodes, reason, size);

	for (int i = 1; rc == WRITTEN && nodes > 1 && i < TRIES; i++) {
		settle(request->self);
		rc = update_once(request, &nodes, reason, size);
	}
	if (rc == OVER)
		return report_ended(request, reason, size);
	return rc < 0 ? rc : 0;
}

/* What slurmctld takes for this job alone: of an array, the plain number can be the whole of it. */
static int name_of(uint32_t job_id, char *name, size_t size)
{
	const slurm_job_info_t *job;
	job_info_msg_t *jobs = NULL;

	if (gs_libslurm_load_job(&jobs, job_id, SHOW_ALL) != SLURM_SUCCESS ||
	    !(job = record_of(jobs, job_id))) {
		if (jobs)
			slurm_free_job_info_msg(jobs);
		return -1;
	}
	if (job->array_task_id != NO_VAL)
		snprintf(name, size, "%u_%u", job->array_job_id, job->array_task_id);
	else
		snprintf(name, size, "%u", job_id);
	slurm_free_job_info_msg(jobs);
	return 0;
}

/* With the reason in its AdminComment first: slurmctld refuses comments on a job that has ended. */
static int kill_job(const struct gs_slurm_request *request, char *reason, size_t size)
{
	char name[32], why[128];

	if (update(request, why, sizeof(why)) < 0)
		gs_log(GS_LOG_WARN, "job %u: AdminComment not written: %s", request->job_id, why);
	if (request->what == GS_SLURM_REQUEUE &&
	    gs_libslurm_requeue(request->job_id, 0) == SLURM_SUCCESS)
		return 0;
	if (name_of(request->job_id, name, sizeof(name)) == 0 &&
	    slurm_kill_job2(name, SIGKILL, 0, NULL) == SLURM_SUCCESS)
		return 0;
	snprintf(reason, size, "%s", slurm_strerror(errno));
	return -1;
}

static int is_suspended(uint32_t job_id, uint32_t *is, char *reason, size_t size)
{
	const slurm_job_info_t *job;
	job_info_msg_t *jobs = NULL;
	int rc = 0;

	if (gs_libslurm_load_job(&jobs, job_id, SHOW_ALL) != SLURM_SUCCESS ||
	    !(job = record_of(jobs, job_id)))
		rc = failed(reason, size, errno);
	else
		*is = (job->job_state & JOB_STATE_BASE) == JOB_SUSPENDED;
	if (jobs)
		slurm_free_job_info_msg(jobs);
	return rc;
}

void gs_slurm_helper(int sock, const char *slurm_conf)
{
	struct gs_slurm_request request;

	if (slurm_conf && *slurm_conf)
		setenv("SLURM_CONF", slurm_conf, 1);
	slurm_init(NULL);
	while (recv(sock, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		struct gs_slurm_answer answer = { .ticket = request.ticket };

		request.text[sizeof(request.text) - 1] = '\0';
		request.node[sizeof(request.node) - 1] = '\0';
		request.self[sizeof(request.self) - 1] = '\0';
		if (*request.node)
			answer.rc = update_node(request.node, 0, request.text, answer.reason,
						sizeof(answer.reason));
		else if (request.what == GS_SLURM_INQUIRE)
			answer.rc = is_suspended(request.job_id, &answer.suspended, answer.reason,
						 sizeof(answer.reason));
		else if (request.what)
			answer.rc = kill_job(&request, answer.reason, sizeof(answer.reason));
		else
			answer.rc = update(&request, answer.reason, sizeof(answer.reason));
		if (send(sock, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	slurm_fini();
}
#else
void gs_slurm_helper(int sock, const char *slurm_conf)
{
	(void)sock;
	(void)slurm_conf;
}
#endif
