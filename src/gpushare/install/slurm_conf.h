/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm.conf, gres.conf and plugstack.conf as far as an installation of
 * gpushare is concerned: lines, values, includes.  What a line means to Slurm
 * is Slurm's to say.
 */
#ifndef GPUSHARE_INSTALL_SLURM_CONF_H
#define GPUSHARE_INSTALL_SLURM_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/install/plugin_file.h"

struct gs_slurm_conf; /* lines of a file and of those that it includes */

/* Read a file.  NULL with the reason. */
struct gs_slurm_conf *gs_slurm_conf_load(const char *path, struct gs_error *err);
void gs_slurm_conf_free(struct gs_slurm_conf *conf); /* NULL is fine */

/* The n-th line, comments and blanks around it taken off; NULL behind the last. */
const char *gs_slurm_conf_line(const struct gs_slurm_conf *conf, size_t n);

/* The value of a key of its own line, to be freed; NULL: there is none. */
char *gs_slurm_conf_value(const struct gs_slurm_conf *conf, const char *key);

/* The value of a key within a line ("Name=gpu File=/dev/x"), to be freed; NULL: none. */
char *gs_slurm_line_value(const char *line, const char *key);

/* Is the word in the list ("a,b,c")? */
int gs_word_in_list(const char *list, const char *word);

/* Does a line with PartitionName= name that partition?  A line may name several. */
int gs_slurm_conf_has_partition(const struct gs_slurm_conf *conf, const char *name);

/* The folder of slurm.conf, or the name beside it; to be freed. */
char *gs_beside(const char *slurm_conf, const char *name);

/* slurm.conf: the given one, $SLURM_CONF's, or the first that exists of Slurm's usual places. */
const char *gs_slurm_conf_path(const char *given);

/*
 * A file in the folders of PluginDir, or in those where Slurm's packages put
 * plugins; to be freed.  NULL: in none of them.
 */
char *gs_slurm_plugin_path(const struct gs_slurm_conf *conf, const char *name);

/*
 * spank_gpushare.so as plugstack.conf names it, with its path or in the folders
 * above; to be freed.  NULL: not named there, or in none of them.
 */
char *gs_spank_plugin_path(const struct gs_slurm_conf *conf, const char *slurm_conf_path);

/* plugstack.conf of this slurm.conf; to be freed. */
char *gs_plugstack_path(const struct gs_slurm_conf *conf, const char *slurm_conf_path);

/* The version of the Slurm that is installed, from a plugin of its own.  0, or -1: not found. */
int gs_slurm_installed(const struct gs_slurm_conf *conf, uint32_t *version);

/*
 * Does a plugin of gpushare's fit this gpushare and the installed Slurm
 * (installed 0: not known)?  0; -1 with the reason.
 */
int gs_plugin_fits(const char *path, uint32_t installed, const char *gpushare,
		   struct gs_error *err);

#endif
