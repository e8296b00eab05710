/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's plugins and ours: where they are, whether they fit; see slurm_conf.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/install/slurm_conf.h"

/* SPANK plugins are held to the release only, others to the exact version (plugin.c of Slurm). */
#define RELEASE_MASK UINT32_C(0xffff00)

/* Where the packages of Debian, of RPM systems and a plain `make install` put them. */
static const char usual_places[] =
	"/usr/lib/x86_64-linux-gnu/slurm-wlm:/usr/lib/x86_64-linux-gnu/slurm:/usr/lib64/slurm:"
	"/usr/lib/slurm:/usr/local/lib/slurm";

static char *search_in(const char *folders, const char *name)
{
	while (*folders) {
		size_t n = strcspn(folders, ":");
		char *path;

		if (asprintf(&path, "%.*s/%s", (int)n, folders, name) < 0)
			return NULL;
		if (n && access(path, F_OK) == 0)
			return path;
		free(path);
		folders += n + (folders[n] == ':');
	}
	return NULL;
}

char *gs_slurm_plugin_path(const struct gs_slurm_conf *conf, const char *name)
{
	char *folders = conf ? gs_slurm_conf_value(conf, "PluginDir") : NULL;
	char *path = search_in(folders ? folders : usual_places, name);

	free(folders);
	return path;
}

char *gs_plugstack_path(const struct gs_slurm_conf *conf, const char *slurm_conf_path)
{
	char *path = gs_slurm_conf_value(conf, "PlugStackConfig");

	return path ? path : gs_beside(slurm_conf_path, "plugstack.conf");
}

char *gs_spank_plugin_path(const struct gs_slurm_conf *conf, const char *slurm_conf_path)
{
	static const char name[] = "spank_gpushare.so";
	char *stack_path = gs_plugstack_path(conf, slurm_conf_path), *path = NULL;
	struct gs_slurm_conf *stack;
	struct gs_error err;
	const char *line;

	stack = stack_path ? gs_slurm_conf_load(stack_path, &err) : NULL;
	for (size_t i = 0; stack && !path && (line = gs_slurm_conf_line(stack, i)); i++) {
		const char *at = strstr(line, name), *begin = at;

		while (begin && begin > line && begin[-1] != ' ' && begin[-1] != '\t')
			begin--;
		if (at && begin[0] == '/')
			path = strndup(begin, (size_t)(at - begin) + strlen(name));
		else if (at)
			path = gs_slurm_plugin_path(conf, name);
	}
	gs_slurm_conf_free(stack);
	free(stack_path);
	return path;
}

int gs_slurm_installed(const struct gs_slurm_conf *conf, uint32_t *version)
{
	static const char *const own[] = {
		"select_cons_tres.so",
		"auth_munge.so",
		"sched_backfill.so",
		"proctrack_linuxproc.so",
	};
	struct gs_plugin_file plugin;
	struct gs_error err;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		char *path = gs_slurm_plugin_path(conf, own[i]);
		int rc = path ? gs_plugin_file_read(path, &plugin, &err) : -1;

		free(path);
		if (rc == 0) {
			*version = plugin.slurm;
			return 0;
		}
	}
	return -1;
}

int gs_plugin_fits(const char *path, uint32_t installed, const char *gpushare, struct gs_error *err)
{
	struct gs_plugin_file plugin;
	char built[24], runs[24];
	uint32_t mask;

	if (gs_plugin_file_read(path, &plugin, err) < 0)
		return -1;
	if (strcmp(plugin.version, gpushare) != 0)
		return gs_fail(err, "%.160s is of gpushare %s, this is %s", path,
			       *plugin.version ? plugin.version : "(unknown)", gpushare);
	mask = strncmp(plugin.type, "spank", 5) == 0 ? RELEASE_MASK : UINT32_MAX;
	if (installed && (plugin.slurm & mask) != (installed & mask))
		return gs_fail(err, "%.160s was built for Slurm %s, installed is %s", path,
			       gs_slurm_version_text(plugin.slurm, built, sizeof(built)),
			       gs_slurm_version_text(installed, runs, sizeof(runs)));
	return 0;
}
