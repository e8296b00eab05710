/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_submit/gpushare: refuses in slurmctld what sbatch cannot see through.
 *
 * sbatch shows a SPANK plugin its own options only; whether the job asks for
 * gpushare at all is known where the whole request is.  The options arrive
 * there as _SLURM_SPANK_OPTION_gpushare_<option>=<value>.
 */
#define _GNU_SOURCE
#include "plugins/gs_slurm_compat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/config/config.h"
#include "plugins/spank/values.h"

#define OPTION_PREFIX "_SLURM_SPANK_OPTION_gpushare_gpushare_"

const char plugin_name[] = "gpushare requests";
const char plugin_type[] = "job_submit/gpushare";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* The value of --gpushare-<option> as submitted; NULL: not given. */
static const char *option_of(const job_desc_msg_t *job, const char *option)
{
	size_t prefix = strlen(OPTION_PREFIX), length = strlen(option);

	for (uint32_t i = 0; i < job->spank_job_env_size; i++) {
		const char *entry = job->spank_job_env[i];

		if (strncmp(entry, OPTION_PREFIX, prefix) == 0 &&
		    strncmp(entry + prefix, option, length) == 0 &&
		    entry[prefix + length] == '=')
			return entry + prefix + length + 1;
	}
	return NULL;
}

static uint64_t shares_of(const job_desc_msg_t *job)
{
	return gs_gres_count(job->tres_per_job, "gpushare") +
	       gs_gres_count(job->tres_per_node, "gpushare") +
	       gs_gres_count(job->tres_per_socket, "gpushare") +
	       gs_gres_count(job->tres_per_task, "gpushare");
}

/*
 * More memory than the shares stand for would be counted by nobody but the
 * node's daemon: Slurm would admit jobs that the daemon must then refuse.  What
 * a share stands for is in gpushare.conf, if there is one beside slurm.conf.
 * Returns 0 or -1 with the reason.
 */
static int memory_fits(uint64_t shares, uint64_t bytes, struct gs_error *err)
{
	char *path = get_extra_conf_path("gpushare.conf");
	struct gs_config *config = NULL;
	uint64_t needed = UINT64_MAX, whole = 0;
	struct gs_error why;

	if (access(path, R_OK) == 0 && !(config = gs_config_load(path, &why)))
		error("gpushare: %s", why.text);
	for (size_t i = 0; config && i < config->ngpu; i++) {
		const struct gs_config_gpu *gpu = &config->gpu[i];
		__uint128_t scaled = (__uint128_t)bytes * gpu->shares + gpu->memory - 1;
		uint64_t n = (uint64_t)(scaled / gpu->memory);

		if (n < needed) {
			needed = n;
			whole = gpu->shares;
		}
	}
	gs_config_free(config);
	xfree(path);
	if (needed == UINT64_MAX || needed <= shares)
		return 0;
	if (needed > whole)
		return gs_fail(err, "--gpushare-mem is more than a whole GPU has");
	return gs_fail(err, "--gpushare-mem is more memory than %" PRIu64 " shares stand for; "
		       "ask for --gres=gpushare:%" PRIu64, shares, needed);
}

static int refuse(char **err_msg, const char *reason)
{
	char text[GS_ERROR_TEXT_MAX + 32];

	if (err_msg) {
		snprintf(text, sizeof(text), "gpushare: %s", reason);
		*err_msg = xstrdup(text);
	}
	return ESLURM_INVALID_GRES;
}

int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **err_msg)
{
	const char *memory = option_of(job, "mem");
	const char *priority = option_of(job, "priority");
	struct gs_error err;
	uint64_t bytes;
	uint32_t level;

	(void)submit_uid;
	if (!memory && !priority)
		return SLURM_SUCCESS;
	if (!shares_of(job)) {
		gs_fail(&err, "--gpushare-%s without --gres=gpushare:N", memory ? "mem" : "priority");
		return refuse(err_msg, err.text);
	}
	if (memory && (gs_option_memory(memory, &bytes, &err) < 0 ||
		       memory_fits(shares_of(job), bytes, &err) < 0))
		return refuse(err_msg, err.text);
	if (priority && gs_option_priority(priority, &level, &err) < 0)
		return refuse(err_msg, err.text);
	return SLURM_SUCCESS;
}

int job_modify(job_desc_msg_t *change, struct job_record *job, uint32_t submit_uid)
{
	(void)change;
	(void)job;
	(void)submit_uid;
	return SLURM_SUCCESS;
}
