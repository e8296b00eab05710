/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-sim: a workload under one or all policies, or through the admission
 * to device memory, in simulated time, with the object files that the daemon
 * runs.
 */
#define _GNU_SOURCE
#include <config.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/sim/help.h"
#include "gpushare/sim/memory.h"
#include "gpushare/sim/output.h"

#define POLICIES_MAX 32
#define PARTITIONS_MAX 64
/* Jobs of hours: with the papers' quanta of a millisecond there would be no end of events. */
#define JOB_QUANTUM_NS (60 * GS_NS_PER_S)

enum {
	OPT_POLICY = 'p', OPT_WORKLOAD = 'w', OPT_FORMAT = 'f', OPT_HELP = 'h', OPT_VERSION = 'V',
	OPT_HANDOVER = 256, OPT_MIN_QUANTUM, OPT_RR_QUANTUM, OPT_CFS_EPOCH, OPT_DPRR_TICK, OPT_STARVATION,
	OPT_COSTS, OPT_QUANTUM_HANDOVERS, OPT_SEED, OPT_ROUNDS, OPT_SHUFFLE, OPT_GAP,
	OPT_TRACE, OPT_GPUS, OPT_PARTITION,
	OPT_MEMORY, OPT_WAKE, OPT_CAPACITY, OPT_CYCLE, OPT_AGE,
};

static const struct option options[] = {
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "workload", required_argument, NULL, OPT_WORKLOAD },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "handover", required_argument, NULL, OPT_HANDOVER },
	{ "costs", required_argument, NULL, OPT_COSTS },
	{ "quantum-handovers", required_argument, NULL, OPT_QUANTUM_HANDOVERS },
	{ "min-quantum", required_argument, NULL, OPT_MIN_QUANTUM },
	{ "rr-quantum", required_argument, NULL, OPT_RR_QUANTUM },
	{ "cfs-epoch", required_argument, NULL, OPT_CFS_EPOCH },
	{ "dprr-tick", required_argument, NULL, OPT_DPRR_TICK },
	{ "starvation", required_argument, NULL, OPT_STARVATION },
	{ "rounds", required_argument, NULL, OPT_ROUNDS },
	{ "shuffle", no_argument, NULL, OPT_SHUFFLE },
	{ "gap", required_argument, NULL, OPT_GAP },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "trace", required_argument, NULL, OPT_TRACE },
	{ "gpus", required_argument, NULL, OPT_GPUS },
	{ "partition", required_argument, NULL, OPT_PARTITION },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "wake", required_argument, NULL, OPT_WAKE },
	{ "capacity", required_argument, NULL, OPT_CAPACITY },
	{ "cycle", required_argument, NULL, OPT_CYCLE },
	{ "age", required_argument, NULL, OPT_AGE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const struct format {
	const char *name;
	int needs_stretches;
	int (*write)(FILE *out, const struct sim_workload *workload,
		      const struct sim_result *result, size_t count);
} formats[] = {
#define FORMAT(name, stretches, words) { #name, stretches, sim_write_##name },
	SIM_FORMATS
#undef FORMAT
};

struct command {
	const char *policy;
	const char *path;
	const struct format *format;
	struct sim_experiment experiment;
	struct sim_memory memory;
	int admission; /* --memory was given */
	int has_costs; /* --costs was given */
	const char *trace;
	struct sim_cluster cluster;
	struct sim_partition partition[PARTITIONS_MAX];
	size_t partitions;
	unsigned quanta; /* given: 1 min-quantum, 2 rr-quantum, 4 cfs-epoch, 8 dprr-tick */
};

static int set_format(struct command *c, const char *name, struct gs_error *err)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(name, formats[i].name) == 0) {
			c->format = &formats[i];
			return 0;
		}
	return gs_fail(err, "'%.40s' is not a format: choose one of"
#define FORMAT(name, stretches, words) " " #name
		       SIM_FORMATS
#undef FORMAT
		       , name);
}

static int set_memory(struct command *c, const char *name, struct gs_error *err)
{
	c->memory.options.fcfs = strcmp(name, "fcfs") == 0;
	if (!c->memory.options.fcfs && strcmp(name, "rbdm") != 0)
		return gs_fail(err, "'%.40s' is neither rbdm nor fcfs", name);
	c->admission = 1;
	return 0;
}

/* The options of the admission. */
static int set_admission(struct command *c, int option, const char *value, struct gs_error *err)
{
	struct gs_rbdm_options *o = &c->memory.options;
	int64_t number = 0;

	switch (option) {
	case OPT_MEMORY:
		return set_memory(c, value, err);
	case OPT_WAKE:
		o->wake = value;
		return 0;
	case OPT_CYCLE:
		return gs_parse_duration(value, &c->memory.cycle_ns, err);
	case OPT_CAPACITY:
		if (gs_parse_int(value, 1, 1 << 30, &number, err) < 0)
			return -1;
		o->capacity = (uint64_t)number;
		return 0;
	default: /* OPT_AGE */
		if (gs_parse_int(value, 0, INT64_MAX, &number, err) < 0)
			return -1;
		o->age_cycles = (uint64_t)number;
		return 0;
	}
}

/* The options of the cluster. */
static int set_cluster(struct command *c, int option, char *value, struct gs_error *err)
{
	struct sim_partition *p = &c->partition[c->partitions];
	int64_t number = 0;
	char *eq;

	if (option == OPT_TRACE) {
		c->trace = value;
		return 0;
	}
	if (option == OPT_GPUS) {
		if (gs_parse_int(value, 1, 1000000, &number, err) < 0)
			return -1;
		c->cluster.gpus = (uint32_t)number;
		return 0;
	}
	eq = strchr(value, '=');
	if (!eq || eq == value)
		return gs_fail(err, "'%.40s' is not PARTITION=PRIORITY", value);
	if (c->partitions == PARTITIONS_MAX)
		return gs_fail(err, "more than %d partitions", PARTITIONS_MAX);
	if (gs_parse_int(eq + 1, -1000, 1000, &number, err) < 0)
		return -1;
	*eq = '\0';
	p->name = value;
	p->priority = (int32_t)number;
	c->partitions++;
	return 0;
}

/* Four durations. */
static int set_costs(struct sim_costs *costs, char *value, struct gs_error *err)
{
	uint64_t *const part[] = { &costs->ended_ns, &costs->evicted_ns, &costs->first_ns,
				   &costs->launch_ns };

	for (size_t i = 0; i < 4; i++) {
		char *one = strsep(&value, ",");

		if (!one)
			return gs_fail(err, "four durations are wanted");
		if (gs_parse_duration(one, part[i], err) < 0)
			return -1;
	}
	return value ? gs_fail(err, "four durations are wanted") : 0;
}

static int set_option(struct command *c, int option, char *value, struct gs_error *err)
{
	struct sim_experiment *x = &c->experiment;
	int64_t number = 0;

	switch (option) {
	case OPT_POLICY:
		c->policy = value;
		return 0;
	case OPT_WORKLOAD:
		c->path = value;
		return 0;
	case OPT_FORMAT:
		return set_format(c, value, err);
	case OPT_HANDOVER:
		return gs_parse_duration(value, &x->options.handover_ns, err);
	case OPT_COSTS:
		c->has_costs = 1;
		return set_costs(&x->costs, value, err);
	case OPT_QUANTUM_HANDOVERS:
		if (gs_parse_int(value, 0, 1000, &number, err) < 0)
			return -1;
		x->options.quantum_handovers = (uint32_t)number;
		return 0;
	case OPT_TRACE:
	case OPT_GPUS:
	case OPT_PARTITION:
		return set_cluster(c, option, value, err);
	case OPT_MIN_QUANTUM:
		c->quanta |= 1;
		return gs_parse_duration(value, &x->options.min_quantum_ns, err);
	case OPT_RR_QUANTUM:
		c->quanta |= 2;
		return gs_parse_duration(value, &x->options.rr_quantum_ns, err);
	case OPT_CFS_EPOCH:
		c->quanta |= 4;
		return gs_parse_duration(value, &x->options.cfs_epoch_ns, err);
	case OPT_DPRR_TICK:
		c->quanta |= 8;
		return gs_parse_duration(value, &x->options.dprr_tick_ns, err);
	case OPT_STARVATION:
		return gs_parse_duration(value, &x->options.starvation_ns, err);
	case OPT_GAP:
		x->order.has_gap = 1;
		return gs_parse_duration(value, &x->order.gap_ns, err);
	case OPT_SHUFFLE:
		x->order.shuffle = 1;
		return 0;
	case OPT_ROUNDS:
		if (gs_parse_int(value, 1, 1000000, &number, err) < 0)
			return -1;
		x->rounds = (unsigned)number;
		return 0;
	case OPT_SEED:
		if (gs_parse_int(value, 0, INT64_MAX, &number, err) < 0)
			return -1;
		x->order.seed = (uint64_t)number;
		return 0;
	default:
		return set_admission(c, option, value, err);
	}
}

static const char *option_name(int option)
{
	for (const struct option *o = options; o->name; o++)
		if (o->val == option)
			return o->name;
	return "?";
}

/* 1: go on; 0: done; -1: wrong usage, the reason in err (empty: getopt said it). */
static int parse_command(struct command *c, int argc, char **argv, struct gs_error *err)
{
	struct gs_error why;
	int option;

	err->text[0] = '\0';
	while ((option = getopt_long(argc, argv, "p:w:f:hV", options, NULL)) != -1) {
		if (option == '?')
			return -1;
		if (option == OPT_HELP) {
			sim_help();
			return 0;
		}
		if (option == OPT_VERSION) {
			printf("gpushare-sim %s\n", PACKAGE_VERSION);
			return 0;
		}
		if (set_option(c, option, optarg, &why) < 0)
			return gs_fail(err, "--%s: %.200s", option_name(option), why.text);
	}
	if (optind < argc)
		return gs_fail(err, "unexpected '%.60s'", argv[optind]);
	if (!c->has_costs)
		c->experiment.costs = sim_costs_of(c->experiment.options.handover_ns);
	if (c->trace)
		return c->policy && c->cluster.gpus && !c->path && !c->admission ? 1
			: gs_fail(err, "with --trace, --gpus and --policy must be given, --workload "
				  "and --memory not");
	if (c->admission ? c->policy || !c->path || !c->memory.options.capacity
			 : !c->policy || !c->path)
		return gs_fail(err, c->admission
			       ? "with --memory, --capacity and --workload must be given and --policy not"
			       : "--policy and --workload must be given");
	return 1;
}

struct recorder {
	struct sim_result *result;
	size_t room;
	int failed;
};

static void record(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns)
{
	struct recorder *r = arg;
	struct sim_result *result = r->result;

	if (result->spans == r->room) {
		size_t room = r->room ? r->room * 2 : 256;
		struct gs_span *grown = realloc(result->span, room * sizeof(*grown));

		if (!grown) {
			r->failed = 1;
			return;
		}
		result->span = grown;
		r->room = room;
	}
	result->span[result->spans++] = (struct gs_span){ kernel, 0, from_ns, to_ns };
}

static int run_policy(struct command *c, const char *policy, struct sim_result *result,
		      struct gs_error *err)
{
	struct sim_experiment x = c->experiment;
	struct recorder recorder = { .result = result };

	if (c->format->needs_stretches) {
		x.held = record;
		x.arg = &recorder;
	}
	if (sim_experiment_run(&x, policy, &result->row, &result->summary, err) < 0)
		return -1;
	return recorder.failed ? gs_fail(err, "no memory") : 0;
}

static int run_all(struct command *c, struct gs_error *err)
{
	struct sim_result result[POLICIES_MAX] = { 0 };
	size_t count = 0;
	int rc = 0;

	if (strcmp(c->policy, "all") != 0)
		rc = run_policy(c, c->policy, &result[count++], err);
	else
		for (const char *name; rc == 0 && count < POLICIES_MAX &&
				       (name = gs_sched_policy_name(count)) != NULL; count++)
			rc = run_policy(c, name, &result[count], err);
	if (rc == 0) {
		if (c->format->write(stdout, c->experiment.workload, result, count) < 0)
			rc = gs_fail(err, "no memory");
		else if (fflush(stdout) != 0 || ferror(stdout))
			rc = gs_fail_errno(err, "cannot write the results");
	}
	for (size_t i = 0; i < count; i++) {
		free(result[i].row);
		free(result[i].span);
	}
	return rc;
}

static int run_admission(struct command *c, struct gs_error *err)
{
	const struct sim_workload *w = c->experiment.workload;
	struct sim_admission *admission;
	int rc, csv = strcmp(c->format->name, "csv") == 0;

	if (!csv && strcmp(c->format->name, "table") != 0)
		return gs_fail(err, "--memory has the formats csv and table only");
	admission = calloc(w->count, sizeof(*admission));
	if (!admission)
		return gs_fail(err, "no memory");
	c->memory.workload = w;
	rc = sim_memory_run(&c->memory, admission, err);
	if (rc == 0) {
		(csv ? sim_memory_write_csv : sim_memory_write_table)(stdout, w, admission);
		if (fflush(stdout) != 0 || ferror(stdout))
			rc = gs_fail_errno(err, "cannot write the results");
	}
	free(admission);
	return rc;
}

static int play_trace(struct command *c, struct sim_job_outcome *outcome, int csv,
		      struct gs_error *err)
{
	struct sim_cluster_summary summary[POLICIES_MAX];
	const char *policy = c->policy;
	int all = strcmp(policy, "all") == 0;
	size_t count = 0;

	while (count < POLICIES_MAX && (!all || (policy = gs_sched_policy_name(count)) != NULL)) {
		if (sim_cluster_run(&c->cluster, policy, outcome, &summary[count++], err) < 0)
			return -1;
		if (csv)
			sim_cluster_write_jobs(stdout, c->cluster.trace, outcome, policy);
		if (!all)
			break;
	}
	(csv ? sim_cluster_write_csv : sim_cluster_write_table)(stdout, &c->cluster, summary, count);
	if (fflush(stdout) != 0 || ferror(stdout))
		return gs_fail_errno(err, "cannot write the results");
	return 0;
}

static int run_trace(struct command *c, struct gs_error *err)
{
	struct sim_trace trace;
	struct sim_job_outcome *outcome;
	struct gs_sched_options *o = &c->cluster.options;
	int csv = strcmp(c->format->name, "csv") == 0, rc;

	if (!csv && strcmp(c->format->name, "table") != 0)
		return gs_fail(err, "--trace has the formats csv and table only");
	*o = c->experiment.options;
	c->cluster.costs = c->experiment.costs;
	if (!(c->quanta & 1))
		o->min_quantum_ns = JOB_QUANTUM_NS;
	if (!(c->quanta & 2))
		o->rr_quantum_ns = JOB_QUANTUM_NS;
	if (!(c->quanta & 4))
		o->cfs_epoch_ns = 4 * JOB_QUANTUM_NS;
	if (!(c->quanta & 8))
		o->dprr_tick_ns = JOB_QUANTUM_NS;
	if (sim_trace_load(c->trace, c->partition, c->partitions, &trace, err) < 0)
		return -1;
	c->cluster.trace = &trace;
	outcome = calloc(trace.count, sizeof(*outcome));
	rc = outcome ? play_trace(c, outcome, csv, err) : gs_fail(err, "no memory");
	free(outcome);
	sim_trace_free(&trace);
	return rc;
}

static int run_workload(struct command *c, struct gs_error *err)
{
	struct sim_workload workload;
	int rc = sim_workload_load(c->path, &workload, err);

	if (rc < 0)
		return -1;
	c->experiment.workload = &workload;
	rc = c->admission ? run_admission(c, err) : run_all(c, err);
	sim_workload_free(&workload);
	return rc;
}

int main(int argc, char **argv)
{
	struct command c = {
		.experiment = { .order = { .seed = 1 }, .rounds = 1 },
		.memory = { .cycle_ns = GS_NS_PER_MS, .options = { .wake = "fifo" } },
	};
	struct gs_error err;
	int rc;

	gs_sched_defaults(&c.experiment.options);
	if (set_format(&c, "table", &err) < 0)
		abort();
	rc = parse_command(&c, argc, argv, &err);
	if (rc < 0) {
		if (err.text[0])
			fprintf(stderr, "gpushare-sim: %s\n", err.text);
		fprintf(stderr, "Try 'gpushare-sim --help'.\n");
		return 2;
	}
	if (rc == 0)
		return 0;
	rc = c.trace ? run_trace(&c, &err) : run_workload(&c, &err);
	if (rc < 0)
		fprintf(stderr, "gpushare-sim: %s\n", err.text);
	return rc < 0 ? 1 : 0;
}
