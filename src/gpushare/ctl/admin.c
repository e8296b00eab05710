/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl policy, gpusharectl priority: changes while jobs run. */
#define _GNU_SOURCE
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
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
	rc = gs_ctl_exchange(sock, msg, GS_MSG_OK, &err);
	close(sock);
	return rc < 0 ? gs_ctl_fail("%s", err.text) : 0;
}

/* class NULL: the GPU's own policy.  -1: a name is too long. */
static int policy_message(struct gs_msg *msg, const char *class, uint32_t gpu, int all,
			  const char *policy)
{
	if (!class) {
		gs_msg_init(msg, GS_MSG_POLICY, 1);
		msg->policy.all = (uint32_t)all;
		msg->policy.gpu = gpu;
		return gs_msg_str(msg->policy.policy, sizeof(msg->policy.policy), policy);
	}
	gs_msg_init(msg, GS_MSG_CLASS_POLICY, 1);
	msg->class_policy.all = (uint32_t)all;
	msg->class_policy.gpu = gpu;
	if (gs_msg_str(msg->class_policy.class, sizeof(msg->class_policy.class), class) < 0)
		return -1;
	return gs_msg_str(msg->class_policy.policy, sizeof(msg->class_policy.policy), policy);
}

/* Which policy each GPU has now, and among whom it chooses. */
static int show_policies(const char *socket)
{
	static const char *const among[][2] = {
		{ "equals", "among jobs of one priority; those of a higher Priority= go first" },
		{ "class",
		  "within each class; the Class= lines of gpushare.conf say who goes first" },
		{ "all", "among all jobs, since gpushare.conf has a Policy= line" },
	};
	struct gs_error err;
	json_t *status = gs_ctl_request(socket, GS_QUERY_STATUS, 0, &err), *gpu;
	size_t i;

	if (!status)
		return gs_ctl_fail("%s", err.text);
	json_array_foreach (json_object_get(status, "gpus"), i, gpu) {
		const char *is = json_string_value(json_object_get(gpu, "among")), *words = "";

		for (size_t k = 0; is && k < sizeof(among) / sizeof(among[0]); k++)
			if (strcmp(is, among[k][0]) == 0)
				words = among[k][1];
		printf("GPU %d: %s %s\n", (int)json_integer_value(json_object_get(gpu, "gpu")),
		       json_string_value(json_object_get(gpu, "policy")), words);
	}
	json_decref(status);
	return gs_ctl_written();
}

static int run_policy(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	const char *class = NULL;
	int one = 0, status;
	uint32_t gpu = 0;
	const struct gs_option options[] = {
		{ "gpu", 'g', .given = &one, .number = &gpu, .most = 1000000 },
		{ "class", 'c', .text = &class },
		{ NULL },
	};
	struct gs_msg msg;

	status = gs_ctl_options(verb, options, argc, argv);
	if (status >= 0)
		return status;
	if (optind == argc && (one || class))
		return gs_ctl_usage(verb, "which policy?");
	if (optind + 1 < argc)
		return gs_ctl_usage(verb, "unexpected argument '%s'", argv[optind + 1]);
	if (optind < argc) {
		if (policy_message(&msg, class, gpu, !one, argv[optind]) < 0)
			return gs_ctl_usage(verb, "'%s' is not a policy, or the class is none",
					    argv[optind]);
		status = change(socket, &msg);
		if (status != 0 || class)
			return status;
	}
	return show_policies(socket);
}

static int run_priority(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	uint32_t job = 0;
	const struct gs_option options[] = {
		{ "job", 'j', .take = gs_ctl_take_job, .of = &job },
		{ NULL },
	};
	int status = gs_ctl_options(verb, options, argc, argv);
	int64_t priority = 0;
	struct gs_error err;
	struct gs_msg msg;

	if (status >= 0)
		return status;
	if (!job)
		return gs_ctl_usage(verb, "--job must be given");
	if (gs_parse_int(argv[optind], 0, 1000, &priority, &err) < 0)
		return gs_ctl_usage(verb, "%s", err.text);
	gs_msg_init(&msg, GS_MSG_PRIORITY, 1);
	msg.priority.job_id = job;
	msg.priority.priority = (uint32_t)priority;
	return change(socket, &msg);
}

const struct gs_verb gs_verb_policy = {
	.name = "policy",
	.usage = "[--gpu N] [--class CLASS] [NAME]",
	.words = "Change the policy of all GPUs or of one, until the next reload",
	.help = "  -g, --gpu N        only GPU N\n"
		"  -c, --class CLASS  of that class of gpushare.conf; without it of all that\n"
		"                     have no policy of their own\n"
		"\n"
		"Without NAME it prints what is. NAME is one of these:\n"
#define POLICY(name, words, source) "  " #name "\t" words "\n"
#include "gpushare/sched/policies.def"
#undef POLICY
		"\n"
		"For root and SlurmUser of gpushare.conf.\n",
	.more = 1,
	.run = run_policy,
};

const struct gs_verb gs_verb_priority = {
	.name = "priority",
	.usage = "--job N VALUE",
	.words = "Change the priority of a job, from now on: 0 to 1000",
	.help = "  --job N    which job\n"
		"\n"
		"For root and SlurmUser of gpushare.conf.\n",
	.operand = "priority",
	.run = run_priority,
};
