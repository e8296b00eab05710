/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared's command line; see options.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/options.h"

#include <stdio.h>
#include <unistd.h>

#include "common/options.h"
#include "config.h"

static const char help[] =
	"Usage: gpushared [OPTION]...\n"
	"Decide which job's kernels run on the GPUs of this node.\n"
	"\n"
	"  -c, --config FILE   read FILE instead of " GS_CONFIG_FILE "\n"
	"  -f, --foreground    stay in the foreground\n"
	"      --check         read the configuration, say whether it is good, and exit\n"
	"      --mounts        as root: put the shim in the driver's place on the node, or take\n"
	"                      it away, as MountShim says, and exit\n"
	"  -h, --help          print this and exit\n"
	"  -V, --version       print the version and exit\n"
	"\n"
	"SIGHUP reads the configuration again, SIGTERM ends the daemon; the jobs go on.\n";

int gs_options_parse(int argc, char **argv, struct gs_options *o)
{
	int version = 0;
	const struct gs_option options[] = {
		{ "config", 'c', .text = &o->config },
		{ "foreground", 'f', .given = &o->foreground },
		{ "check", .given = &o->check },
		{ "mounts", .given = &o->mounts },
		{ "version", 'V', .given = &version },
		{ NULL },
	};
	struct gs_error err;
	int rc;

	*o = (struct gs_options) { .config = GS_CONFIG_FILE };
	rc = gs_options_take(options, 0, argc, argv, &err);
	if (rc > 0 && !version && optind < argc)
		rc = gs_fail(&err, "unexpected argument '%.200s'", argv[optind]);
	if (rc < 0) {
		fprintf(stderr, "gpushared: %s\nTry 'gpushared --help'.\n", err.text);
		return 2;
	}
	if (rc == 0)
		fputs(help, stdout);
	else if (version)
		puts("gpushared " PACKAGE_VERSION);
	return rc > 0 && !version ? -1 : 0;
}
