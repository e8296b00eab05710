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

/* gpu -1: all; class NULL: the GPU's own policy.  -1: a name is too long. */
static int policy_message(struct gs_msg *msg, const char *class, int64_t gpu, const char *policy)
{
	uint32_t all = gpu < 0, number = all ? 0 : (uint32_t)gpu;

	if (!class) {
		gs_msg_init(msg, GS_MSG_POLICY, 1);
		msg->policy.all = all;
		msg->policy.gpu = number;
		return gs_msg_str(msg->policy.policy, sizeof(msg->policy.policy), policy);
	}
	gs_msg_init(msg, GS_MSG_CLASS_POLICY, 1);
	msg->class_policy.all = all;
	msg->class_policy.gpu = number;
	if (gs_msg_str(msg->class_policy.class, sizeof(msg->class_policy.class), class) < 0)
		return -1;
	return gs_msg_str(msg->class_policy.policy, sizeof(msg->class_policy.policy), policy);
}

static int run_policy(const char *socket, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "gpu", required_argument, NULL, 'g' },
		{ "class", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *class = NULL;
	struct gs_error err;
	struct gs_msg msg;
	int64_t gpu = -1;
	int c;

	while ((c = getopt_long(argc, argv, "g:c:h", longs, NULL)) != -1) {
		switch (c) {
		case 'h':
			gs_ctl_help(&gs_verb_policy);
			return 0;
		case 'g':
			if (gs_parse_int(optarg, 0, 1000000, &gpu, &err) < 0)
				return gs_ctl_usage(&gs_verb_policy, "--gpu: %s", err.text);
			break;
		case 'c':
			class = optarg;
			break;
		default:
			return gs_ctl_usage(&gs_verb_policy, "unknown option");
		}
	}
	if (optind + 1 != argc)
		return gs_ctl_usage(&gs_verb_policy, "which policy?");
	if (policy_message(&msg, class, gpu, argv[optind]) < 0)
		return gs_ctl_usage(&gs_verb_policy, "'%s' is not a policy, or the class is none",
				    argv[optind]);
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
	.usage = "[--gpu N] [--class CLASS] NAME",
	.words = "Change the policy of all GPUs or of one, until the next reload",
	.help = "  -g, --gpu N        only GPU N\n"
		"  -c, --class CLASS  of that class of gpushare.conf; without it of all that\n"
		"                     have no policy of their own\n"
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
