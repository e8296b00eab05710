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
#include <sys/prctl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/period.h"
#include "common/program.h"
#include "common/units.h"
#include "gpushare/ctl/ctl.h"
#include "gpushare/mount/cover.h"
#include "gpushare/mount/namespace.h"

static int parse_memory(void *of, const char *text, struct gs_error *err)
{
	uint64_t *memory = of;

	*memory = GS_MEMORY_AUTO;
	return strcmp(text, "auto") == 0 ? 0 : gs_parse_size(text, memory, err);
}

static int parse_partition(void *of, const char *name, struct gs_error *err)
{
	struct gs_msg_local *local = of;

	return gs_msg_str(local->partition, sizeof(local->partition), name) == 0 ?
		       0 :
		       gs_fail(err, "a partition's name is at most %zu bytes long",
			       sizeof(local->partition) - 1);
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

/*
 * As in a job of Slurm's: the driver's own file is the shim, for the program and its children.
 * Where that may not be, or MountShim=no, LD_LIBRARY_PATH alone leads to the shim.
 */
static void mount_shim(const char *socket, const struct gs_msg_registered *r)
{
	char folder[512], job[512];
	struct gs_mount_plan plan;
	struct gs_error err;

	if (gs_mount_folder(socket, folder, sizeof(folder)) < 0 ||
	    gs_mount_plan_read(folder, &plan, &err) != 1 ||
	    gs_mount_own(&plan, folder, socket, &err) < 0)
		return;
	snprintf(job, sizeof(job), "GPUSHARE_SOCKET=%s\nGPUSHARE_JOB_ID=%u\n", socket, r->job_id);

	gs_mount_tell_job(folder, getuid(), job, r->env, &err);
}

static int take_period(void *of, const char *text, struct gs_error *err)
{
	return gs_period_parse(text, of, err);
}

static int take_corun(void *of, const char *text, struct gs_error *err)
{
	struct gs_msg_local *local = of;
	int yes = 1, rc = gs_parse_bool(text, &yes, err);

	local->no_corun = !yes;
	return rc;
}

/* Of a step that has a period or a deadline; its registration follows on the same connection. */
static int tell_period(int sock, const struct gs_msg_periodic *periodic, struct gs_error *err)
{
	struct gs_error why;
	struct gs_msg msg;

	if (!periodic->period_ns && !periodic->deadline_ns)
		return 0;
	gs_msg_init(&msg, GS_MSG_PERIODIC, 1);
	msg.periodic = *periodic;
	if (gs_ctl_exchange(sock, &msg, GS_MSG_OK, &why) == 0)
		return 0;
	return gs_fail(err,
		       "--period, --deadline: %.150s (a gpushared of an earlier version knows "
		       "neither)",
		       why.text);
}

static int register_step(int sock, const struct gs_msg_local *local,
			 const struct gs_msg_periodic *periodic, struct gs_msg *msg,
			 struct gs_error *err)
{
	if (tell_period(sock, periodic, err) < 0)
		return -1;
	gs_msg_init(msg, GS_MSG_LOCAL, 1);
	msg->local = *local;
	return gs_ctl_exchange(sock, msg, GS_MSG_REGISTERED, err);
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_msg_local local = { .shares = 100 };
	struct gs_msg_periodic periodic = { 0 };
	const struct gs_option options[] = {
		{ "shares", 's', .number = &local.shares, .least = 1, .most = 1000000 },
		{ "mem", 'm', .take = parse_memory, .of = &local.memory },
		{ "partition", 'p', .take = parse_partition, .of = &local },
		{ "gpu", 'g', .number = &local.gpu, .most = 1000000 },
		{ "period", .take = take_period, .of = &periodic.period_ns },
		{ "deadline", .take = take_period, .of = &periodic.deadline_ns },
		{ "corun", .take = take_corun, .of = &local },
		{ "force-evict-ms", .number = &local.force_ms, .most = GS_FORCE_MS_MAX },
		{ NULL },
	};
	struct gs_error err;
	struct gs_msg msg;
	int sock, rc = gs_ctl_options(verb, options, argc, argv);

	if (rc >= 0)
		return rc;
	argv += optind;
	local.program = gs_program_key(getuid(), argc - optind, argv);
	sock = gs_ctl_connect(socket, &err);
	if (sock < 0)
		return gs_ctl_fail("%s", err.text);
	if (register_step(sock, &local, &periodic, &msg, &err) < 0) {
		close(sock);
		return gs_ctl_fail("%s", err.text);
	}
	mount_shim(socket, &msg.registered);
	set_environment(socket, &msg.registered, local.gpu);
	/* Workers that the program daemonises descend from the step as long as it lasts. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
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
		"      --period TIME     its work on the GPU begins so often, as in 20ms\n"
		"      --deadline TIME   and is to have ended so long after that (default: the\n"
		"                        period); the policy edf goes by that\n"
		"      --corun yes|no    no: take turns with others of its urgency, also\n"
		"                        where CoRun=smk would let them run beside each other\n"
		"                        (default: yes)\n"
		"      --force-evict-ms N  evict it whenever it has had the GPU for N ms,\n"
		"                        also when nobody waits (default: 0, never)\n"
		"\n"
		"The exit status is the program's; 128 + N if signal N ended it.\n",
	.operand = "program",
	.command = 1,
	.run = run,
};
