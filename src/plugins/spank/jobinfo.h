/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job as slurmctld has it: the only word on who it is and what it holds. */
#ifndef GPUSHARE_PLUGINS_SPANK_JOBINFO_H
#define GPUSHARE_PLUGINS_SPANK_JOBINFO_H

#include <stdint.h>

#include "common/error.h"

struct gs_jobinfo {
	uint32_t uid;
	uint32_t shares; /* of gpushare on the node where it has most; 0: none */
	char partition[64];
	char qos[64];     /* "": none, as without slurmdbd */
	char account[64]; /* the same */
	uint32_t tier;    /* the partition's PriorityTier plus 1; 0: not known */
};

enum gs_jobinfo_answer {
	GS_JOBINFO_YES,
	GS_JOBINFO_NO,   /* slurmctld says no */
	GS_JOBINFO_AWAY, /* it has not answered */
};

/*
 * Ask slurmctld about the job, again and again for up to so long while it does
 * not answer.  With the reason if there is no answer to use.
 */
enum gs_jobinfo_answer gs_jobinfo_load(uint32_t job_id, uint32_t wait_ms, struct gs_jobinfo *info,
				       struct gs_error *err);

/*
 * 1: the step was asked for with --gres=gpushare and no number, which Slurm takes for one share. 0:
 * with a number, or slurmctld does not tell.
 */
int gs_jobinfo_step_is_bare(uint32_t job_id, uint32_t step_id);

/* Wait for up to so long until slurmctld answers about the job, whatever it says.  0, or -1 with
 * the reason. */
int gs_jobinfo_wait(uint32_t job_id, uint32_t wait_ms, struct gs_error *err);

/*
 * Have the job requeued, once slurmctld answers, if it was started for the
 * `restarts`th time and not again since.  0, or -1 with the reason.
 */
int gs_jobinfo_requeue(uint32_t job_id, uint32_t restarts, uint32_t wait_ms, struct gs_error *err);

#endif
