/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared's command line. */
#ifndef GPUSHARE_DAEMON_OPTIONS_H
#define GPUSHARE_DAEMON_OPTIONS_H

struct gs_options {
	const char *config;
	int foreground;
	int check;
	int mounts;
};

/* Fills in *options. Returns -1: continue; otherwise exit with that status (--help, --version,
 * wrong usage). */
int gs_options_parse(int argc, char **argv, struct gs_options *options);

#endif
