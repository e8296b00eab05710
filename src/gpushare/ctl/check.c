/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl check: is gpushare installed as it must be on this machine?  See check.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/findings.h"

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_check c = { .config_path = getenv("GPUSHARE_CONF") };
	const char *slurm_conf = NULL;
	int json = 0, status;
	const struct gs_option options[] = {
		{ "config", 'c', .text = &c.config_path },
		{ "slurm-conf", .text = &slurm_conf },
		{ "json", .given = &json },
		{ NULL },
	};

	status = gs_ctl_options(verb, options, argc, argv);
	if (status >= 0)
		return status;
	/* The default is no choice of the user's: the configuration knows better. */
	c.socket = strcmp(socket, GS_SOCKET) == 0 ? NULL : socket;
	if (!c.config_path || !*c.config_path)
		c.config_path = GS_CONFIG_FILE;
	gs_check_node(&c);
	c.slurm_conf_given = slurm_conf || getenv("SLURM_CONF");
	c.slurm_conf_path = gs_slurm_conf_path(slurm_conf ? slurm_conf :
					       c.config   ? c.config->slurm_conf :
							    NULL);
	gs_check_slurm(&c);
	gs_check_plugins(&c);
	gs_check_services(&c);
	status = gs_check_count(&c, GS_WRONG) > 0;
	if (json)
		gs_check_print_json(&c);
	else
		gs_check_print(&c);
	gs_check_release(&c);
	if (fflush(stdout) != 0 || ferror(stdout))
		return gs_ctl_fail("cannot write");
	return status;
}

const struct gs_verb gs_verb_check = {
	.name = "check",
	.usage = "[--config FILE] [--slurm-conf FILE] [--json]",
	.words = "Check the whole installation and say what to fix",
	.help = "  -c, --config FILE      gpushare.conf (default: $GPUSHARE_CONF,\n"
		"                         or " GS_CONFIG_FILE ")\n"
		"      --slurm-conf FILE  slurm.conf (default: SlurmConf of gpushare.conf,\n"
		"                         $SLURM_CONF, or where Slurm has it)\n"
		"      --json             print JSON\n"
		"\nThe exit status is 1 if something is wrong.  Some checks need root.\n",
	.run = run,
};
