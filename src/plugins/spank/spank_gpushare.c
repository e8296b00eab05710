/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SPANK plugin: Slurm's callbacks, handed to the file whose matter they
 * are.  The options exist in every context, the rest in slurmstepd only.
 */
#define _GNU_SOURCE
#include <slurm/spank.h>

#include "plugins/spank/options.h"
#include "plugins/spank/stepd.h"
#include "config.h"
#include "plugins/values.h"

#pragma GCC visibility push(default)
SPANK_PLUGIN(gpushare, 1);
/* What gpushared and gpusharectl look up: the gpushare that it belongs to. */
extern const char plugin_gpushare_version[];
const char plugin_gpushare_version[] = PACKAGE_VERSION;
spank_f slurm_spank_init;
spank_f slurm_spank_init_post_opt;
spank_f slurm_spank_user_init;
spank_f slurm_spank_task_init_privileged;
spank_f slurm_spank_task_init;
spank_f slurm_spank_task_exit;
spank_f slurm_spank_exit;
spank_f slurm_spank_job_epilog;
#pragma GCC visibility pop

static struct gs_spank_args args;

static int in_stepd(spank_t spank)
{
	return spank_remote(spank) == 1;
}

/*
 * Negative, because sbatch of Slurm before 25.05 looks for that and lets a positive SPANK error
 * pass. On a node it would cost the node on account of a typing error: slurmd would not start, and
 * slurmstepd would drain it.  There the steps with shares fail, and say why.
 */
int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	struct gs_error err;

	if (gs_spank_args_parse(argc, argv, &args, &err) < 0) {
		slurm_error("gpushare: %s", err.text);
		if (in_stepd(spank))
			gs_stepd_misconfigured(&err);
		else if (spank_context() != S_CTX_SLURMD)
			return -1;
	}
	if (spank_context() == S_CTX_SLURMD)
		return 0;
	return gs_options_register(spank);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	if (in_stepd(spank))
		gs_stepd_begin(spank, &args);
	return ESPANK_SUCCESS;
}

int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
	(void)spank;
	(void)argc;
	(void)argv;
	gs_stepd_tell();
	return ESPANK_SUCCESS;
}

int slurm_spank_task_init_privileged(spank_t spank, int argc, char *argv[])
{
	(void)spank;
	(void)argc;
	(void)argv;
	gs_stepd_task();
	return ESPANK_SUCCESS;
}

int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	gs_stepd_task_env(spank);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	gs_stepd_task_exit(spank, &args);
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t spank, int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	if (in_stepd(spank)) {
		gs_stepd_end(&args);
		gs_stepd_report_late(&args);
		gs_stepd_requeue();
	}
	return ESPANK_SUCCESS;
}

/* Slurm calls no slurm_spank_init before it.  A non-zero status would drain the node. */
int slurm_spank_job_epilog(spank_t spank, int argc, char *argv[])
{
	struct gs_error err;

	if (gs_spank_args_parse(argc, argv, &args, &err) < 0)
		slurm_error("gpushare: %s", err.text);
	gs_stepd_job_over(spank, &args);
	return ESPANK_SUCCESS;
}
