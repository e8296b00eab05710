/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking slurmctld about a job; see jobinfo.h. */
#define _GNU_SOURCE
#include "plugins/spank/jobinfo.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <string.h>

#include "gpushare/proto/msg.h"
#include "plugins/spank/values.h"

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

/*
 * The PriorityTier plus 1; 0 if slurmctld does not say, which only costs the
 * step that default.
 */
static uint32_t tier_of(const char *partition)
{
	partition_info_msg_t *all = NULL;
	uint32_t tier = 0;

	if (slurm_load_partitions(0, &all, SHOW_ALL) != SLURM_SUCCESS)
		return 0;
	for (uint32_t i = 0; i < all->record_count && !tier; i++)
		if (all->partition_array[i].name &&
		    strcmp(all->partition_array[i].name, partition) == 0)
			tier = (uint32_t)all->partition_array[i].priority_tier + 1;
	slurm_free_partition_info_msg(all);
	return tier;
}

int gs_jobinfo_load(uint32_t job_id, struct gs_jobinfo *info, struct gs_error *err)
{
	job_info_msg_t *reply = NULL;
	const slurm_job_info_t *job = NULL;
	uint64_t shares;
	int ret = -1;

	memset(info, 0, sizeof(*info));
	if (slurm_load_job(&reply, job_id, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return gs_fail(err, "slurmctld does not tell about job %u: %s", job_id,
			       slurm_strerror(errno));
	for (uint32_t i = 0; i < reply->record_count && !job; i++)
		if (reply->job_array[i].job_id == job_id)
			job = &reply->job_array[i];
	if (!job) {
		gs_fail(err, "slurmctld does not know job %u", job_id);
		goto out;
	}
	shares = shares_of(job);
	if (shares > UINT32_MAX) {
		gs_fail(err, "job %u with %llu shares", job_id, (unsigned long long)shares);
		goto out;
	}
	info->uid = job->user_id;
	info->shares = (uint32_t)shares;
	if (gs_msg_str(info->partition, sizeof(info->partition),
		       job->partition ? job->partition : "") < 0) {
		gs_fail(err, "partition %.80s has too long a name", job->partition);
		goto out;
	}
	if (gs_msg_str(info->qos, sizeof(info->qos), job->qos ? job->qos : "") < 0) {
		gs_fail(err, "QOS %.80s has too long a name", job->qos);
		goto out;
	}
	if (info->shares)
		info->tier = tier_of(info->partition);
	ret = 0;
out:
	slurm_free_job_info_msg(reply);
	return ret;
}
