/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_submit/gpushare: in slurmctld, where the whole request is known, it
 * refuses what no node can give or a partition does not allow, and raises the
 * shares to what --gpushare-mem takes.
 *
 * sbatch shows a SPANK plugin its own options only.  They arrive here as
 * _SLURM_SPANK_OPTION_gpushare_<option>=<value>.  What counts in the end is
 * what this plugin writes into the job's request, which Slurm enforces.
 */
#define _GNU_SOURCE
#define GS_IN_SLURMCTLD
#include "plugins/gs_slurm_compat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/proto/msg.h"
#include "plugins/job_submit/request.h"
#include "plugins/job_submit/site.h"
#include "plugins/values.h"

#define OPTION_PREFIX "_SLURM_SPANK_OPTION_gpushare_gpushare_"

const char plugin_name[] = "gpushare requests";
const char plugin_type[] = "job_submit/gpushare";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
const char plugin_gpushare_version[] = GS_VERSION;

/* A job as it is submitted, or as it will be after a change. */
struct job {
	char **env; /* SPANK's */
	uint32_t env_size;
	char *partition;
	char *tres[GS_PER_COUNT];
	const job_desc_msg_t *desc; /* as it is submitted, or the change */
	const job_record_t *record; /* NULL: it is being submitted */
	uint32_t uid;
	const char *qos; /* NULL: its default, which is not known here */
};

GS_EXPORT int fini(void);

int fini(void)
{
	gs_site_fini();
	return SLURM_SUCCESS;
}

/* The value of --gpushare-<option> as submitted; NULL: not given. */
static const char *option_of(const struct job *job, const char *option)
{
	size_t prefix = strlen(OPTION_PREFIX), length = strlen(option);

	for (uint32_t i = 0; i < job->env_size; i++) {
		const char *entry = job->env[i];

		if (strncmp(entry, OPTION_PREFIX, prefix) == 0 &&
		    strncmp(entry + prefix, option, length) == 0 && entry[prefix + length] == '=')
			return entry + prefix + length + 1;
	}
	return NULL;
}

static int read_options(const struct job *job, struct gs_request *request, struct gs_error *err)
{
	const char *memory = option_of(job, "mem");
	const char *priority = option_of(job, "priority");
	const char *period = option_of(job, "period"), *deadline = option_of(job, "deadline");
	const char *corun = option_of(job, "corun");
	uint32_t level;
	uint64_t ns;
	int no;

	request->period = period != NULL;
	request->deadline = deadline != NULL;
	request->corun = corun != NULL;
	if ((period && gs_option_period(period, &ns, err) < 0) ||
	    (deadline && gs_option_period(deadline, &ns, err) < 0) ||
	    (corun && gs_option_corun(corun, &no, err) < 0))
		return -1;
	if (memory && gs_option_memory(memory, &request->memory, err) < 0)
		return -1;
	if (request->memory == GS_MEMORY_AUTO)
		request->memory = 0; /* the node's daemon knows; within the shares' part */
	request->priority = priority != NULL;
	return priority ? gs_option_priority(priority, &level, err) : 0;
}

/* What a job leaves open, or a change does not touch, stays 0. */
static void read_tasks(const job_desc_msg_t *desc, struct gs_request *request)
{
	/* Without gres/gpu a node's GPU is counted by its shares alone. */
	request->exclusive = desc->shared == JOB_SHARED_NONE && slurm_conf.gres_plugins &&
			     gs_gres_has_gpu(slurm_conf.gres_plugins);
	if (desc->num_tasks != NO_VAL)
		request->tasks = desc->num_tasks;
	if (desc->ntasks_per_node != NO_VAL16)
		request->tasks_per_node = desc->ntasks_per_node;
	if (desc->min_nodes != NO_VAL)
		request->nodes = desc->min_nodes;
	if (desc->sockets_per_node != NO_VAL16)
		request->sockets = desc->sockets_per_node;
}

static int changes_tasks(const job_desc_msg_t *change)
{
	return change->num_tasks != NO_VAL || change->ntasks_per_node != NO_VAL16 ||
	       change->min_nodes != NO_VAL;
}

/* What a change leaves as it is. */
static void read_record(const job_record_t *record, struct gs_request *request)
{
	/* Slurm 23.11 and later have no `struct job_details`. */
	const __typeof__(*record->details) *details = record->details;

	if (!details)
		return;
	if (!request->tasks)
		request->tasks = details->num_tasks;
	if (!request->tasks_per_node)
		request->tasks_per_node = details->ntasks_per_node;
	if (!request->nodes)
		request->nodes = details->min_nodes;
	if (!request->sockets && details->mc_ptr && details->mc_ptr->sockets_per_node != NO_VAL16)
		request->sockets = details->mc_ptr->sockets_per_node;
}

/* Does the job have anything to do with gpushare? */
static int concerns(const struct gs_request *request)
{
	for (int i = 0; i < GS_PER_COUNT; i++)
		if (request->tres[i] && strstr(request->tres[i], "gpushare"))
			return 1;
	return request->memory || request->priority || request->period || request->deadline ||
	       request->corun;
}

/* The nodes that are too small are no nodes for this job. */
static void exclude(const char *hosts, char **exc_nodes)
{
	if (*exc_nodes && **exc_nodes)
		xstrfmtcat(*exc_nodes, ",%s", hosts);
	else
		xfree(*exc_nodes), *exc_nodes = xstrdup(hosts);
}

static int rewrite(const struct job *job, uint64_t shares, char **tres_per_node,
		   struct gs_error *err)
{
	struct gs_gres_item item;
	char *text;

	if (gs_gres_find(job->tres[GS_PER_NODE], &item, err) < 0)
		return -1;
	text = gs_gres_rewrite(job->tres[GS_PER_NODE], &item, GS_TRES_GRES, shares);
	if (!text)
		return gs_fail(err, "no memory");
	xfree(*tres_per_node);
	*tres_per_node = xstrdup(text);
	free(text);
	return 0;
}

/*
 * Only root may have more than the partition's priority.  gpushared would lower it without a word,
 * on a node where the user sees none.  With lines for QOS, one that is not named may be worth more.
 */
static void say_lowered(const struct job *job, const struct gs_config *config,
			const struct gs_site *site, char *words, size_t size)
{
	const char *said = option_of(job, "priority");
	size_t at = strlen(words);
	struct gs_error err;
	uint32_t level;

	if (!config || !said || job->uid == 0 || (!job->qos && config->nqos) ||
	    gs_option_priority(said, &level, &err) < 0)
		return;
	for (size_t i = 0; i < site->npartition; i++) {
		const char *name = site->partition[i].name;
		struct gs_config_who who = { name, job->qos ? job->qos : "",
					     gs_partition_tier(name) };
		int32_t most = gs_config_priority(config, &who);

		if (level <= (uint32_t)most)
			continue;
		snprintf(words + at, size - at,
			 "%sgpushare: --gpushare-priority=%" PRIu32
			 " is more than jobs of partition %.64s may have: it gets %" PRId32,
			 at ? "; " : "", level, name, most);
		return;
	}
}

/* Judge the job and change *desc accordingly.  0, with words for the user or ""; -1 with the
 * reason. */
static int judge(const struct job *job, job_desc_msg_t *desc, char *words, size_t size,
		 struct gs_error *err)
{
	struct gs_request request = { 0 };
	const struct gs_config *config;
	char *partitions = NULL, *small = NULL;
	struct gs_verdict verdict;
	struct gs_site site;
	int rc = -1;

	*words = '\0';
	for (int i = 0; i < GS_PER_COUNT; i++)
		request.tres[i] = job->tres[i];
	read_tasks(job->desc, &request);
	if (job->record)
		read_record(job->record, &request);
	if (read_options(job, &request, err) < 0)
		return -1;
	if (!concerns(&request))
		return 0;
	if (gs_site_config(&config, err) < 0)
		return gs_fail(err, "slurmctld cannot read gpushare.conf; its log says why");
	partitions = xstrdup(job->partition);
	gs_site_describe(config, partitions, &site);
	if (gs_request_judge(&request, &site, &verdict, err) < 0)
		goto out;
	if (verdict.rewrite && rewrite(job, verdict.shares, &desc->tres_per_node, err) < 0)
		goto out;
	if (request.memory && (small = gs_site_too_small(config, &site)))
		exclude(small, &desc->exc_nodes);
	if (verdict.raised)
		snprintf(words, size,
			 "gpushare: --gpushare-mem=%s takes %" PRIu64
			 " shares of a GPU: the job has --gres=gpushare:%" PRIu64,
			 option_of(job, "mem"), verdict.shares, verdict.shares);
	say_lowered(job, config, &site, words, size);
	rc = 0;
out:
	xfree(small);
	xfree(partitions);
	return rc;
}

static void tell(char **err_msg, const char *text)
{
	if (err_msg && *text && !*err_msg)
		*err_msg = xstrdup(text);
}

static int refuse(char **err_msg, const struct gs_error *err)
{
	char text[GS_ERROR_TEXT_MAX + 32];

	snprintf(text, sizeof(text), "gpushare: %s", err->text);
	tell(err_msg, text);
	return ESLURM_INVALID_GRES;
}

int job_submit(job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg)
{
	struct job job = {
		.env = desc->spank_job_env,
		.env_size = desc->spank_job_env_size,
		.partition = desc->partition,
		.tres = { desc->tres_per_node, desc->tres_per_job, desc->tres_per_socket,
			  desc->tres_per_task },
		.desc = desc,
		.uid = desc->user_id,
		.qos = desc->qos,
	};
	char words[GS_ERROR_TEXT_MAX];
	struct gs_error err;

	(void)submit_uid;
	if (judge(&job, desc, words, sizeof(words), &err) < 0)
		return refuse(err_msg, &err);
	tell(err_msg, words);
	return SLURM_SUCCESS;
}

/* `scontrol update job`: whoever may give any job more resources may here, too. */
static int modify(job_desc_msg_t *change, job_record_t *record, uint32_t uid, char **err_msg)
{
	char *partition = change->partition ? change->partition : record->partition;
	struct job job = {
		.env = record->spank_job_env, .env_size = record->spank_job_env_size,
		.partition = partition,
		.tres = {
			change->tres_per_node ? change->tres_per_node : record->tres_per_node,
			change->tres_per_job ? change->tres_per_job : record->tres_per_job,
			change->tres_per_socket ? change->tres_per_socket : record->tres_per_socket,
			change->tres_per_task ? change->tres_per_task : record->tres_per_task,
		},
		.desc = change,
		.record = record,
		.uid = record->user_id,
		.qos = change->qos,
	};
	char words[GS_ERROR_TEXT_MAX];
	struct gs_error err;

	if (!change->partition && !change->tres_per_node && !change->tres_per_job &&
	    !change->tres_per_socket && !change->tres_per_task &&
	    !(record->tres_per_task && changes_tasks(change)))
		return SLURM_SUCCESS;
	if (uid == 0 || uid == slurm_conf.slurm_user_id)
		return SLURM_SUCCESS;
	if (judge(&job, change, words, sizeof(words), &err) < 0) {
		info("gpushare: change of JobId=%u refused: %s", record->job_id, err.text);
		return refuse(err_msg, &err);
	}
	tell(err_msg, words);
	return SLURM_SUCCESS;
}

#ifdef GS_JOB_MODIFY_TEXT
int job_modify(job_desc_msg_t *change, job_record_t *job, uint32_t submit_uid, char **err_msg)
{
	return modify(change, job, submit_uid, err_msg);
}
#else
int job_modify(job_desc_msg_t *change, job_record_t *job, uint32_t submit_uid)
{
	return modify(change, job, submit_uid, NULL);
}
#endif
