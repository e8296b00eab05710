/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking slurmctld about a job; see jobinfo.h. */
#define _GNU_SOURCE
#include "plugins/spank/jobinfo.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/libslurm.h"
#include "gpushare/proto/msg.h"
#include "plugins/values.h"

#define RETRY_NS (500 * 1000 * 1000L)

/* gres_detail_str has one text per node; before the allocation is known, the request. */
static uint64_t shares_of(const slurm_job_info_t *job)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < job->gres_detail_cnt; i++) {
		uint64_t n = gs_gres_count(job->gres_detail_str[i], "gpushare");

		if (n > most)
			most = n;
	}
	return most ? most : gs_gres_count(job->tres_per_node, "gpushare");
}

/* Where slurm_errno.h's block of broken connections begins; its first name is gone with 24.05. */
#define SOCKET_ERRORS 5000

/* Does this error say that slurmctld was not reached, rather than what it or munge answered?  By
 * slurm_errno.h's blocks. */
static int is_away(int error)
{
	if (error < SLURM_UNEXPECTED_MSG_ERROR)
		return error > 0; /* the system's: refused, timed out */
	if (error >= SLURM_COMMUNICATIONS_CONNECTION_ERROR &&
	    error <= SLURM_COMMUNICATIONS_SHUTDOWN_ERROR)
		return 1;
	/* The socket was gone before it was used; since 24.11 by several names. */
	if (error >= SLURM_COMMUNICATIONS_MISSING_SOCKET_ERROR &&
	    error < SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR)
		return 1;
	/* Not reached, or too busy to answer. */
	if (error >= SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR && error < SLURM_NO_CHANGE_IN_DATA)
		return 1;
	if (error >= SOCKET_ERRORS && error < ESLURM_AUTH_CRED_INVALID)
		return 1; /* the connection broke */
	return error == ESLURM_IN_STANDBY_MODE;
}

static enum gs_jobinfo_answer no_answer(uint32_t job_id, struct gs_error *err)
{
	int error = errno;

	gs_fail(err, "slurmctld does not tell about job %u: %s", job_id, slurm_strerror(error));
	return is_away(error) ? GS_JOBINFO_AWAY : GS_JOBINFO_NO;
}

/* The PriorityTier plus 1; 0 if slurmctld knows no such partition; -1: it does not answer. */
static int64_t tier_of(const char *partition)
{
	partition_info_msg_t *all = NULL;
	uint32_t tier = 0;

	if (slurm_load_partitions(0, &all, SHOW_ALL) != SLURM_SUCCESS)
		return -1;
	for (uint32_t i = 0; i < all->record_count && !tier; i++)
		if (all->partition_array[i].name &&
		    strcmp(all->partition_array[i].name, partition) == 0)
			tier = (uint32_t)all->partition_array[i].priority_tier + 1;
	slurm_free_partition_info_msg(all);
	return tier;
}

static const slurm_job_info_t *record_of(const job_info_msg_t *reply, uint32_t job_id)
{
	for (uint32_t i = 0; i < reply->record_count; i++)
		if (reply->job_array[i].job_id == job_id)
			return &reply->job_array[i];
	return NULL;
}

static int copy(const slurm_job_info_t *job, struct gs_jobinfo *info, struct gs_error *err)
{
	uint64_t shares = shares_of(job);

	if (shares > UINT32_MAX)
		return gs_fail(err, "job %u with %llu shares", job->job_id,
			       (unsigned long long)shares);
	info->uid = job->user_id;
	info->shares = (uint32_t)shares;
	if (gs_msg_str(info->partition, sizeof(info->partition),
		       job->partition ? job->partition : "") < 0)
		return gs_fail(err, "partition %.80s has too long a name", job->partition);
	if (gs_msg_str(info->qos, sizeof(info->qos), job->qos ? job->qos : "") < 0)
		return gs_fail(err, "QOS %.80s has too long a name", job->qos);
	/* Only metrics show it, so one with a long name is no reason to refuse the job. */
	snprintf(info->account, sizeof(info->account), "%s", job->account ? job->account : "");
	return 0;
}

static enum gs_jobinfo_answer query(uint32_t job_id, struct gs_jobinfo *info, struct gs_error *err)
{
	job_info_msg_t *reply = NULL;
	const slurm_job_info_t *job;
	int64_t tier = 0;
	int rc;

	memset(info, 0, sizeof(*info));
	if (gs_libslurm_load_job(&reply, job_id, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return no_answer(job_id, err);
	job = record_of(reply, job_id);
	rc = job ? copy(job, info, err) : gs_fail(err, "slurmctld does not know job %u", job_id);
	slurm_free_job_info_msg(reply);
	if (rc < 0)
		return GS_JOBINFO_NO;
	if (info->shares && (tier = tier_of(info->partition)) < 0)
		return no_answer(job_id, err);
	info->tier = (uint32_t)tier;
	return GS_JOBINFO_YES;
}

enum gs_jobinfo_answer gs_jobinfo_load(uint32_t job_id, uint32_t wait_ms, struct gs_jobinfo *info,
				       struct gs_error *err)
{
	uint64_t deadline = gs_clock_ns() + wait_ms * GS_NS_PER_MS;
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	uint64_t longest = 0;

	for (;;) {
		uint64_t begun = gs_clock_ns(), took;
		enum gs_jobinfo_answer answer = query(job_id, info, err);

		took = gs_clock_ns() - begun;
		if (took > longest)
			longest = took;
		/* With a backup controller one attempt can take minutes; it must end in time. */
		if (answer != GS_JOBINFO_AWAY || gs_clock_ns() + longest >= deadline)
			return answer;
		nanosleep(&pause, NULL);
	}
}

int gs_jobinfo_step_is_bare(uint32_t job_id, uint32_t step_id)
{
	job_step_info_response_msg_t *reply = NULL;
	int bare = 0;

	if (gs_libslurm_load_step(&reply, job_id, step_id, SHOW_ALL) != SLURM_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < reply->job_step_count; i++) {
		const job_step_info_t *step = &reply->job_steps[i];

		bare |= step->step_id.job_id == job_id && step->step_id.step_id == step_id &&
			gs_gres_is_bare(step->tres_per_node, "gpushare");
	}
	slurm_free_job_step_info_response_msg(reply);
	return bare;
}

static enum gs_jobinfo_answer knock(uint32_t job_id, struct gs_error *err)
{
	job_info_msg_t *reply = NULL;

	if (gs_libslurm_load_job(&reply, job_id, SHOW_ALL) != SLURM_SUCCESS)
		return no_answer(job_id, err);
	slurm_free_job_info_msg(reply);
	return GS_JOBINFO_YES;
}

int gs_jobinfo_wait(uint32_t job_id, uint32_t wait_ms, struct gs_error *err)
{
	uint64_t deadline = gs_clock_ns() + wait_ms * GS_NS_PER_MS;
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	enum gs_jobinfo_answer answer;

	while ((answer = knock(job_id, err)) == GS_JOBINFO_AWAY && gs_clock_ns() < deadline)
		nanosleep(&pause, NULL);
	return answer == GS_JOBINFO_AWAY ? -1 : 0;
}

/* Of an array's task, the plain number can be the whole array. */
static void name_of(const slurm_job_info_t *job, char *name, size_t size)
{
	if (job->array_job_id && job->array_task_id != NO_VAL)
		snprintf(name, size, "%u_%u", job->array_job_id, job->array_task_id);
	else
		snprintf(name, size, "%u", job->job_id);
}

static enum gs_jobinfo_answer requeue(uint32_t job_id, uint32_t restarts, struct gs_error *err)
{
	job_array_resp_msg_t *each = NULL;
	job_info_msg_t *reply = NULL;
	const slurm_job_info_t *job;
	char name[32] = "";
	int rc;

	if (gs_libslurm_load_job(&reply, job_id, SHOW_ALL) != SLURM_SUCCESS)
		return no_answer(job_id, err);
	job = record_of(reply, job_id);
	/* The script's own end may have been told before this one. */
	if (job && job->restart_cnt == restarts &&
	    ((job->job_state & JOB_STATE_BASE) == JOB_RUNNING ||
	     (job->job_state & JOB_STATE_BASE) == JOB_FAILED))
		name_of(job, name, sizeof(name));
	slurm_free_job_info_msg(reply);
	if (!*name) {
		gs_fail(err, "it has been ended or requeued already");
		return GS_JOBINFO_NO;
	}
	if (slurm_requeue2(name, 0, &each) != SLURM_SUCCESS) {
		rc = errno;
		gs_fail(err, "%s", slurm_strerror(rc));
		return is_away(rc) ? GS_JOBINFO_AWAY : GS_JOBINFO_NO;
	}
	rc = SLURM_SUCCESS;
	for (uint32_t i = 0; each && i < each->job_array_count && rc == SLURM_SUCCESS; i++)
		rc = (int)each->error_code[i];
	slurm_free_job_array_resp(each);
	if (rc == SLURM_SUCCESS)
		return GS_JOBINFO_YES;
	gs_fail(err, "%s", slurm_strerror(rc));
	return GS_JOBINFO_NO;
}

int gs_jobinfo_requeue(uint32_t job_id, uint32_t restarts, uint32_t wait_ms, struct gs_error *err)
{
	uint64_t deadline = gs_clock_ns() + wait_ms * GS_NS_PER_MS;
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	enum gs_jobinfo_answer answer;

	while ((answer = requeue(job_id, restarts, err)) == GS_JOBINFO_AWAY &&
	       gs_clock_ns() < deadline)
		nanosleep(&pause, NULL);
	return answer == GS_JOBINFO_YES ? 0 : -1;
}
