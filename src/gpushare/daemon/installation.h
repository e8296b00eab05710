/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks Slurm's plugins and partitions when the daemon starts. */
#ifndef GPUSHARE_DAEMON_INSTALLATION_H
#define GPUSHARE_DAEMON_INSTALLATION_H

#include "gpushare/config/config.h"

/*
 * Logs an error for each of gpushare's Slurm plugins that belongs to another gpushare, or was built
 * for another Slurm than the installed one: slurmd would run without it, and jobs would lack the
 * environment of their shares. Logs nothing if there is no Slurm.
 */
void gs_installation_check(const struct gs_config *config);

/*
 * Say for each partition that the configuration (of the file config_path) names and slurm.conf does
 * not have that its line holds for nobody.  How many they are; 0 where no slurm.conf can be read.
 */
size_t gs_installation_partitions(const struct gs_config *config, const char *config_path,
				  void (*say)(const char *text));

#endif
