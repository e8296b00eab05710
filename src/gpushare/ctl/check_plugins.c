/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugins' files, and whether slurmd takes them; see findings.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

static void check_file(struct gs_check *c, const char *path, uint32_t installed)
{
	struct gs_error err;

	if (gs_plugin_fits(path, installed, PACKAGE_VERSION, &err) < 0)
		gs_check_add(c, GS_WRONG, "plugins",
			     "install the plugins of this gpushare, built for the installed Slurm",
			     "%s", err.text);
	else
		gs_check_add(c, GS_GOOD, "plugins", NULL, "%s", path);
}

/* Named in `key` of slurm.conf?  Then its file must be there and fit. */
static void check_one(struct gs_check *c, const char *file, const char *key, const char *word,
		      uint32_t installed)
{
	char *list = gs_slurm_conf_value(c->slurm, key);
	char prefixed[64], *path;

	snprintf(prefixed, sizeof(prefixed), "%s/gpushare", word);
	if (!gs_word_in_list(list, "gpushare") && !gs_word_in_list(list, prefixed)) {
		free(list);
		return;
	}
	path = gs_slurm_plugin_path(c->slurm, file);
	if (!path)
		gs_check_add(
			c, GS_WRONG, "plugins",
			"install gpushare's Slurm plugins, and put their folder into PluginDir",
			"%s is in no folder of PluginDir, and %s names it", file, key);
	else
		check_file(c, path, installed);
	free(path);
	free(list);
}

/* The SPANK plugin is named by plugstack.conf, with its path or without; check_slurm.c says if it
 * is not. */
static void check_spank(struct gs_check *c, uint32_t installed)
{
	char *path = gs_spank_plugin_path(c->slurm, c->slurm_conf_path);

	if (!path)
		gs_check_add(
			c, GS_WRONG, "plugins", "name it with its path in plugstack.conf",
			"spank_gpushare.so is neither named there nor in a folder of PluginDir");
	else
		check_file(c, path, installed);
	free(path);
}

/*
 * slurmd -G reads the configuration as slurmd would, plugins and all, and starts
 * nothing.  It names a plugin that it refuses; one that is not there it does not
 * miss, and counts without it: hence the checks above.
 */
static void check_load(struct gs_check *c)
{
	char *argv[] = { "slurmd", "-G", "-f", (char *)(uintptr_t)c->slurm_conf_path,
			 NULL,     NULL, NULL };
	char out[16384], *at;

	if (c->config && *c->config->node_name) {
		argv[4] = "-N";
		argv[5] = c->config->node_name;
	}
	if (geteuid() != 0) {
		gs_check_add(c, GS_UNCHECKED, "loading", NULL,
			     "whether slurmd loads the gres plugin: only root can see");
		return;
	}
	if (gs_check_run(argv, out, sizeof(out)) < 0) {
		gs_check_add(c, GS_UNCHECKED, "loading", NULL, "slurmd -G does not run here");
		return;
	}
	at = strcasestr(out, "incompatible slurm plugin");
	if (!at)
		at = strstr(out, "cannot find gres plugin");
	if (!at)
		at = strstr(out, "fatal:");
	if (at)
		gs_check_add(c, GS_WRONG, "loading", "see the plugins above, and slurmd's log",
			     "slurmd -G: %.*s", (int)strcspn(at, "\n"), at);
	else if (!strstr(out, "gpushare"))
		gs_check_add(c, GS_WRONG, "loading", "see slurm.conf above",
			     "slurmd -G lists no gpushare on this node");
	else
		gs_check_add(c, GS_GOOD, "loading", NULL,
			     "slurmd -G has no complaint and lists gpushare");
}

void gs_check_plugins(struct gs_check *c)
{
	uint32_t installed = 0;
	char text[24];

	if (!c->slurm)
		return;
	if (gs_slurm_installed(c->slurm, &installed) < 0)
		gs_check_add(
			c, GS_DOUBT, "slurm", "install Slurm, or correct PluginDir in slurm.conf",
			"Slurm's own plugins are in no folder of PluginDir: its version is not known");
	else
		gs_check_add(c, GS_GOOD, "slurm", NULL, "Slurm %s is installed",
			     gs_slurm_version_text(installed, text, sizeof(text)));
	check_one(c, "gres_gpushare.so", "GresTypes", "gres", installed);
	check_one(c, "job_submit_gpushare.so", "JobSubmitPlugins", "job_submit", installed);
	check_one(c, "prep_gpushare.so", "PrEpPlugins", "prep", installed);
	check_one(c, "task_gpushare.so", "TaskPlugin", "task", installed);
	check_spank(c, installed);
	if (c->config && c->config->ngpu)
		check_load(c);
}
