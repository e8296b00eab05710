/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of libslurm whose form differs between Slurm's releases, for programs and plugins that
 * have only the installed slurm/slurm.h.  Since 26.05 a job is named by a slurm_step_id_t, since
 * 25.11 a step.  Results and errno are libslurm's own.
 */
#ifndef GPUSHARE_COMMON_LIBSLURM_H
#define GPUSHARE_COMMON_LIBSLURM_H

#include <slurm/slurm.h>
#include <stdint.h>

#ifdef SLURM_STEP_ID_INITIALIZER
static inline slurm_step_id_t gs_libslurm_step_id(uint32_t job_id, uint32_t step_id)
{
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	id.step_id = step_id;
	return id;
}
#endif

/* SLURM_SUCCESS: *reply is the caller's, for slurm_free_job_info_msg(). */
static inline int gs_libslurm_load_job(job_info_msg_t **reply, uint32_t job_id, uint16_t show)
{
#ifdef slurm_load_job_sluid
	return slurm_load_job(reply, gs_libslurm_step_id(job_id, NO_VAL), show);
#else
	return slurm_load_job(reply, job_id, show);
#endif
}

/* SLURM_SUCCESS: *reply is the caller's, for slurm_free_job_step_info_response_msg(). */
static inline int gs_libslurm_load_step(job_step_info_response_msg_t **reply, uint32_t job_id,
					uint32_t step_id, uint16_t show)
{
#ifdef SLURM_STEP_ID_INITIALIZER
	slurm_step_id_t id = gs_libslurm_step_id(job_id, step_id);

	return slurm_get_job_steps(&id, reply, show);
#else
	return slurm_get_job_steps(0, job_id, step_id, reply, show);
#endif
}

static inline int gs_libslurm_requeue(uint32_t job_id, uint32_t flags)
{
#ifdef slurm_load_job_sluid
	return slurm_requeue(gs_libslurm_step_id(job_id, NO_VAL), flags);
#else
	return slurm_requeue(job_id, flags);
#endif
}

/* Frees what slurm_load_ctl_conf() gave. */
static inline void gs_libslurm_free_conf(slurm_conf_t *conf)
{
#ifdef slurm_load_job_sluid
	slurm_free_conf(conf);
#else
	slurm_free_ctl_conf(conf);
#endif
}

#endif
