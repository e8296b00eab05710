/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prep/gpushare: Slurm loads it before it reads its state, which is what it
 * is for (primer.h), and calls it in slurmctld right after a job's resources
 * were given back, before anything else can be scheduled (sharers.h).
 */
#define _GNU_SOURCE
#include "plugins/gs_slurm_compat.h"

#include "plugins/prep/primer.h"
#include "plugins/prep/sharers.h"

const char plugin_name[] = "gpushare primer";
const char plugin_type[] = "prep/gpushare";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
const char plugin_gpushare_version[] = GS_VERSION;

int init(void)
{
	return running_in_slurmctld() ? gs_primer() : SLURM_SUCCESS;
}

void prep_p_register_callbacks(prep_callbacks_t *callbacks)
{
	(void)callbacks;
}

int prep_p_prolog(job_env_t *job_env, slurm_cred_t *cred)
{
	(void)job_env;
	(void)cred;
	return SLURM_SUCCESS;
}

int prep_p_epilog(job_env_t *job_env, slurm_cred_t *cred)
{
	(void)job_env;
	(void)cred;
	return SLURM_SUCCESS;
}

int prep_p_prolog_slurmctld(job_record_t *job, bool *async)
{
	(void)job;
	*async = false;
	return SLURM_SUCCESS;
}

int prep_p_epilog_slurmctld(job_record_t *job, bool *async)
{
	gs_sharers_label(job);
	*async = false;
	return SLURM_SUCCESS;
}

void prep_p_required(prep_call_type_t type, bool *required)
{
	(void)type;
	*required = false;
}
