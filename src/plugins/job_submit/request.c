/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict about a request; see request.h. */
#define _GNU_SOURCE
#include "plugins/job_submit/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A size as people write it: the largest unit that leaves it whole. */
static const char *size_text(uint64_t bytes, char *out, size_t size)
{
	static const char units[] = "KMGT";
	size_t unit = 0;

	while (unit < 4 && bytes % 1024 == 0 && bytes > 0) {
		bytes /= 1024;
		unit++;
	}
	if (unit)
		snprintf(out, size, "%" PRIu64 "%c", bytes, units[unit - 1]);
	else
		snprintf(out, size, "%" PRIu64, bytes);
	return out;
}

/* A gres type leaves the kinds of that name, if there are any. */
static void choose_type(struct gs_site *site, const char *type)
{
	size_t n = 0;

	for (size_t i = 0; *type && i < site->nkind; i++)
		if (site->kind[i].name && strcasecmp(site->kind[i].name, type) == 0)
			n++;
	if (!n)
		return;
	for (size_t i = n = 0; i < site->nkind; i++)
		if (site->kind[i].name && strcasecmp(site->kind[i].name, type) == 0)
			site->kind[n++] = site->kind[i];
	site->nkind = n;
}

static int check_allowed(const struct gs_site *site, struct gs_error *err)
{
	for (size_t i = 0; i < site->npartition; i++)
		if (site->partition[i].limits && !site->partition[i].limits->allow)
			return gs_fail(err,
				       "partition %.64s takes no gpushare jobs "
				       "(AllowGpushare=no)",
				       site->partition[i].name);
	return 0;
}

static uint32_t default_shares(const struct gs_site *site)
{
	uint32_t most = 0;

	for (size_t i = 0; i < site->npartition; i++)
		if (site->partition[i].limits && site->partition[i].limits->default_shares > most)
			most = site->partition[i].limits->default_shares;
	return most;
}

static int check_whole(const struct gs_site *site, uint64_t shares, struct gs_error *err)
{
	uint32_t whole = 0;

	for (size_t i = 0; i < site->nkind; i++)
		if (site->kind[i].shares > whole)
			whole = site->kind[i].shares;
	if (!whole || shares <= whole)
		return 0;
	return gs_fail(err, "%" PRIu64 " shares are more than a GPU has, which is %" PRIu32, shares,
		       whole);
}

/* Slurm takes any word for a type, and says of one that no node has that the "Requested node
 * configuration is not available". */
static int check_type(const struct gs_site *site, const char *type, struct gs_error *err)
{
	if (!*type || !site->types_known || gs_gres_has_type(site->types, type))
		return 0;
	if (!*site->types)
		return gs_fail(err,
			       "'%.40s' is no number of shares, and the GPUs here have no types: "
			       "write --gres=gpushare:N, with N from 1 to 100 for most GPUs",
			       type);
	return gs_fail(err,
		       "'%.40s' is neither a number of shares nor a type of GPU that a node has "
		       "shares of; there are: %s",
		       type, site->types);
}

/* Raise the shares to what the memory takes on any kind that can hold it. */
static int fit_memory(uint64_t memory, struct gs_site *site, uint64_t *shares, struct gs_error *err)
{
	uint64_t largest = 0;
	int fits = 0;
	char requested[32], has[32];

	for (size_t i = 0; i < site->nkind; i++) {
		struct gs_gpu_kind *kind = &site->kind[i];
		uint64_t needed =
			(uint64_t)(((__uint128_t)memory * kind->shares + kind->memory - 1) /
				   kind->memory);

		kind->too_small = memory > kind->memory;
		if (kind->memory > largest)
			largest = kind->memory;
		if (kind->too_small)
			continue;
		fits = 1;
		if (needed > *shares)
			*shares = needed;
	}
	if (fits || !site->nkind)
		return 0;
	return gs_fail(err, "--gpushare-mem=%s is more than a whole GPU has, which is %s",
		       size_text(memory, requested, sizeof(requested)),
		       size_text(largest, has, sizeof(has)));
}

static int check_limits(const struct gs_site *site, uint64_t shares,
			const struct gs_request *request, int raised, struct gs_error *err)
{
	char requested[32];

	for (size_t i = 0; i < site->npartition; i++) {
		const struct gs_config_partition *limits = site->partition[i].limits;

		if (!limits || !limits->max_shares || shares <= limits->max_shares)
			continue;
		if (raised)
			return gs_fail(err,
				       "--gpushare-mem=%s takes %" PRIu64 " shares; partition "
				       "%.64s allows %" PRIu32 " (MaxShares)",
				       size_text(request->memory, requested, sizeof(requested)),
				       shares, site->partition[i].name, limits->max_shares);
		return gs_fail(err,
			       "%" PRIu64 " shares; partition %.64s allows %" PRIu32 " (MaxShares)",
			       shares, site->partition[i].name, limits->max_shares);
	}
	return 0;
}

/* The most that a node may have of a request's tasks or sockets, where each has shares. */
static uint64_t most_on_node(const struct gs_request *request, enum gs_per per)
{
	uint64_t tasks = request->tasks, nodes = request->nodes ? request->nodes : 1;

	if (per == GS_PER_SOCKET)
		return request->sockets ? request->sockets : 1;
	if (per != GS_PER_TASK)
		return 1;
	/* Each of the nodes has a task at least. */
	tasks = tasks > nodes ? tasks - nodes + 1 : 1;
	if (request->tasks_per_node && (!request->tasks || request->tasks_per_node < tasks))
		tasks = request->tasks_per_node;
	return tasks;
}

/* The request per node: how many shares it comes to. */
static int judge_node(const struct gs_request *request, struct gs_site *site,
		      const struct gs_gres_item *item, struct gs_verdict *verdict,
		      struct gs_error *err)
{
	uint64_t shares = item->count, takes;

	if (!shares)
		shares = default_shares(site);
	if (!shares)
		shares = 1; /* what Slurm takes a bare name for */
	choose_type(site, item->type);
	if (check_whole(site, shares, err) < 0)
		return -1;
	takes = shares;
	if (request->memory && fit_memory(request->memory, site, &takes, err) < 0)
		return -1;
	verdict->shares = site->queue_on_node ? shares : takes;
	verdict->raised = verdict->shares != shares;
	verdict->rewrite = verdict->shares != (item->end && !item->count ? 1 : item->count);
	return check_limits(site, takes, request, takes != shares, err);
}

/* Whole GPUs beside the shares: a step of both would see one kind of them only. */
static int check_whole_gpus(const struct gs_request *request, struct gs_error *err)
{
	if (request->exclusive)
		return gs_fail(err, "--exclusive takes the node's whole GPUs and leaves no shares: "
				    "write --gres=gpu:N for them, or leave --exclusive out");
	for (int i = 0; i < GS_PER_COUNT; i++)
		if (gs_gres_has_gpu(request->tres[i]))
			return gs_fail(
				err,
				"a job has shares or whole GPUs, not both: write "
				"--gres=gpushare:N or --gres=gpu:N (for both there are "
				"heterogeneous jobs: sbatch --gres=gpu:N : --gres=gpushare:N)");
	return 0;
}

/* What the tasks of a node have together is of one GPU. */
static int check_tasks(const struct gs_request *request, const struct gs_site *site,
		       uint64_t shares, struct gs_error *err)
{
	uint32_t nodes = request->nodes ? request->nodes : 1, whole = 0;
	uint32_t tasks = (request->tasks + nodes - 1) / nodes;

	if (request->tasks_per_node && (!request->tasks || request->tasks_per_node < tasks))
		tasks = request->tasks_per_node;
	for (size_t i = 0; i < site->nkind; i++)
		if (site->kind[i].shares > whole)
			whole = site->kind[i].shares;
	if (!whole || shares * tasks <= whole)
		return 0;
	return gs_fail(err,
		       "%" PRIu32 " tasks with %" PRIu64 " shares each have %" PRIu64
		       " on a node, and a job's shares are of one GPU of a node, which has %" PRIu32
		       ": write --ntasks-per-node=%" PRIu64 " or less, or fewer shares",
		       tasks, shares, shares * tasks, whole, shares > whole ? 1 : whole / shares);
}

int gs_request_judge(const struct gs_request *request, struct gs_site *site,
		     struct gs_verdict *verdict, struct gs_error *err)
{
	const char *option = request->memory   ? "mem" :
			     request->priority ? "priority" :
			     request->period   ? "period" :
			     request->deadline ? "deadline" :
			     request->corun    ? "corun" :
						 NULL;
	struct gs_gres_item item[GS_PER_COUNT];
	int elsewhere = 0;

	*verdict = (struct gs_verdict) { 0 };
	for (int i = 0; i < GS_PER_COUNT; i++) {
		if (gs_gres_find(request->tres[i], &item[i], err) < 0)
			return -1;
		if (check_type(site, item[i].type, err) < 0)
			return -1;
		elsewhere |= i != GS_PER_NODE && item[i].end;
	}
	if (!item[GS_PER_NODE].end && !elsewhere) {
		if (!option)
			return 0;
		if (!request->memory || !default_shares(site))
			return gs_fail(err, "--gpushare-%s without --gres=gpushare:N", option);
	}
	if (site->more_partitions)
		return gs_fail(err, "a job for more than %d partitions", GS_REQUEST_PARTITIONS_MAX);
	if (check_allowed(site, err) < 0 || check_whole_gpus(request, err) < 0)
		return -1;
	if (elsewhere && (item[GS_PER_NODE].end || request->memory))
		return gs_fail(err, "%s the shares per node only: --gres=gpushare:N",
			       request->memory ? "--gpushare-mem goes with" : "name");
	for (int i = GS_PER_JOB; i < GS_PER_COUNT; i++)
		if (item[i].end && (check_whole(site, item[i].count, err) < 0 ||
				    check_limits(site, item[i].count * most_on_node(request, i),
						 request, 0, err) < 0))
			return -1;
	if (item[GS_PER_TASK].end && check_tasks(request, site, item[GS_PER_TASK].count, err) < 0)
		return -1;
	return elsewhere ? 0 : judge_node(request, site, &item[GS_PER_NODE], verdict, err);
}
