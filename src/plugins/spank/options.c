/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --gpushare-mem, --gpushare-priority and so on: registered so that --help lists
 * them, checked when they are given (sbatch then refuses the submission), and
 * read again by slurmstepd from what the submission passed on.
 */
#define _GNU_SOURCE
#include "plugins/spank/options.h"

#include "plugins/values.h"

enum { OPTION_MEM, OPTION_PRIORITY, OPTION_PERIOD, OPTION_DEADLINE, OPTION_CORUN };

static const char *const names[] = { "mem", "priority", "period", "deadline", "corun" };

static struct gs_spank_options given;

static int read_option(int which, const char *text, struct gs_error *err)
{
	switch (which) {
	case OPTION_MEM:
		given.memory_set = 1;
		return gs_option_memory(text, &given.memory, err);
	case OPTION_PRIORITY:
		given.priority_set = 1;
		return gs_option_priority(text, &given.priority, err);
	case OPTION_PERIOD:
		return gs_option_period(text, &given.period_ns, err);
	case OPTION_DEADLINE:
		return gs_option_period(text, &given.deadline_ns, err);
	default:
		given.corun_set = 1;
		return gs_option_corun(text, &given.no_corun, err);
	}
}

static int option(int val, const char *text, int remote)
{
	struct gs_error err;

	(void)remote;
	if (read_option(val, text, &err) == 0)
		return ESPANK_SUCCESS;
	slurm_error("--gpushare-%s: %s", names[val], err.text);
	return ESPANK_BAD_ARG;
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
	{ "gpushare-period", "TIME",
	  "the job's work on the GPU begins so often, as in 20ms (needs --gres=gpushare)", 1,
	  OPTION_PERIOD, option },
	{ "gpushare-deadline", "TIME",
	  "that work is to have ended so long after it began, which the policy edf goes by; "
	  "without it, the period (needs --gres=gpushare)",
	  1, OPTION_DEADLINE, option },
	{ "gpushare-corun", "yes|no",
	  "no: the job takes turns with others of its urgency, also where the node would let "
	  "them run beside each other; yes, the default: as the node does "
	  "(needs --gres=gpushare)",
	  1, OPTION_CORUN, option },
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

const char *gs_options_any(void)
{
	return given.memory_set   ? names[OPTION_MEM] :
	       given.priority_set ? names[OPTION_PRIORITY] :
	       given.period_ns    ? names[OPTION_PERIOD] :
	       given.deadline_ns  ? names[OPTION_DEADLINE] :
	       given.corun_set    ? names[OPTION_CORUN] :
				    NULL;
}
