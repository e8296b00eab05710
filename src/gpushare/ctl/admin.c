/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl policy, gpusharectl priority: changes while jobs run. */
#define _GNU_SOURCE
#include <getopt.h>
#include <unistd.h>

#include "common/units.h"
#include "gpushare/ctl/ctl.h"

/* Send the change; the exit status. */
static int change(const char *socket, struct gs_msg *msg)
{
	struct gs_error err;
	int sock = gs_ctl_connect(socket, &err), rc;

	if (sock < 0)
		return gs_ctl_fail("%s", err.text);
	rc = gs_ctl_ask(sock, msg, GS_MSG_OK, &err);
	close(sock);
	return rc < 0 ? gs_ctl_fail("%s", err.text) : 0;
}

static int run_policy(const char *socket, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "gpu", required_argument, NULL, 'g' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct gs_error err;
	struct gs_msg msg;
	int64_t n;
	int c;

	gs_msg_init(&msg, GS_MSG_POLICY, 1);
	msg.policy.all = 1;
	while ((c = getopt_long(argc, argv, "g:h", longs, NULL)) != -1) {
		if (c == 'h') {
			gs_ctl_help(&gs_verb_policy);
			return 0;
		}
		if (c != 'g')
			return gs_ctl_usage(&gs_verb_policy, "unknown option");
		if (gs_parse_int(optarg, 0, 1000000, &n, &err) < 0)
			return gs_ctl_usage(&gs_verb_policy, "--gpu: %s", err.text);
		msg.policy.gpu = (uint32_t)n;
		msg.policy.all = 0;
	}
	if (optind + 1 != argc)
		return gs_ctl_usage(&gs_verb_policy, "which policy?");
	if (gs_msg_str(msg.policy.policy, sizeof(msg.policy.policy), argv[optind]) < 0)
		return gs_ctl_usage(&gs_verb_policy, "'%s' is not a policy", argv[optind]);
	return change(socket, &msg);
}

static int run_priority(const char *socket, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "job", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int64_t job = 0, priority;
	struct gs_error err;
	struct gs_msg msg;
	int c;

	while ((c = getopt_long(argc, argv, "j:h", longs, NULL)) != -1) {
		if (c == 'h') {
			gs_ctl_help(&gs_verb_priority);
			return 0;
		}
		if (c != 'j')
			return gs_ctl_usage(&gs_verb_priority, "unknown option");
		if (gs_parse_int(optarg, 1, UINT32_MAX, &job, &err) < 0)
			return gs_ctl_usage(&gs_verb_priority, "--job: %s", err.text);
	}
	if (!job)
		return gs_ctl_usage(&gs_verb_priority, "--job must be given");
	if (optind + 1 != argc)
		return gs_ctl_usage(&gs_verb_priority, "which priority?");
	if (gs_parse_int(argv[optind], 0, 1000, &priority, &err) < 0)
		return gs_ctl_usage(&gs_verb_priority, "%s", err.text);
	gs_msg_init(&msg, GS_MSG_PRIORITY, 1);
	msg.priority.job_id = (uint32_t)job;
	msg.priority.priority = (uint32_t)priority;
	return change(socket, &msg);
}

const struct gs_verb gs_verb_policy = {
	.name = "policy",
	.usage = "[--gpu N] NAME",
	.words = "Change the policy of all GPUs or of one, until the next reload",
	.help = "  --gpu N    only GPU N\n"
		"\n"
		"For root and SlurmUser of gpushare.conf.\n",
	.run = run_policy,
};

const struct gs_verb gs_verb_priority = {
	.name = "priority",
	.usage = "--job N VALUE",
	.words = "Change the priority of a job, from now on: 0 to 1000",
	.help = "  --job N    which job\n"
		"\n"
		"For root and SlurmUser of gpushare.conf.\n",
	.run = run_priority,
};
