/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What job_submit/gpushare decides about a request: text, memory, limits. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/job_submit/request.h"

#define G (UINT64_C(1) << 30)

static void text_is_found(void **state)
{
	static const struct {
		const char *text, *type;
		uint64_t count;
		size_t begin, end;
	} cases[] = {
		{ NULL, "", 0, 0, 0 },
		{ "", "", 0, 0, 0 },
		{ "gres:gpu:1", "", 0, 0, 0 },
		{ "gres:gpushare2:5", "", 0, 0, 0 },
		{ "gres:xgpushare:5", "", 0, 0, 0 },
		{ "xgres:gpushare2:5", "", 0, 0, 0 },
		{ "gres:gpu:gpushare:1", "", 0, 0, 0 },
		{ "gres:gpushare:25", "", 25, 5, 16 },
		{ "gres/gpushare:25", "", 25, 5, 16 },
		{ "gres/gpushare=25", "", 25, 5, 16 },
		{ "gpushare:1", "", 1, 0, 10 },
		{ "gres:gpushare", "", 0, 5, 13 },
		{ "gres:gpu:1,gres:gpushare:h200:7,gres:x:2", "h200", 7, 16, 31 },
		{ "gres/gpushare:h200=7", "h200", 7, 5, 20 },
		{ "gres:gpushare:h200", "h200", 0, 5, 18 },
		{ "gres:gpushare:1000000", "", 1000000, 5, 21 },
	};
	struct gs_gres_item item;
	struct gs_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(gs_gres_find(cases[i].text, &item, &err), 0);
		assert_int_equal(item.count, cases[i].count);
		assert_string_equal(item.type, cases[i].type);
		assert_int_equal(item.begin, cases[i].begin);
		assert_int_equal(item.end, cases[i].end);
	}
}

static void bad_text_is_named(void **state)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "gres:gpushare:0", "0 shares: at least 1" },
		{ "gres:gpushare:00", "0 shares: at least 1" },
		{ "gres:gpushare:-5", "'-5' shares: a number from 1" },
		{ "gres:gpushare:8G",
		  "'8G': shares have no unit; for device memory there is --gpushare-mem=8G" },
		{ "gres:gpushare:512MiB", "--gpushare-mem=512MiB" },
		{ "gres:gpushare:25%", "'25%' is no number of shares" },
		{ "gres:gpushare:1.5", "'1.5' is no number of shares" },
		{ "gres:gpushare:.5", "'.5' is no number of shares" },
		{ "gres:gpushare:+5", "'+5' is no number of shares" },
		{ "gres:gpushare:", "'' is no number of shares" },
		{ "gres:gpushare::5", "'' is no type" },
		{ "gres:gpushare:h200:", "'' is no number of shares" },
		{ "gres:gpushare:h200:x", "'x' is no number of shares" },
		{ "gres:gpushare:h200:-1", "'-1' shares" },
		{ "gres:gpushare:h200:2:3", "'2:3' is no number" },
		{ "gres:gpushare:1000001", "more shares than any GPU has" },
		{ "gres:gpushare:99999999999999999999999", "more shares than any GPU has" },
		{ "gres:gpushare:1,gres:gpushare:2", "asked for twice" },
		/* Slurm finds these, wherever they stand. */
		{ "xgres:gpushare:60", "shares are written as --gres=gpushare:N" },
		{ "gres:gpu:1,xgres/gpushare=60", "shares are written as" },
		{ "gres:gres:gpushare:60", "shares are written as" },
		{ "gres:gpushare:1,x gres:gpushare", "shares are written as" },
		{ "gresgpushare:60", "shares are written as" },
		{ "xgresgpushare:60,gres:gpushare:1", "shares are written as" },
	};
	struct gs_gres_item item;
	struct gs_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(gs_gres_find(cases[i].text, &item, &err), -1);
		if (!strstr(err.text, cases[i].reason))
			fail_msg("%s: '%s' lacks '%s'", cases[i].text, err.text, cases[i].reason);
	}
}

static void over_long_text(void **state)
{
	struct gs_gres_item item;
	struct gs_error err;
	char text[400];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "gres:gpushare:", 14);
	assert_int_equal(gs_gres_find(text, &item, &err), -1);
	text[100] = '\0';
	assert_int_equal(gs_gres_find(text, &item, &err), -1);
	assert_non_null(strstr(err.text, "63 characters"));
	text[60] = '\0';
	assert_int_equal(gs_gres_find(text, &item, &err), 0);
}

static void text_is_rewritten(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ NULL, "gres:gpushare:40" },
		{ "", "gres:gpushare:40" },
		{ "gres:gpu:1", "gres:gpu:1,gres:gpushare:40" },
		{ "gres:gpushare", "gres:gpushare:40" },
		{ "gres:gpushare:5", "gres:gpushare:40" },
		{ "gres/gpushare:5,gres/gpu:1", "gres/gpushare:40,gres/gpu:1" },
		{ "gres:gpu:1,gres:gpushare:h200:5,gres:x",
		  "gres:gpu:1,gres:gpushare:h200:40,gres:x" },
		{ "gres:gpushare:h200", "gres:gpushare:h200:40" },
	};
	struct gs_gres_item item;
	struct gs_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text;

		assert_int_equal(gs_gres_find(cases[i].text, &item, &err), 0);
		text = gs_gres_rewrite(cases[i].text, &item, "gres:", 40);
		assert_string_equal(text, cases[i].want);
		free(text);
	}
}

static struct gs_config_partition low = { .allow = 1, .max_shares = 50, .default_shares = 20 };
static struct gs_config_partition open_one = { .allow = 1 };
static struct gs_config_partition closed = { .allow = 0 };

static struct gs_site site_of(const struct gs_config_partition *a,
			      const struct gs_config_partition *b)
{
	struct gs_site site = { .npartition = b ? 2 : 1 };

	site.partition[0].name = "one";
	site.partition[0].limits = a;
	site.partition[1].name = "two";
	site.partition[1].limits = b;
	return site;
}

static void add(struct gs_site *site, const char *name, uint64_t memory, uint32_t shares)
{
	site->kind[site->nkind++] = (struct gs_gpu_kind) {
		.name = name,
		.memory = memory,
		.shares = shares,
	};
}

static int judge(const char *tres, uint64_t memory, struct gs_site *site,
		 struct gs_verdict *verdict, struct gs_error *err)
{
	struct gs_request request = { .tres = { tres }, .memory = memory };

	return gs_request_judge(&request, site, verdict, err);
}

static void memory_raises_the_shares(void **state)
{
	struct gs_site site = site_of(&open_one, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	add(&site, "big", 80 * G, 100);
	assert_int_equal(judge("gres:gpushare:25", 0, &site, &v, &err), 0);
	assert_int_equal(v.shares, 25);
	assert_false(v.rewrite || v.raised);
	assert_int_equal(judge("gres:gpushare:25", 20 * G, &site, &v, &err), 0);
	assert_false(v.rewrite || v.raised);
	assert_int_equal(judge("gres:gpushare:25", 20 * G + 1, &site, &v, &err), 0);
	assert_int_equal(v.shares, 26);
	assert_true(v.rewrite && v.raised);
	assert_int_equal(judge("gres:gpushare:25", 80 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 100);
	assert_int_equal(judge("gres:gpushare:25", 81 * G, &site, &v, &err), -1);
	assert_string_equal(err.text,
			    "--gpushare-mem=81G is more than a whole GPU has, which is 80G");
	assert_int_equal(judge("gres:gpushare:100", 81 * G, &site, &v, &err), -1);
	assert_int_equal(judge("gres:gpushare:101", 0, &site, &v, &err), -1);
	assert_string_equal(err.text, "101 shares are more than a GPU has, which is 100");
	assert_int_equal(judge("gres:gpushare:1", UINT64_MAX, &site, &v, &err), -1);
}

static void memory_is_waited_for_on_the_node(void **state)
{
	struct gs_site site = site_of(&low, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	site.queue_on_node = 1;
	add(&site, "big", 80 * G, 100);
	add(&site, "small", 20 * G, 100);
	assert_int_equal(judge("gres:gpushare:5", 30 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 5);
	assert_false(v.rewrite || v.raised);
	assert_true(!site.kind[0].too_small && site.kind[1].too_small);
	assert_int_equal(judge("gres:gpushare:5", 41 * G, &site, &v, &err), -1);
	assert_string_equal(
		err.text,
		"--gpushare-mem=41G takes 52 shares; partition one allows 50 (MaxShares)");
	assert_int_equal(judge("gres:gpushare:5", 81 * G, &site, &v, &err), -1);
	assert_non_null(strstr(err.text, "more than a whole GPU has"));
	/* The partition's default is a number that Slurm must be told. */
	assert_int_equal(judge("gres:gpushare", 30 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 20);
	assert_true(v.rewrite && !v.raised);
}

static void several_kinds_of_gpu(void **state)
{
	struct gs_site site = site_of(&open_one, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	add(&site, "big", 80 * G, 100);
	add(&site, "small", 40 * G, 100);
	/* Wherever it lands its shares suffice. */
	assert_int_equal(judge("gres:gpushare:10", 20 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 50);
	assert_false(site.kind[0].too_small || site.kind[1].too_small);
	/* Where it cannot be, it must not land. */
	assert_int_equal(judge("gres:gpushare:10", 60 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 75);
	assert_true(!site.kind[0].too_small && site.kind[1].too_small);
	/* A type leaves one kind. */
	assert_int_equal(judge("gres:gpushare:BIG:10", 20 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 25);
	assert_int_equal(site.nkind, 1);
	add(&site, "small", 40 * G, 100);
	assert_int_equal(judge("gres:gpushare:small:10", 60 * G, &site, &v, &err), -1);
	assert_non_null(strstr(err.text, "which is 40G"));
	/* One that is no node type's is Slurm's to judge. */
	site.nkind = 0;
	add(&site, "big", 80 * G, 100);
	assert_int_equal(judge("gres:gpushare:other:10", 20 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 25);
}

static void types(void **state)
{
	struct gs_site site = site_of(NULL, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	gs_gres_types("gpushare:100", site.types, sizeof(site.types));
	gs_gres_types(NULL, site.types, sizeof(site.types));
	gs_gres_types("gpu:h100:2,shard:8", site.types, sizeof(site.types));
	assert_string_equal(site.types, "");
	/* Nobody has told of the nodes: Slurm judges. */
	assert_int_equal(judge("gres:gpushare:abc", 0, &site, &v, &err), 0);
	site.types_known = 1;
	assert_int_equal(judge("gres:gpushare:abc", 0, &site, &v, &err), -1);
	assert_non_null(strstr(err.text, "'abc' is no number of shares, and the GPUs here have no "
					 "types: write --gres=gpushare:N"));
	assert_int_equal(judge("gres:gpushare:25", 0, &site, &v, &err), 0);
	gs_gres_types("gpu:a100:2,gpushare:a100:100,gpushare:H100:100(S:0)", site.types,
		      sizeof(site.types));
	gs_gres_types("gpushare:a100:300", site.types, sizeof(site.types));
	assert_string_equal(site.types, "a100, H100");
	assert_int_equal(judge("gres:gpushare:h100:25", 0, &site, &v, &err), 0);
	assert_int_equal(judge("gres:gpushare:a100", 0, &site, &v, &err), 0);
	assert_int_equal(judge("gres:gpushare:a10:25", 0, &site, &v, &err), -1);
	assert_non_null(strstr(err.text, "'a10' is neither a number of shares nor a type"));
	assert_non_null(strstr(err.text, "there are: a100, H100"));
}

static void nothing_is_known_of_the_gpus(void **state)
{
	struct gs_site site = site_of(NULL, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	assert_int_equal(judge("gres:gpushare:250", 500 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 250);
	assert_false(v.rewrite);
	site.npartition = 0;
	assert_int_equal(judge("gres:gpushare", 0, &site, &v, &err), 0);
	assert_int_equal(v.shares, 1);
	assert_false(v.rewrite);
}

static void limits_of_partitions(void **state)
{
	struct gs_site site = site_of(&low, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	add(&site, NULL, 80 * G, 100);
	assert_int_equal(judge("gres:gpushare:50", 0, &site, &v, &err), 0);
	assert_int_equal(judge("gres:gpushare:51", 0, &site, &v, &err), -1);
	assert_string_equal(err.text, "51 shares; partition one allows 50 (MaxShares)");
	assert_int_equal(judge("gres:gpushare:5", 41 * G, &site, &v, &err), -1);
	assert_string_equal(
		err.text,
		"--gpushare-mem=41G takes 52 shares; partition one allows 50 (MaxShares)");
	/* No number: the partition's. */
	assert_int_equal(judge("gres:gpushare", 0, &site, &v, &err), 0);
	assert_int_equal(v.shares, 20);
	assert_true(v.rewrite && !v.raised);
	assert_int_equal(judge("gres:gpushare:5", 0, &site, &v, &err), 0);
	assert_int_equal(v.shares, 5);
	/* Memory alone is enough where there is a default. */
	assert_int_equal(judge(NULL, 1 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 20);
	assert_true(v.rewrite);
	assert_int_equal(judge("gres:x:1", 24 * G, &site, &v, &err), 0);
	assert_int_equal(v.shares, 30);
	/* No gpushare at all stays so. */
	assert_int_equal(judge("gres:gpu:1", 0, &site, &v, &err), 0);
	assert_int_equal(v.shares, 0);
	assert_false(v.rewrite);
}

/* What each task or socket has, the node has so many times. */
static void limits_hold_for_a_node(void **state)
{
	struct gs_request request = { .tres = { [GS_PER_TASK] = "gres:gpushare:10" }, .tasks = 5 };
	struct gs_site site = site_of(&low, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	add(&site, NULL, 80 * G, 100);
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), 0);
	request.tasks = 6;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "60 shares; partition one allows 50 (MaxShares)");
	/* Nobody says that each node has as many. */
	request.nodes = 2;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), 0);
	request.tasks = 10;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "90 shares; partition one allows 50 (MaxShares)");
	request.tasks_per_node = 5;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), 0);
	request.tasks = 0;
	request.tasks_per_node = 6;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	request = (struct gs_request) { .tres = { [GS_PER_SOCKET] = "gres:gpushare:30" },
					.sockets = 2 };
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "60 shares; partition one allows 50 (MaxShares)");
}

static void too_many_partitions(void **state)
{
	struct gs_site site = site_of(&open_one, NULL);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	site.more_partitions = 1;
	assert_int_equal(judge("gres:gpu:1", 0, &site, &v, &err), 0);
	assert_int_equal(judge("gres:gpushare:1", 0, &site, &v, &err), -1);
	assert_string_equal(err.text, "a job for more than 256 partitions");
}

static void partitions_that_do_not_take_it(void **state)
{
	struct gs_site site = site_of(&open_one, &closed);
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	assert_int_equal(judge("gres:gpushare:5", 0, &site, &v, &err), -1);
	assert_string_equal(err.text, "partition two takes no gpushare jobs (AllowGpushare=no)");
	assert_int_equal(judge("gres:gpu:5", 0, &site, &v, &err), 0);
	assert_int_equal(judge(NULL, 0, &site, &v, &err), 0);
	/* All of a job's partitions must allow it: Slurm may choose any. */
	site = site_of(&low, &open_one);
	assert_int_equal(judge("gres:gpushare:60", 0, &site, &v, &err), -1);
}

static void options_without_shares(void **state)
{
	struct gs_site site = site_of(&open_one, NULL);
	struct gs_request request = { .priority = 1 };
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "--gpushare-priority without --gres=gpushare:N");
	request = (struct gs_request) { .corun = 1 };
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "--gpushare-corun without --gres=gpushare:N");
	request = (struct gs_request) { .deadline = 1 };
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "--gpushare-deadline without --gres=gpushare:N");
	request.period = 1;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "--gpushare-period without --gres=gpushare:N");
	request.memory = G;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text, "--gpushare-mem without --gres=gpushare:N");
}

static void shares_that_are_not_per_node(void **state)
{
	struct gs_site site = site_of(&low, NULL);
	struct gs_request request = { .tres = { [GS_PER_TASK] = "gres/gpushare=30" } };
	struct gs_verdict v;
	struct gs_error err;

	(void)state;
	add(&site, NULL, 80 * G, 100);
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), 0);
	assert_int_equal(v.shares, 0);
	request.memory = G;
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	assert_string_equal(err.text,
			    "--gpushare-mem goes with the shares per node only: --gres=gpushare:N");
	request.memory = 0;
	request.tres[GS_PER_TASK] = "gres/gpushare=60";
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	request.tres[GS_PER_TASK] = "gres/gpushare=30";
	request.tres[GS_PER_NODE] = "gres:gpushare:30";
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
	request.tres[GS_PER_TASK] = "gres/gpushare=-1";
	assert_int_equal(gs_request_judge(&request, &site, &v, &err), -1);
}

/* One kind of GPU, of 100 shares. */
static void refused_with(const struct gs_request *request, const char *words)
{
	struct gs_site site = { .nkind = 1, .kind = { { .memory = 80 * G, .shares = 100 } } };
	struct gs_verdict verdict;
	struct gs_error err;

	if (!words) {
		assert_int_equal(gs_request_judge(request, &site, &verdict, &err), 0);
		return;
	}
	assert_int_equal(gs_request_judge(request, &site, &verdict, &err), -1);
	if (!strstr(err.text, words))
		fail_msg("'%s' lacks '%s'", err.text, words);
}

static void whole_gpus_beside_shares(void **state)
{
	static const char *const gpus[] = { "gres:gpu:1", "gres/gpu=1", "gpu",
					    "gres:x:1,gres:gpu:a100:1" };
	struct gs_request request = { .tres = { [GS_PER_NODE] = "gres:gpushare:25" } };

	(void)state;
	refused_with(&request, NULL);
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		request.tres[GS_PER_JOB] = gpus[i];
		refused_with(&request, "a job has shares or whole GPUs, not both");
	}
	request.tres[GS_PER_JOB] = "gres:gpu2:1,gres:xgpu:1";
	refused_with(&request, NULL);
	request.tres[GS_PER_JOB] = NULL;
	request.tres[GS_PER_NODE] = "gres:gpu:1,gres:gpushare:25";
	refused_with(&request, "write --gres=gpushare:N or --gres=gpu:N");
	request.tres[GS_PER_NODE] = "gres:gpushare:25";
	request.exclusive = 1;
	refused_with(&request, "--exclusive takes the node's whole GPUs");
	request.tres[GS_PER_NODE] = "gres:gpu:1"; /* none of ours */
	refused_with(&request, NULL);
}

static void tasks_of_a_node_have_one_gpu(void **state)
{
	static const struct {
		uint32_t tasks, per_node, nodes;
		const char *words;
	} cases[] = {
		{ 0, 0, 0, NULL },
		{ 1, 0, 0, NULL },
		{ 2, 0, 0, NULL },
		{ 4, 0, 0, "4 tasks with 50 shares each have 200 on a node" },
		{ 4, 0, 0, "GPU of a node, which has 100: write --ntasks-per-node=2 or less" },
		{ 4, 2, 0, NULL },
		{ 4, 3, 0, "3 tasks with 50 shares each have 150" },
		{ 4, 0, 2, NULL },
		{ 5, 0, 2, "3 tasks with" },
		{ 0, 3, 2, "3 tasks with" },
	};
	struct gs_request request = { .tres = { [GS_PER_TASK] = "gres/gpushare=50" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		request.tasks = cases[i].tasks;
		request.tasks_per_node = cases[i].per_node;
		request.nodes = cases[i].nodes;
		refused_with(&request, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_found),
		cmocka_unit_test(bad_text_is_named),
		cmocka_unit_test(over_long_text),
		cmocka_unit_test(text_is_rewritten),
		cmocka_unit_test(memory_raises_the_shares),
		cmocka_unit_test(memory_is_waited_for_on_the_node),
		cmocka_unit_test(several_kinds_of_gpu),
		cmocka_unit_test(types),
		cmocka_unit_test(nothing_is_known_of_the_gpus),
		cmocka_unit_test(limits_of_partitions),
		cmocka_unit_test(limits_hold_for_a_node),
		cmocka_unit_test(too_many_partitions),
		cmocka_unit_test(partitions_that_do_not_take_it),
		cmocka_unit_test(options_without_shares),
		cmocka_unit_test(shares_that_are_not_per_node),
		cmocka_unit_test(whole_gpus_beside_shares),
		cmocka_unit_test(tasks_of_a_node_have_one_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
