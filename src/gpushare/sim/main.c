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
#include "common/options.h"
#include "common/units.h"
#include "gpushare/sim/command.h"
#include "gpushare/sim/help.h"

/* The options, in the table's order. */
enum {
	POLICY,
	WORKLOAD,
	FORMAT,
	HANDOVER,
	COSTS,
	QUANTUM_HANDOVERS,
	MIN_QUANTUM,
	RR_QUANTUM,
	CFS_EPOCH,
	CFS_LONGEST_WAIT,
	DPRR_TICK,
	STARVATION,
	ROUNDS,
	SHUFFLE,
	GAP,
	SEED,
	TRACE,
	GPUS,
	PARTITION,
	MEMORY,
	WAKE,
	CAPACITY,
	CYCLE,
	AGE,
	UNTIL,
	CORUN,
	SM,
	SMS,
	SHOW_VERSION,
	OPTIONS,
};

static int given[OPTIONS];

static int take_format(void *of, const char *name, struct gs_error *err)
{
	struct sim_command *c = of;

	c->format = sim_format_find(name, err);
	return c->format ? 0 : -1;
}

static int take_admission(void *of, const char *name, struct gs_error *err)
{
	struct sim_command *c = of;
	static const char *const names[GS_ADMISSION_COUNT] = GS_ADMISSION_WORDS;

	for (int i = 0; i < GS_ADMISSION_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			c->memory.options.admission = (enum gs_admission)i;
			c->admission = 1;
			return 0;
		}
	return gs_fail(err, "'%.40s' is none of rbdm, rbdm-strict and fcfs", name);
}

/* argv's text: its = goes. */
static int take_partition(void *of, const char *value, struct gs_error *err)
{
	struct sim_command *c = of;
	struct sim_partition *p = &c->partition[c->partitions];
	char *eq = (char *)(uintptr_t)strchr(value, '=');
	int64_t number = 0;

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

static int take_sm(void *of, const char *value, struct gs_error *err)
{
	return sim_corun_sm(value, of, err);
}

/* Four durations, or seven. */
static int take_costs(void *of, const char *value, struct gs_error *err)
{
	struct sim_costs *costs = of;
	uint64_t *const part[] = { &costs->ended_ns,      &costs->evicted_ns,
				   &costs->first_ns,      &costs->launch_ns,
				   &costs->ended_back_ns, &costs->evicted_back_ns,
				   &costs->leave_ns };
	char *text = strdup(value), *rest = text;
	int rc = text ? 0 : gs_fail(err, "no memory");
	size_t n = 0;

	for (char *one; rc == 0 && (one = strsep(&rest, ",")) != NULL; n++)
		rc = n < 7 ? gs_parse_duration(one, part[n], err) : -1;
	free(text);
	if (text && (n > 7 || (rc == 0 && n != 4 && n != 7)))
		return gs_fail(err, "four or seven durations are wanted");
	costs->apart = n == 7;
	return rc;
}

enum { PLAYED = 1, CLUSTER = 2, ADMISSION = 4, PERIODIC = 8, DIVIDED = 16 };

/* In which of the uses an option says anything; 0: in any. */
static const unsigned char uses[OPTIONS] = {
	[HANDOVER] = PLAYED | CLUSTER | PERIODIC,
	[COSTS] = PLAYED | CLUSTER | PERIODIC,
	[QUANTUM_HANDOVERS] = PLAYED | CLUSTER | PERIODIC,
	[MIN_QUANTUM] = PLAYED | CLUSTER | PERIODIC,
	[RR_QUANTUM] = PLAYED | CLUSTER | PERIODIC,
	[CFS_EPOCH] = PLAYED | CLUSTER | PERIODIC,
	[CFS_LONGEST_WAIT] = PLAYED | CLUSTER | PERIODIC,
	[DPRR_TICK] = PLAYED | CLUSTER | PERIODIC,
	[STARVATION] = PLAYED | CLUSTER | PERIODIC,
	[ROUNDS] = PLAYED,
	[SHUFFLE] = PLAYED,
	[GAP] = PLAYED,
	[SEED] = PLAYED,
	[GPUS] = CLUSTER,
	[PARTITION] = CLUSTER,
	[WAKE] = ADMISSION,
	[CAPACITY] = ADMISSION,
	[CYCLE] = ADMISSION,
	[AGE] = ADMISSION,
	[UNTIL] = PERIODIC,
	[SM] = DIVIDED,
	[SMS] = DIVIDED,
};

/* What is to be done with all of them: -1 with what is missing or says nothing there. */
static int check_use(const struct sim_command *c, const struct gs_option *options,
		     struct gs_error *err)
{
	int use = c->kernels   ? DIVIDED :
		  c->trace     ? CLUSTER :
		  c->admission ? ADMISSION :
		  given[UNTIL] ? PERIODIC :
				 PLAYED;

	if (c->kernels && (c->policy || c->path || c->trace || c->admission))
		return gs_fail(err, "with --corun, --policy, --workload, --trace and --memory must "
				    "not be given");
	if (c->trace && (!c->policy || !c->cluster.gpus || c->path || c->admission))
		return gs_fail(err, "with --trace, --gpus and --policy must be given, --workload "
				    "and --memory not");
	if (c->admission && (c->policy || !c->path || !c->memory.options.capacity))
		return gs_fail(
			err,
			"with --memory, --capacity and --workload must be given and --policy not");
	if ((use == PLAYED || use == PERIODIC) && (!c->policy || !c->path))
		return gs_fail(err, "--policy and --workload must be given");
	for (int i = 0; i < OPTIONS; i++)
		if (given[i] && uses[i] && !(uses[i] & use))
			return gs_fail(err, "--%s says nothing %s", options[i].name,
				       c->kernels         ? "with --corun" :
				       uses[i] == DIVIDED ? "without --corun" :
				       c->trace           ? "with --trace" :
				       c->admission       ? "with --memory" :
				       use == PERIODIC    ? "with --until" :
				       uses[i] == CLUSTER ? "without --trace" :
							    "without --memory");
	return 1;
}

/* 1: go on; 0: done; -1: wrong usage, the reason in err. */
static int parse_command(struct sim_command *c, int argc, char **argv, struct gs_error *err)
{
	struct gs_sched_options *o = &c->experiment.options;
	struct gs_rbdm_options *memory = &c->memory.options;
	struct sim_order *order = &c->experiment.order;
#define OPTION(id, letter, name, ...) [id] = { name, letter, .given = &given[id], __VA_ARGS__ }
	const struct gs_option options[] = {
		OPTION(POLICY, 'p', "policy", .text = &c->policy),
		OPTION(WORKLOAD, 'w', "workload", .text = &c->path),
		OPTION(FORMAT, 'f', "format", .take = take_format, .of = c),
		OPTION(HANDOVER, 0, "handover", .duration = &o->handover_ns),
		OPTION(COSTS, 0, "costs", .take = take_costs, .of = &c->experiment.costs),
		OPTION(QUANTUM_HANDOVERS, 0, "quantum-handovers", .number = &o->quantum_handovers,
		       .most = 1000),
		OPTION(MIN_QUANTUM, 0, "min-quantum", .duration = &o->min_quantum_ns),
		OPTION(RR_QUANTUM, 0, "rr-quantum", .duration = &o->rr_quantum_ns),
		OPTION(CFS_EPOCH, 0, "cfs-epoch", .duration = &o->cfs_epoch_ns),
		OPTION(CFS_LONGEST_WAIT, 0, "cfs-longest-wait"),
		OPTION(DPRR_TICK, 0, "dprr-tick", .duration = &o->dprr_tick_ns),
		OPTION(STARVATION, 0, "starvation", .duration = &o->starvation_ns),
		OPTION(ROUNDS, 0, "rounds", .number = &c->experiment.rounds, .least = 1,
		       .most = 1000000),
		OPTION(SHUFFLE, 0, "shuffle"),
		OPTION(GAP, 0, "gap", .duration = &order->gap_ns),
		OPTION(SEED, 0, "seed", .wide = &order->seed, .most = INT64_MAX),
		OPTION(TRACE, 0, "trace", .text = &c->trace),
		OPTION(GPUS, 0, "gpus", .number = &c->cluster.gpus, .least = 1, .most = 1000000),
		OPTION(PARTITION, 0, "partition", .take = take_partition, .of = c),
		OPTION(MEMORY, 0, "memory", .take = take_admission, .of = c),
		OPTION(WAKE, 0, "wake", .text = &memory->wake),
		OPTION(CAPACITY, 0, "capacity", .wide = &memory->capacity, .least = 1,
		       .most = 1 << 30),
		OPTION(CYCLE, 0, "cycle", .duration = &c->memory.cycle_ns),
		OPTION(AGE, 0, "age", .wide = &memory->age_cycles, .most = INT64_MAX),
		OPTION(UNTIL, 0, "until", .duration = &c->until_ns),
		OPTION(CORUN, 0, "corun", .text = &c->kernels),
		OPTION(SM, 0, "sm", .take = take_sm, .of = &c->corun.sm),
		OPTION(SMS, 0, "sms", .number = &c->corun.sms, .least = 1, .most = SIM_SMS_MAX),
		OPTION(SHOW_VERSION, 'V', "version"),
		{ NULL },
	};
#undef OPTION
	int rc = gs_options_take(options, 0, argc, argv, err);

	if (rc == 0)
		sim_help();
	else if (given[SHOW_VERSION])
		printf("gpushare-sim %s\n", PACKAGE_VERSION);
	if (rc <= 0 || given[SHOW_VERSION])
		return rc < 0 ? rc : 0;
	if (optind < argc)
		return gs_fail(err, "unexpected '%.60s'", argv[optind]);
	o->cfs_longest_wait = given[CFS_LONGEST_WAIT];
	order->shuffle = given[SHUFFLE];
	order->has_gap = given[GAP];
	c->quanta = (unsigned)(given[MIN_QUANTUM] | given[RR_QUANTUM] << 1 | given[CFS_EPOCH] << 2 |
			       given[DPRR_TICK] << 3);
	if (!given[COSTS])
		c->experiment.costs = sim_costs_of(o->handover_ns);
	if (given[UNTIL] && !c->until_ns)
		return gs_fail(err, "--until must be later than zero");
	return check_use(c, options, err);
}

int main(int argc, char **argv)
{
	struct sim_command c = {
		.experiment = { .order = { .seed = 1 }, .rounds = 1 },
		.memory = { .cycle_ns = GS_NS_PER_MS, .options = { .wake = "fifo" } },
		.corun = { .sm = { 65536, 228 << 10, 2048, 32 }, .sms = 132 }, /* an H100's */
	};
	struct gs_error err;
	int rc;

	gs_sched_defaults(&c.experiment.options);
	if (take_format(&c, "table", &err) < 0)
		abort();
	rc = parse_command(&c, argc, argv, &err);
	if (rc < 0) {
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
