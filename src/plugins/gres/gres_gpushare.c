/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres/gpushare: shares of a node's GPUs.
 *
 * slurmctld counts them GPU by GPU (records.c says how it is brought to do
 * so); a node without gres/gpu has one GPU, whose shares are counted like any
 * generic resource.  This plugin also tells jobs, steps, prologs and epilogs
 * how many shares of which GPU they have.  It is loaded by slurmctld, slurmd
 * and slurmstepd.
 */
#define _GNU_SOURCE
#include "plugins/gs_slurm_compat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugins/gres/context.h"
#include "plugins/gres/devices.h"
#include "plugins/gres/records.h"

#define ENV_SHARES "GPUSHARE_SHARES"
#define ENV_GPU "GPUSHARE_GPU"
#define ENV_CUDA "CUDA_VISIBLE_DEVICES"
#define ONLY_GPU "0"
#define GPU_LIST_MAX 256

const char plugin_name[] = "Preemptively shared GPUs";
const char plugin_type[] = "gres/" GS_GRES_NAME;
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
const char plugin_gpushare_version[] = GS_VERSION;

static int has_file(void *x, void *arg)
{
	const gres_slurmd_conf_t *record = x;

	(void)arg;
	if (!record->name || strcmp(record->name, GS_GRES_NAME) != 0 || !record->file)
		return 0;
	error("gpushare: gres.conf: File=%s: gpushare has the GPUs of gres/gpu; name the files there",
	      record->file);
	return -1;
}

int gres_p_node_config_load(gs_list conf_list, node_config_load_t *node)
{
	int rc;

	if (list_for_each (conf_list, has_file, NULL) < 0)
		return SLURM_ERROR;
	rc = gs_records_divide(conf_list, node);
	if (node->in_slurmd)
		gs_devices_load(conf_list);
	return rc;
}

/* "1", or "0,1" for shares of two GPUs; their numbers within the job where it sees its own only. */
static void list_gpus(const bitstr_t *bits, int within, char *text, size_t size)
{
	size_t used = 0;
	int64_t n = 0;

	text[0] = '\0';
	for (int64_t i = 0; i < bit_size((bitstr_t *)bits) && used + 24 < size; i++)
		if (bit_test((bitstr_t *)bits, i)) {
			used += (size_t)snprintf(text + used, size - used, "%s%" PRId64,
						 used ? "," : "", within ? n : i);
			n++;
		}
}

/*
 * What the user had put there goes: the step's shares are read from here by
 * the SPANK plugin, and a job without any must not look like one with.
 */
static void set_env(char ***env, bitstr_t *bits, uint64_t count, gres_internal_flags_t flags)
{
	char text[GPU_LIST_MAX];

	if (!count) {
		unsetenvp(*env, ENV_SHARES);
		unsetenvp(*env, ENV_GPU);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64, count);
	env_array_overwrite(env, ENV_SHARES, text);
	if (!bits || bit_ffs(bits) < 0) {
		env_array_overwrite(env, ENV_GPU, ONLY_GPU);
		env_array_overwrite(env, ENV_CUDA, ONLY_GPU);
		return;
	}
	list_gpus(bits, 0, text, sizeof(text));
	env_array_overwrite(env, ENV_GPU, text);
	if (flags & GRES_INTERNAL_FLAG_PROTECT_ENV)
		return; /* whole GPUs besides: gres/gpu has set it */
	list_gpus(bits, gres_use_local_device_index(), text, sizeof(text));
	env_array_overwrite(env, ENV_CUDA, text);
}

void gres_p_job_set_env(char ***env, bitstr_t *bits, uint64_t count, gres_internal_flags_t flags)
{
	set_env(env, bits, count, flags);
}

void gres_p_step_set_env(char ***env, bitstr_t *bits, uint64_t count, gres_internal_flags_t flags)
{
	set_env(env, bits, count, flags);
}

/*
 * A task has what its step has: shares are not divided between tasks.  Where
 * Slurm binds GPUs to tasks it does not call this for a shared gres, and gres/gpu
 * has taken CUDA_VISIBLE_DEVICES away by then: the SPANK plugin, which
 * comes later, sets it again as the step has it, be that an index or a UUID.
 */
void gres_p_task_set_env(char ***env, bitstr_t *bits, uint64_t count, bitstr_t *usable,
			 gres_internal_flags_t flags)
{
	(void)env;
	(void)bits;
	(void)count;
	(void)usable;
	(void)flags;
}

void gres_p_send_stepd(buf_t *buffer)
{
	if (gs_devices() && !gs_context_share(buffer))
		debug("gpushare: slurmstepd will not know that shares are shared");
	gs_devices_send(buffer);
}

void gres_p_recv_stepd(buf_t *buffer)
{
	gs_devices_receive(buffer);
}

gs_list gres_p_get_devices(void)
{
	return gs_devices();
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
		prep->gres_cnt_node_alloc[node], GRES_INTERNAL_FLAG_NONE);
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
