/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether the installed Slurm plugins fit this daemon; see installation.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/installation.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "config.h"
#include "gpushare/install/slurm_conf.h"

static void inspect(char *path, uint32_t installed)
{
	struct gs_error err;

	if (path && gs_plugin_fits(path, installed, PACKAGE_VERSION, &err) < 0)
		gs_log(GS_LOG_ERROR, "%s: see gpusharectl check", err.text);
	free(path);
}

size_t gs_installation_partitions(const struct gs_config *config, const char *config_path,
				  void (*say)(const char *text))
{
	const char *path = gs_slurm_conf_path(config->slurm_conf);
	struct gs_slurm_conf *slurm = gs_slurm_conf_load(path, NULL);
	size_t unknown = 0;
	char text[512];

	for (size_t i = 0; slurm && i < config->npartition; i++) {
		const char *name = config->partition[i].name;

		if (gs_slurm_conf_has_partition(slurm, name))
			continue;
		unknown++;
		snprintf(text, sizeof(text),
			 "%s has Partition=%s, and %s no such partition: the line holds for nobody",
			 config_path, name, path);
		say(text);
	}
	gs_slurm_conf_free(slurm);
	return unknown;
}

void gs_installation_check(const struct gs_config *config)
{
	static const char *const plugins[] = {
		"gres_gpushare.so",
		"prep_gpushare.so",
		"job_submit_gpushare.so",
		"task_gpushare.so",
	};
	const char *path = gs_slurm_conf_path(config->slurm_conf);
	struct gs_slurm_conf *slurm;
	struct gs_error err;
	uint32_t installed = 0;

	slurm = gs_slurm_conf_load(path, &err);
	if (!slurm) {
		gs_log(GS_LOG_DEBUG, "Slurm's plugins are not checked: %s", err.text);
		return;
	}
	gs_slurm_installed(slurm, &installed);
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
		inspect(gs_slurm_plugin_path(slurm, plugins[i]), installed);
	inspect(gs_spank_plugin_path(slurm, path), installed);
	gs_slurm_conf_free(slurm);
}
