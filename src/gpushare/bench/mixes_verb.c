/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-bench mixes: its command line, and putting the parts together; see mixes.h. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/mixes_run.h"
#include "gpushare/bench/process.h"
#include "gpushare/config/config.h"
#include "gpushare/sched/sched.h"

/* Percent of the card: for a program of PyTorch, and for all of them at most. */
#define RESERVED 30
#define RESERVED_ALL 90
#define FIND_TORCH_MS 60000
#define SHORT_MIXES "gpt+big,request-graph+big"
#define SHORT_WAYS "time-slicing,contexts,gpushare-mps"

struct mixes {
	struct bench_common common;
	struct bench_ways ways; /* only the policies */
	struct mixes_run run;
	const char *list;      /* of mixes */
	const char *ways_list; /* NULL: all */
	int show, table;
	char default_policy[32];
	char **operand;
	int operands;
};

static int requested_for(const struct mixes *m, const char *name)
{
	for (int i = 0; i < m->operands; i++)
		if (bench_listed(m->operand[i], name))
			return 1;
	return m->list ? bench_listed(m->list, name) : m->operands == 0;
}

static const char *mix_name(size_t i)
{
	return i < mixes_count ? mixes_mix[i].name : NULL;
}

static const char *way_name(size_t i)
{
	return mixes_way_name((enum mixes_way)(i + MIXES_SLICING));
}

/* The policy of a gpushare.conf that names none, then those that are named. */
static int choose_policies(struct mixes *m, struct gs_error *err)
{
	static const char text[] = "Gpu=0 Memory=1G\n";
	struct gs_config *config = gs_config_parse("default", text, sizeof(text) - 1, err);
	const char *policy;

	if (!config)
		return -1;
	snprintf(m->default_policy, sizeof(m->default_policy), "%s", config->policy);
	gs_config_free(config);
	m->run.policy[m->run.policies++] = m->default_policy;
	for (size_t i = 0; m->ways.policy && m->run.policies < MIXES_POLICIES_MAX &&
			   (policy = gs_sched_policy_name(i)) != NULL;
	     i++)
		if (strcmp(policy, m->default_policy) != 0 && bench_listed(m->ways.policy, policy))
			m->run.policy[m->run.policies++] = policy;
	return 0;
}

static int has_torch(const struct mixes *m)
{
	char *argv[] = {
		(char *)m->run.setup.python, "-c",
		"import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)",
		NULL
	};
	int status = -1;
	pid_t pid = bench_spawn(argv, NULL, NULL, NULL);

	if (pid > 0 && !bench_reap(pid, FIND_TORCH_MS, &status))
		bench_end(pid);
	return pid > 0 && status == 0;
}

/* Bytes for a program of PyTorch. */
static uint64_t reserved_for(const struct mixes *m, const struct mixes_mix *mix)
{
	uint32_t programs = mix->side[0].count + mix->side[1].count,
		 percent = RESERVED * programs > RESERVED_ALL ? RESERVED_ALL / programs : RESERVED;

	return m->run.setup.yard.memory / 100 * percent;
}

static int measure(void *of, FILE *csv, struct gs_error *err)
{
	struct mixes *m = of;
	struct mixes_run *run = &m->run;
	int torch = -1, rc = 0;

	run->stage = &m->common.stage;
	if (choose_policies(m, err) < 0 ||
	    bench_calibrate_device(run->stage, run->setup.task_ns, &run->setup.yard, err) < 0)
		return -1;
	if (csv) {
		bench_output_head(csv, &m->common, run->setup.yard.device, run->setup.yard.driver);
		mixes_csv_head(csv);
	}
	for (size_t i = 0; rc == 0 && i < mixes_count; i++) {
		const struct mixes_mix *mix = &mixes_mix[i];
		size_t before = run->count;

		if (!requested_for(m, mix->name))
			continue;
		if (mixes_torch(mix) && torch < 0)
			torch = has_torch(m);
		if (mixes_torch(mix) && !torch) {
			printf("%s: skipped, %s has no PyTorch\n", mix->name, run->setup.python);
			continue;
		}
		if (mixes_gpus(mix) > 1 && run->stage->ngpu < mixes_gpus(mix)) {
			printf("%s: skipped, it needs two GPUs (--gpu 0,1)\n", mix->name);
			continue;
		}
		run->setup.memory = reserved_for(m, mix);
		rc = mixes_measure(run, mix, err);
		for (size_t k = before; csv && k < run->count; k++)
			mixes_csv_row(csv, &run->row[k]);
		if (csv)
			fflush(csv);
	}
	if (run->count)
		mixes_print(stdout, run->row, run->count);
	if (rc == 0 && run->failures)
		return gs_fail(err, "%u ways failed", run->failures);
	return rc;
}

static int print_tables(struct mixes *m)
{
	struct gs_error err;

	for (int i = 0; i < m->operands; i++)
		if (mixes_csv_read(m->operand[i], (unsigned)i, &m->run.row, &m->run.count, &err) <
		    0)
			return bench_fail("%s", err.text);
	mixes_print(stdout, m->run.row, m->run.count);
	return 0;
}

static int take_gpus(void *of, const char *value, struct gs_error *err)
{
	struct bench_stage *stage = of;
	const char *comma = strchr(value, ',');
	char first[16];
	int64_t n[2] = { 0 };

	snprintf(first, sizeof(first), "%.*s", comma ? (int)(comma - value) : 15, value);
	if (gs_parse_int(first, 0, 255, &n[0], err) < 0 ||
	    (comma && gs_parse_int(comma + 1, 0, 255, &n[1], err) < 0))
		return -1;
	stage->ngpu = comma ? 2 : 1;
	for (int i = 0; i < 2; i++)
		stage->gpu[i] = (uint32_t)n[i];
	return 0;
}

static void set_short(void *of)
{
	struct mixes *m = of;

	m->list = SHORT_MIXES;
	m->ways_list = SHORT_WAYS;
	m->run.rounds = 1;
	m->run.skip_ns = GS_NS_PER_S / 2;
}

static int take_length(void *of, const char *value, struct gs_error *err)
{
	uint64_t *length = of;

	if (gs_parse_duration(value, length, err) < 0)
		return -1;
	return *length ? 0 : gs_fail(err, "a length of 0");
}

static int take_seconds(void *of, const char *value, struct gs_error *err)
{
	int64_t n = 0;

	if (gs_parse_int(value, 0, 600, &n, err) < 0)
		return -1;
	*(uint64_t *)of = (uint64_t)n * GS_NS_PER_S;
	return 0;
}

static int take_mixes(void *of, const char *list, struct gs_error *err)
{
	*(const char **)of = list;
	return bench_check_list("mix; --list prints them", list, mix_name, err);
}

static int take_ways(void *of, const char *list, struct gs_error *err)
{
	*(const char **)of = list;
	return bench_check_list("way", list, way_name, err);
}

static int execute(struct mixes *m)
{
	struct gs_error err;

	for (size_t i = 0; m->show && i < mixes_count; i++)
		printf("%s\n", mixes_mix[i].name);
	if (m->show)
		return 0;
	if (m->table)
		return m->operands ? print_tables(m) :
				     bench_usage(&bench_verb_mixes, "--table: of which files?");
	for (int i = 0; i < m->operands; i++)
		if (bench_check_list("mix; --list prints them", m->operand[i], mix_name, &err) < 0)
			return bench_usage(&bench_verb_mixes, "%s", err.text);
	for (int way = MIXES_SLICING; way < MIXES_WAYS; way++)
		m->run.way[way] = !m->ways_list ||
				  bench_listed(m->ways_list, mixes_way_name((enum mixes_way)way));
	m->common.stage.as_used = 1;
	return bench_on_stage(&m->common, measure, m);
}

static int run(int argc, char **argv)
{
	static struct mixes m = {
		.run = { .rounds = 2,
			 .seconds_ns = 10 * GS_NS_PER_S,
			 .skip_ns = GS_NS_PER_S,
			 .setup = { .python = "python3",
				    .scripts = GS_MIXES_DIR,
				    .device = "cuda",
				    .tick_ns = GS_NS_PER_MS,
				    .every_ns = 5 * GS_NS_PER_MS,
				    .long_ns = 100 * GS_NS_PER_MS,
				    .flood_ns = 20 * GS_NS_PER_US,
				    .task_ns = 50 * GS_NS_PER_US,
				    .start_s = 120 } },
	};
	static const struct gs_option options[] = {
		{ "mix", .take = take_mixes, .of = &m.list },
		{ "ways", .take = take_ways, .of = &m.ways_list },
		{ "policy", 'p', .take = bench_take_policy, .of = &m.ways },
		{ "rounds", .number = &m.run.rounds, .least = 1, .most = 100 },
		{ "seconds", .take = take_seconds, .of = &m.run.seconds_ns },
		{ "skip", .take = take_seconds, .of = &m.run.skip_ns },
		{ "short", .act = set_short, .of = &m },
		{ "gpu", .take = take_gpus, .of = &m.common.stage },
		{ "list", .given = &m.show },
		{ "table", .given = &m.table },
		{ "python", .text = &m.run.setup.python },
		{ "scripts", .text = &m.run.setup.scripts },
		{ "device", .text = &m.run.setup.device },
		{ "tick", .take = take_length, .of = &m.run.setup.tick_ns },
		{ "every", .take = take_length, .of = &m.run.setup.every_ns },
		{ "long", .take = take_length, .of = &m.run.setup.long_ns },
		{ "flood", .take = take_length, .of = &m.run.setup.flood_ns },
		{ "task", .take = take_length, .of = &m.run.setup.task_ns },
		BENCH_COMMON_OPTIONS(m.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_mixes, &m.common, options, 1, argc, argv, &status))
		return status;
	if (!m.run.seconds_ns)
		return bench_usage(&bench_verb_mixes, "--seconds: at least 1");
	m.operand = argv + optind;
	m.operands = argc - optind;
	status = execute(&m);
	free(m.run.row);
	return status;
}

const struct bench_verb bench_verb_mixes = {
	.name = "mixes",
	.usage = "[OPTION]... [MIX]...",
	.words =
		"Pairs of real programs under every way of sharing, and what falls short of the bars",
	.help = "      --mix LIST        mixes, as the arguments (default: all)\n"
		"      --list            print their names\n"
		"      --ways LIST       of time-slicing, mps, mps-priorities, contexts,\n"
		"                        gpushare-mps (default: all)\n"
		"  -p, --policy LIST     policies of gpushare besides the default one, or all\n"
		"      --rounds N        windows of each way (default 2)\n"
		"      --seconds N       length of a window (default 10)\n"
		"      --skip N          seconds before it (default 1)\n"
		"      --short           " SHORT_MIXES ", a window each:\n"
		"                        " SHORT_WAYS "\n"
		"      --gpu N[,M]       this GPU, as nvidia-smi counts; two for ddp\n"
		"      --table           print the table and the bars of the CSV files MIX...\n"
		"      --python PROGRAM  a Python that has PyTorch (default python3)\n"
		"      --scripts DIR     folder of mixes_torch.py (default: where it is installed)\n"
		"      --device NAME     cuda, or cpu: a trial of PyTorch's programs (default cuda)\n"
		"      --tick, --every, --long, --flood, --task MS\n"
		"                        lengths of the own kernels (1, 5, 100, 20us, 50us)\n",
	.run = run,
};
