/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that gpushare adds to sbatch, salloc and srun. */
#ifndef GPUSHARE_PLUGINS_SPANK_OPTIONS_H
#define GPUSHARE_PLUGINS_SPANK_OPTIONS_H

#include <slurm/spank.h>
#include <stdint.h>

struct gs_spank_options {
	int memory_set;
	uint64_t memory; /* bytes */
	int priority_set;
	uint32_t priority;
	uint64_t period_ns, deadline_ns; /* 0: not given */
	int corun_set, no_corun;
};

/* Called in every context from slurm_spank_init; 0 or -1. */
int gs_options_register(spank_t spank);

/* What was given so far, by this process's command line or by the job's submission. */
const struct gs_spank_options *gs_options(void);

/* The first option that was given, without --gpushare-: "mem". NULL: none was. */
const char *gs_options_any(void);

#endif
