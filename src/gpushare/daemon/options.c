/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared's command line; see options.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

static const char help[] =
	"Usage: gpushared [OPTION]...\n"
	"Decide which job's kernels run on the GPUs of this node.\n"
	"\n"
	"  -c, --config FILE   read FILE instead of " GS_CONFIG_FILE "\n"
	"  -f, --foreground    stay in the foreground\n"
	"      --mounts        as root: put the shim in the driver's place on the node, or take\n"
	"                      it away, as MountShim says, and exit\n"
	"      --check         read the configuration, say whether it is good, and exit\n"
	"  -h, --help          print this and exit\n"
	"  -V, --version       print the version and exit\n"
	"\n"
	"SIGHUP reads the configuration again, SIGTERM ends the daemon; the jobs go on.\n";

int gs_options_parse(int argc, char **argv, struct gs_options *o)
{
	enum { CHECK = 256, MOUNTS };
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "check", no_argument, NULL, CHECK },
		{ "mounts", no_argument, NULL, MOUNTS },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	memset(o, 0, sizeof(*o));
	o->config = GS_CONFIG_FILE;
	while ((c = getopt_long(argc, argv, "c:fhV", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case 'f':
			o->foreground = 1;
			break;
		case CHECK:
			o->check = 1;
			break;
		case MOUNTS:
			o->mounts = 1;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		case 'V':
			puts("gpushared " PACKAGE_VERSION);
			return 0;
		default:
			fputs("Try 'gpushared --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr,
			"gpushared: unexpected argument '%s'\n"
			"Try 'gpushared --help'.\n",
			argv[optind]);
		return 2;
	}
	return -1;
}
