/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the command to the results on standard output; see command.h. */
#include "gpushare/sim/command.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/sim/periodic_output.h"

/* Jobs take hours: with the papers' quanta of a millisecond there would be far too many events. */
#define JOB_QUANTUM_NS (60 * GS_NS_PER_S)

static const struct sim_format formats[] = {
#define FORMAT(name, words) { #name, &sim_writer_##name, NULL },
	SIM_WRITERS
#undef FORMAT
#define FORMAT(name, words) { #name, NULL, sim_write_##name },
		SIM_PICTURES
#undef FORMAT
};

const struct sim_format *sim_format_find(const char *name, struct gs_error *err)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(name, formats[i].name) == 0)
			return &formats[i];
	gs_fail(err,
		"'%.40s' is not a format: choose one of"
#define FORMAT(name, words) " " #name
		SIM_WRITERS SIM_PICTURES
#undef FORMAT
		,
		name);
	return NULL;
}

static int written(struct gs_error *err)
{
	return fflush(stdout) != 0 || ferror(stdout) ?
		       gs_fail_errno(err, "cannot write the results") :
		       0;
}

/* The policies that were asked for, into name[SIM_POLICIES_MAX]; how many. */
static size_t policies(const struct sim_command *c, const char **name)
{
	size_t count = 0;

	if (strcmp(c->policy, "all") != 0) {
		name[0] = c->policy;
		return 1;
	}
	while (count < SIM_POLICIES_MAX && (name[count] = gs_sched_policy_name(count)) != NULL)
		count++;
	return count;
}

/* ---- Kernels under policies --------------------------------------------------- */

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
	result->span[result->spans++] = (struct gs_span) { kernel, 0, from_ns, to_ns };
}

static int run_policy(struct sim_command *c, const char *policy, struct sim_result *result,
		      struct gs_error *err)
{
	struct sim_experiment x = c->experiment;
	struct recorder recorder = { .result = result };

	if (c->format->draw) {
		x.held = record;
		x.arg = &recorder;
	}
	if (sim_experiment_run(&x, policy, &result->row, &result->summary, err) < 0)
		return -1;
	sim_write_faults(stderr, policy, result->summary.faults);
	return recorder.failed ? gs_fail(err, "no memory") : 0;
}

/* Rows are written policy by policy; a picture shows all of them at once. */
static int run_all(struct sim_command *c, struct gs_error *err)
{
	struct sim_result result[SIM_POLICIES_MAX] = { 0 };
	struct sim_summary summary[SIM_POLICIES_MAX];
	const struct sim_workload *w = c->experiment.workload;
	const struct sim_writer *writer = c->format->writer;
	const char *policy[SIM_POLICIES_MAX];
	size_t count = policies(c, policy);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = run_policy(c, policy[i], &result[i], err);
		summary[i] = result[i].summary;
		if (rc < 0 || !writer)
			continue;
		sim_write_result(stdout, writer, w, &result[i], i, count);
		free(result[i].row);
		result[i].row = NULL;
	}
	if (rc == 0 && writer)
		writer->end(stdout, summary, count);
	else if (rc == 0 && c->format->draw(stdout, w, result, count) < 0)
		rc = gs_fail(err, "no memory");
	if (rc == 0)
		rc = written(err);
	for (size_t i = 0; i < count; i++) {
		free(result[i].row);
		free(result[i].span);
	}
	return rc;
}

/* ---- The others ------------------------------------------------------------- */

static int run_admission(struct sim_command *c, struct gs_error *err)
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
		rc = written(err);
	}
	free(admission);
	return rc;
}

static int play_trace(struct sim_command *c, struct sim_job_outcome *outcome, struct gs_error *err)
{
	int csv = strcmp(c->format->name, "csv") == 0, json = strcmp(c->format->name, "json") == 0;
	struct sim_cluster_summary summary[SIM_POLICIES_MAX];
	const char *policy[SIM_POLICIES_MAX];
	size_t count = policies(c, policy);

	for (size_t i = 0; i < count; i++) {
		if (sim_cluster_run(&c->cluster, policy[i], outcome, &summary[i], err) < 0)
			return -1;
		sim_write_faults(stderr, policy[i], summary[i].faults);
		if (csv)
			sim_cluster_write_jobs(stdout, c->cluster.trace, outcome, policy[i]);
		if (json)
			sim_cluster_write_json(stdout, &c->cluster, outcome, &summary[i], i, count);
	}
	if (!json)
		(csv ? sim_cluster_write_csv : sim_cluster_write_table)(stdout, &c->cluster,
									summary, count);
	return written(err);
}

static int run_trace(struct sim_command *c, struct gs_error *err)
{
	struct sim_trace trace;
	struct sim_job_outcome *outcome;
	struct gs_sched_options *o = &c->cluster.options;
	int rc;

	if (!c->format->writer)
		return gs_fail(err, "--trace has the formats csv, json and table only");
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
	rc = outcome ? play_trace(c, outcome, err) : gs_fail(err, "no memory");
	free(outcome);
	sim_trace_free(&trace);
	return rc;
}

static int play_periodic(struct sim_command *c, struct gs_timing *timing, struct gs_error *err)
{
	int csv = strcmp(c->format->name, "csv") == 0, json = strcmp(c->format->name, "json") == 0;
	const struct sim_periodic x = {
		.workload = c->experiment.workload,
		.options = c->experiment.options,
		.costs = c->experiment.costs,
		.until_ns = c->until_ns,
	};
	struct sim_periodic_summary summary[SIM_POLICIES_MAX];
	const char *policy[SIM_POLICIES_MAX];
	size_t count = policies(c, policy);

	for (size_t i = 0; i < count; i++) {
		if (sim_periodic_run(&x, policy[i], timing, &summary[i], err) < 0)
			return -1;
		sim_write_faults(stderr, policy[i], summary[i].faults);
		(json ? sim_periodic_json :
		 csv  ? sim_periodic_csv :
			sim_periodic_table)(stdout, x.workload, timing, &summary[i], i, count);
	}
	if (!json)
		(csv ? sim_periodic_csv_end : sim_periodic_table_end)(stdout, summary, count);
	return written(err);
}

static int run_periodic(struct sim_command *c, struct gs_error *err)
{
	struct gs_timing *timing;
	int rc;

	if (!c->format->writer)
		return gs_fail(err, "--until has the formats csv, json and table only");
	timing = calloc(c->experiment.workload->count, sizeof(*timing));
	rc = timing ? play_periodic(c, timing, err) : gs_fail(err, "no memory");
	free(timing);
	return rc;
}

static int run_workload(struct sim_command *c, struct gs_error *err)
{
	struct sim_workload workload;
	int rc;

	if (sim_workload_load(c->path, &workload, err) < 0)
		return -1;
	c->experiment.workload = &workload;
	rc = c->admission ? run_admission(c, err) :
	     c->until_ns  ? run_periodic(c, err) :
			    run_all(c, err);
	sim_workload_free(&workload);
	return rc;
}

static int run_corun(struct sim_command *c, struct gs_error *err)
{
	int csv = strcmp(c->format->name, "csv") == 0;

	if (!csv && strcmp(c->format->name, "table") != 0)
		return gs_fail(err, "--corun has the formats csv and table only");
	if (sim_corun_load(c->kernels, &c->corun, err) < 0)
		return -1;
	if (sim_corun_write(stdout, &c->corun, csv) < 0)
		return gs_fail(err, "no memory");
	return written(err);
}

int sim_command_run(struct sim_command *c, struct gs_error *err)
{
	return c->kernels ? run_corun(c, err) : c->trace ? run_trace(c, err) : run_workload(c, err);
}
