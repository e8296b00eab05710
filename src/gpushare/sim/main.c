/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-sim: a workload under one or all policies, or through the admission
 * to device memory, in simulated time, with the object files that the daemon
 * runs.  Here are its options; what they ask for is command.h's.
 */
#define _GNU_SOURCE
#include <config.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/sim/command.h"
#include "gpushare/sim/help.h"

enum {
	OPT_POLICY = 'p', OPT_WORKLOAD = 'w', OPT_FORMAT = 'f', OPT_HELP = 'h', OPT_VERSION = 'V',
	/* The scheduler's, up to OPT_QUANTUM_HANDOVERS. */
	OPT_HANDOVER = 256, OPT_MIN_QUANTUM, OPT_RR_QUANTUM, OPT_CFS_EPOCH, OPT_CFS_LONGEST_WAIT, OPT_DPRR_TICK, OPT_STARVATION,
	OPT_COSTS, OPT_QUANTUM_HANDOVERS, OPT_SEED, OPT_ROUNDS, OPT_SHUFFLE, OPT_GAP,
	OPT_TRACE, OPT_GPUS, OPT_PARTITION,
	OPT_MEMORY, OPT_WAKE, OPT_CAPACITY, OPT_CYCLE, OPT_AGE,
	OPT_END,
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
	{ "cfs-longest-wait", no_argument, NULL, OPT_CFS_LONGEST_WAIT },
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

static int set_format(struct sim_command *c, const char *name, struct gs_error *err)
{
	c->format = sim_format_find(name, err);
	return c->format ? 0 : -1;
}

static int set_memory(struct sim_command *c, const char *name, struct gs_error *err)
{
	static const char *const names[GS_ADMISSION_COUNT] = GS_ADMISSION_WORDS;

	for (int i = 0; i < GS_ADMISSION_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			c->memory.options.admission = (enum gs_admission)i;
			c->admission = 1;
			return 0;
		}
	return gs_fail(err, "'%.40s' is none of rbdm, rbdm-strict and fcfs", name);
}

/* The options of the admission. */
static int set_admission(struct sim_command *c, int option, const char *value, struct gs_error *err)
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
static int set_cluster(struct sim_command *c, int option, char *value, struct gs_error *err)
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
	if (c->partitions == SIM_PARTITIONS_MAX)
		return gs_fail(err, "more than %d partitions", SIM_PARTITIONS_MAX);
	if (gs_parse_int(eq + 1, -1000, 1000, &number, err) < 0)
		return -1;
	*eq = '\0';
	p->name = value;
	p->priority = (int32_t)number;
	c->partitions++;
	return 0;
}

/* Four durations, or seven. */
static int set_costs(struct sim_costs *costs, char *value, struct gs_error *err)
{
	uint64_t *const part[] = { &costs->ended_ns, &costs->evicted_ns, &costs->first_ns,
				   &costs->launch_ns, &costs->ended_back_ns,
				   &costs->evicted_back_ns, &costs->leave_ns };
	size_t n = 0;

	for (char *one; (one = strsep(&value, ",")) != NULL; n++)
		if (n == 7)
			return gs_fail(err, "four or seven durations are wanted");
		else if (gs_parse_duration(one, part[n], err) < 0)
			return -1;
	if (n != 4 && n != 7)
		return gs_fail(err, "four or seven durations are wanted");
	costs->apart = n == 7;
	return 0;
}

static int set_option(struct sim_command *c, int option, char *value, struct gs_error *err)
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
	case OPT_CFS_LONGEST_WAIT:
		x->options.cfs_longest_wait = 1;
		return 0;
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

enum { PLAYED = 1, CLUSTER = 2, ADMISSION = 4, ANY = 7 };

/* In which of the three uses it says anything. */
static int uses_of(int option)
{
	switch (option) {
	case OPT_SEED:
	case OPT_ROUNDS:
	case OPT_SHUFFLE:
	case OPT_GAP:
		return PLAYED;
	case OPT_GPUS:
	case OPT_PARTITION:
		return CLUSTER;
	case OPT_CAPACITY:
	case OPT_WAKE:
	case OPT_CYCLE:
	case OPT_AGE:
		return ADMISSION;
	default:
		return option >= OPT_HANDOVER && option <= OPT_QUANTUM_HANDOVERS ? PLAYED | CLUSTER : ANY;
	}
}

/* Check the options together: -1 with what is missing or means nothing here. */
static int check_use(const struct sim_command *c, const unsigned char *given, struct gs_error *err)
{
	int use = c->trace ? CLUSTER : c->admission ? ADMISSION : PLAYED;

	if (c->trace && (!c->policy || !c->cluster.gpus || c->path || c->admission))
		return gs_fail(err, "with --trace, --gpus and --policy must be given, --workload "
				    "and --memory not");
	if (c->admission && (c->policy || !c->path || !c->memory.options.capacity))
		return gs_fail(err, "with --memory, --capacity and --workload must be given and --policy not");
	if (use == PLAYED && (!c->policy || !c->path))
		return gs_fail(err, "--policy and --workload must be given");
	for (const struct option *o = options; o->name; o++)
		if (given[o->val] && !(uses_of(o->val) & use))
			return gs_fail(err, "--%s says nothing %s", o->name,
				       c->trace ? "with --trace" : c->admission ? "with --memory"
				       : uses_of(o->val) == CLUSTER ? "without --trace" : "without --memory");
	return 1;
}

/* 1: go on; 0: done; -1: wrong usage, the reason in err (empty: getopt said it). */
static int parse_command(struct sim_command *c, int argc, char **argv, struct gs_error *err)
{
	unsigned char given[OPT_END] = { 0 };
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
		given[option] = 1;
	}
	if (optind < argc)
		return gs_fail(err, "unexpected '%.60s'", argv[optind]);
	if (!c->has_costs)
		c->experiment.costs = sim_costs_of(c->experiment.options.handover_ns);
	return check_use(c, given, err);
}

int main(int argc, char **argv)
{
	struct sim_command c = {
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
	rc = sim_command_run(&c, &err);
	if (rc < 0)
		fprintf(stderr, "gpushare-sim: %s\n", err.text);
	return rc < 0 ? 1 : 0;
}
