/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpusharectl run: a program under gpushare without Slurm.  The daemon gives
 * it a step that lives as long as this process; the program is its child,
 * with the environment that slurmstepd would give it.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/program.h"
#include "common/units.h"
#include "gpushare/ctl/ctl.h"

static int parse(int argc, char **argv, struct gs_msg_local *local)
{
	static const struct option longs[] = {
		{ "shares", required_argument, NULL, 's' },
		{ "mem", required_argument, NULL, 'm' },
		{ "partition", required_argument, NULL, 'p' },
		{ "gpu", required_argument, NULL, 'g' },
		{ "force-evict-ms", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct gs_error err = { "" };
	int64_t n = 0;
	int c, rc = 0;

	while (rc == 0 && (c = getopt_long(argc, argv, "+s:m:p:g:h", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			rc = gs_parse_int(optarg, 1, 1000000, &n, &err);
			local->shares = (uint32_t)n;
			break;
		case 'm':
			local->memory = GS_MEMORY_AUTO;
			if (strcmp(optarg, "auto") != 0)
				rc = gs_parse_size(optarg, &local->memory, &err);
			break;
		case 'p':
			if (gs_msg_str(local->partition, sizeof(local->partition), optarg) < 0)
				rc = gs_fail(&err, "a partition's name is at most %zu bytes long",
					     sizeof(local->partition) - 1);
			break;
		case 'g':
			rc = gs_parse_int(optarg, 0, 1000000, &n, &err);
			local->gpu = (uint32_t)n;
			break;
		case 'f':
			rc = gs_parse_int(optarg, 0, GS_FORCE_MS_MAX, &n, &err);
			local->force_ms = (uint32_t)n;
			break;
		case 'h':
			gs_ctl_help(&gs_verb_run);
			return 0;
		default:
			return gs_ctl_usage(&gs_verb_run, "unknown option");
		}
	}
	if (rc < 0)
		return gs_ctl_usage(&gs_verb_run, "%s", err.text);
	if (optind == argc)
		return gs_ctl_usage(&gs_verb_run, "which program?");
	return -1;
}

static void set_number(const char *name, unsigned long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu", value);
	setenv(name, text, 1);
}

/* JobEnv of gpushare.conf: lines of NAME=VALUE. */
static void set_lines(char *env)
{
	char *save = NULL;

	for (char *line = strtok_r(env, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *eq = strchr(line, '=');

		if (!eq || eq == line)
			continue;
		*eq = '\0';
		setenv(line, eq + 1, 1);
	}
}

static void set_environment(const char *socket, struct gs_msg_registered *r, unsigned gpu)
{
	const char *old;
	char *path;

	set_lines(r->env);
	old = getenv("LD_LIBRARY_PATH");
	if (asprintf(&path, "%s%s%s", r->shim_dir, old && *old ? ":" : "", old ? old : "") >= 0) {
		setenv("LD_LIBRARY_PATH", path, 1);
		free(path);
	}
	setenv("GPUSHARE_SOCKET", socket, 1);
	set_number("GPUSHARE_JOB_ID", r->job_id);
	set_number("GPUSHARE_STEP_ID", r->step_id);
	set_number("GPUSHARE_GPU", gpu);
	if (*r->driver)
		setenv("GPUSHARE_DRIVER", r->driver, 1);
}

static int run(const char *socket, int argc, char **argv)
{
	struct gs_msg_local local = { .shares = 100 };
	struct gs_error err;
	struct gs_msg msg;
	int sock, rc = parse(argc, argv, &local);

	if (rc >= 0)
		return rc;
	argv += optind;
	local.program = gs_program_key(getuid(), argc - optind, argv);
	sock = gs_ctl_connect(socket, &err);
	if (sock < 0)
		return gs_ctl_fail("%s", err.text);
	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local = local;
	if (gs_ctl_ask(sock, &msg, GS_MSG_REGISTERED, &err) < 0) {
		close(sock);
		return gs_ctl_fail("%s", err.text);
	}
	set_environment(socket, &msg.registered, local.gpu);
	rc = gs_child_run("gpusharectl", argv, &err);
	close(sock);
	return rc < 0 ? gs_ctl_fail("%s", err.text) : rc;
}

const struct gs_verb gs_verb_run = {
	.name = "run",
	.usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.words = "Run a program without Slurm, if AllowLocal=yes",
	.help = "  -s, --shares N        shares of the GPU (default: 100)\n"
		"  -m, --mem SIZE        device memory; auto: what earlier runs took\n"
		"                        (default: in proportion to the shares)\n"
		"  -p, --partition NAME  take this partition's priority\n"
		"  -g, --gpu N           which GPU (default: 0)\n"
		"      --force-evict-ms N  evict it whenever it has had the GPU for N ms,\n"
		"                        also when nobody waits (default: 0, never)\n"
		"\n"
		"The exit status is the program's; 128 + N if signal N ended it.\n",
	.run = run,
};
