/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres/gpushare: shares of a node's GPU, counted by Slurm like any generic
 * resource ("Gres=gpushare:100" in slurm.conf is one GPU in hundredths).
 *
 * Slurm does the counting; this plugin checks the node's configuration and
 * tells jobs, steps, prologs and epilogs how many shares of which GPU they
 * have.  It is loaded by slurmctld, slurmd and slurmstepd.
 */
#define _GNU_SOURCE
#include "plugins/gs_slurm_compat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME "gpushare"
#define ENV_SHARES "GPUSHARE_SHARES"
#define ENV_GPU "GPUSHARE_GPU"
#define ONLY_GPU 0

const char plugin_name[] = "Preemptively shared GPUs";
const char plugin_type[] = "gres/" NAME;
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static int check_record(void *x, void *arg)
{
	const gres_slurmd_conf_t *record = x;
	int *rc = arg;

	if (!record->name || strcmp(record->name, NAME) != 0)
		return 0;
	if (record->file) {
		error("gpushare: gres.conf: File=%s: gpushare is counted, not handed out as a device; "
		      "name the device in gpushare.conf", record->file);
		*rc = SLURM_ERROR;
	}
	return 0;
}

int gres_p_node_config_load(gs_list conf_list, node_config_load_t *node)
{
	int rc = SLURM_SUCCESS;

	(void)node;
	list_for_each(conf_list, check_record, &rc);
	return rc;
}

/*
 * What the user had put there goes: the step's shares are read from here by
 * the SPANK plugin, and a job without any must not look like one with.
 */
static void set_env(char ***env, bitstr_t *bits, uint64_t count)
{
	int64_t gpu = bits ? bit_ffs(bits) : ONLY_GPU;
	char text[24];

	if (!count) {
		unsetenvp(*env, ENV_SHARES);
		unsetenvp(*env, ENV_GPU);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64, count);
	env_array_overwrite(env, ENV_SHARES, text);
	snprintf(text, sizeof(text), "%" PRId64, gpu < 0 ? ONLY_GPU : gpu);
	env_array_overwrite(env, ENV_GPU, text);
}

void gres_p_job_set_env(char ***env, bitstr_t *bits, uint64_t count, gres_internal_flags_t flags)
{
	(void)flags;
	set_env(env, bits, count);
}

void gres_p_step_set_env(char ***env, bitstr_t *bits, uint64_t count, gres_internal_flags_t flags)
{
	(void)flags;
	set_env(env, bits, count);
}

/* A task has what its step has: shares are not divided between tasks. */
void gres_p_task_set_env(char ***env, bitstr_t *bits, uint64_t count, bitstr_t *usable,
			 gres_internal_flags_t flags)
{
	(void)env;
	(void)bits;
	(void)count;
	(void)usable;
	(void)flags;
}

/* slurmd has nothing to tell slurmstepd that the job's credential does not say. */
void gres_p_send_stepd(buf_t *buffer)
{
	(void)buffer;
}

void gres_p_recv_stepd(buf_t *buffer)
{
	(void)buffer;
}

/* No device files: cgroups neither grant nor deny any on gpushare's account. */
gs_list gres_p_get_devices(void)
{
	return NULL;
}

void gres_p_step_hardware_init(bitstr_t *usable, char *settings)
{
	(void)usable;
	(void)settings;
}

void gres_p_step_hardware_fini(void)
{
}

/* In slurmctld: what the prolog and the epilog of each of the job's nodes will see. */
gs_gres_prep *gs_gres_p_prep_build_env(gres_job_state_t *job)
{
	gs_gres_prep *prep;

	if (!job->node_cnt || !job->gres_cnt_node_alloc)
		return NULL;
	prep = xmalloc(sizeof(*prep));
	prep->node_cnt = job->node_cnt;
	prep->gres_cnt_node_alloc = xcalloc(prep->node_cnt, sizeof(uint64_t));
	memcpy(prep->gres_cnt_node_alloc, job->gres_cnt_node_alloc,
	       prep->node_cnt * sizeof(uint64_t));
	if (!job->gres_bit_alloc)
		return prep;
	prep->gres_bit_alloc = xcalloc(prep->node_cnt, sizeof(bitstr_t *));
	for (uint32_t i = 0; i < prep->node_cnt; i++)
		if (job->gres_bit_alloc[i])
			prep->gres_bit_alloc[i] = bit_copy(job->gres_bit_alloc[i]);
	return prep;
}

void gs_gres_p_prep_set_env(char ***env, gs_gres_prep *prep, int node)
{
	if (node < 0 || (uint32_t)node >= prep->node_cnt || !prep->gres_cnt_node_alloc)
		return;
	if (!prep->gres_cnt_node_alloc[node])
		return;
	set_env(env, prep->gres_bit_alloc ? prep->gres_bit_alloc[node] : NULL,
		prep->gres_cnt_node_alloc[node]);
}

#ifdef GS_GRES_JOB_INFO
int gres_p_get_job_info(gres_job_state_t *job, uint32_t node, enum gres_job_data_type type,
			void *data)
{
	(void)job;
	(void)node;
	(void)type;
	(void)data;
	return EINVAL;
}

int gres_p_get_step_info(gres_step_state_t *step, uint32_t node, enum gres_step_data_type type,
			 void *data)
{
	(void)step;
	(void)node;
	(void)type;
	(void)data;
	return EINVAL;
}
#endif
