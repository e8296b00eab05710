/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task/gpushare: slurmd asks its task plugins before it stops a job's
 * processes (_rpc_suspend_job() of Slurm up to 24.05), the last moment in which
 * their device memory can be brought to the host: the driver's checkpoint
 * needs a thread of the process.  With SuspendMemory=checkpoint gpushared is
 * told then, and when they have been resumed.  Whatever goes wrong is logged,
 * and the suspension takes its course.
 */
#define _GNU_SOURCE
#define GS_IN_SLURMD
#include "plugins/gs_slurm_compat.h"

#include <errno.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/config/config.h"
#include "gpushare/proto/msg.h"

const char plugin_name[] = "gpushare memory of suspended jobs";
const char plugin_type[] = "task/gpushare";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
const char plugin_gpushare_version[] = GS_VERSION;

static int tell(const struct gs_config *config, uint32_t job_id, uint32_t resumed,
		struct gs_error *err)
{
	/* A second more than gpushared allows itself. */
	uint64_t timeout = config->memory_preempt_timeout_ns + GS_NS_PER_S;
	int sock = gs_msg_connect(config->socket, timeout, err), rc;
	struct gs_msg query, answer;

	if (sock < 0)
		return -1;
	gs_msg_init(&query, GS_MSG_SUSPEND, 1);
	query.suspend.job_id = job_id;
	query.suspend.resumed = resumed;
	if (gs_msg_send(sock, &query, -1) < 0) {
		gs_fail_errno(err, "cannot send to gpushared");
		close(sock);
		return -1;
	}
	rc = gs_msg_recv(sock, &answer, GS_FROM_DAEMON, NULL, err);
	if (rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		gs_fail(err,
			"gpushared has not answered within preempt_timeout (MemoryParameters in gpushare.conf)");
	close(sock);
	if (rc == 0)
		return gs_fail(err, "gpushared closed the connection");
	if (rc > 0 && answer.header.type == GS_MSG_REFUSED)
		return gs_fail(err, "%s", answer.refused.reason);
	return rc > 0 ? 0 : -1;
}

/* gpushare.conf is read each time: it may have changed, and suspensions are rare. */
static void job_changes(uint32_t job_id, uint32_t resumed)
{
	char *path = get_extra_conf_path("gpushare.conf");
	struct gs_config *config;
	struct gs_error err;

	if (access(path, F_OK) < 0) {
		xfree(path);
		return; /* not a node with gpushare, or one that keeps its file elsewhere */
	}
	config = gs_config_load(path, &err);
	xfree(path);
	/* A job may have been suspended before the configuration changed. */
	if (!config ||
	    ((config->suspend_memory || resumed) && tell(config, job_id, resumed, &err) < 0))
		error("gpushare: job %u %s, gpushared does not move its memory: %s", job_id,
		      resumed ? "is resumed" : "is suspended", err.text);
	gs_config_free(config);
}

int task_p_slurmd_suspend_job(uint32_t job_id)
{
	job_changes(job_id, 0);
	return SLURM_SUCCESS;
}

int task_p_slurmd_resume_job(uint32_t job_id)
{
	job_changes(job_id, 1);
	return SLURM_SUCCESS;
}

/* ---- what else a task plugin is asked for, none of which concerns gpushare --- */

int task_p_slurmd_batch_request(batch_job_launch_msg_t *request)
{
	(void)request;
	return SLURM_SUCCESS;
}

int task_p_slurmd_launch_request(launch_tasks_request_msg_t *request, uint32_t node_id,
				 char **err_msg)
{
	(void)request;
	(void)node_id;
	(void)err_msg;
	return SLURM_SUCCESS;
}

int task_p_pre_setuid(stepd_step_rec_t *step)
{
	(void)step;
	return SLURM_SUCCESS;
}

#ifdef GS_TASK_PRE_LAUNCH_PRIV
int task_p_pre_launch_priv(stepd_step_rec_t *step, GS_TASK_IDS)
{
	(void)step;
	(void)local_id;
#ifdef GS_TASK_GLOBAL_ID
	(void)global_id;
#endif
	return SLURM_SUCCESS;
}
#else
int task_p_pre_set_affinity(stepd_step_rec_t *step, uint32_t task)
{
	(void)step;
	(void)task;
	return SLURM_SUCCESS;
}

int task_p_set_affinity(stepd_step_rec_t *step, uint32_t task)
{
	(void)step;
	(void)task;
	return SLURM_SUCCESS;
}

int task_p_post_set_affinity(stepd_step_rec_t *step, uint32_t task)
{
	(void)step;
	(void)task;
	return SLURM_SUCCESS;
}
#endif

int task_p_pre_launch(stepd_step_rec_t *step)
{
	(void)step;
	return SLURM_SUCCESS;
}

int task_p_post_term(stepd_step_rec_t *step, stepd_step_task_info_t *task)
{
	(void)step;
	(void)task;
	return SLURM_SUCCESS;
}

int task_p_post_step(stepd_step_rec_t *step)
{
	(void)step;
	return SLURM_SUCCESS;
}

int task_p_add_pid(pid_t pid)
{
	(void)pid;
	return SLURM_SUCCESS;
}
