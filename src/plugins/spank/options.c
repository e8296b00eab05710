/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --gpushare-mem and --gpushare-priority: registered so that --help lists
 * them, checked when they are given (sbatch then refuses the submission), and
 * read again by slurmstepd from what the submission passed on.
 */
#define _GNU_SOURCE
#include "plugins/spank/options.h"

#include "plugins/values.h"

enum { OPTION_MEM, OPTION_PRIORITY };

static struct gs_spank_options given;

static int option(int val, const char *text, int remote)
{
	struct gs_error err;
	int rc;

	(void)remote;
	if (val == OPTION_MEM)
		rc = gs_option_memory(text, &given.memory, &err);
	else
		rc = gs_option_priority(text, &given.priority, &err);
	if (rc < 0) {
		slurm_error("--gpushare-%s: %s", val == OPTION_MEM ? "mem" : "priority", err.text);
		return ESPANK_BAD_ARG;
	}
	if (val == OPTION_MEM)
		given.memory_set = 1;
	else
		given.priority_set = 1;
	return ESPANK_SUCCESS;
}

static struct spank_option options[] = {
	{ "gpushare-mem", "SIZE",
	  "device memory that the job may hold, as in 8G; auto: what earlier "
	  "runs of the program took; without it, the part that "
	  "its shares are of the GPU (needs --gres=gpushare)",
	  1, OPTION_MEM, option },
	{ "gpushare-priority", "N",
	  "priority on the shared GPU, 0 to 1000; only root may have more than the "
	  "partition's "
	  "(needs --gres=gpushare)",
	  1, OPTION_PRIORITY, option },
};

int gs_options_register(spank_t spank)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		spank_err_t rc = spank_option_register(spank, &options[i]);

		if (rc != ESPANK_SUCCESS) {
			slurm_error("gpushare: --%s: %s", options[i].name, spank_strerror(rc));
			return -1;
		}
	}
	return 0;
}

const struct gs_spank_options *gs_options(void)
{
	return &given;
}
