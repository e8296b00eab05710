/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cluster's jobs and summaries as CSV and as a table; see output.h. */
#include "gpushare/sim/output.h"

void sim_cluster_write_jobs(FILE *out, const struct sim_trace *trace,
			    const struct sim_job_outcome *outcome, const char *policy)
{
	fprintf(out, "# policy %s\njob,shares,submit_s,start_s,finish_s,alone_s,ntt,waiting_s,"
		"preemptions\n", policy);
	for (size_t i = 0; i < trace->count; i++) {
		const struct sim_job *job = &trace->job[i];
		double submit = (double)job->submit_ns / 1e9, alone = (double)job->length_ns / 1e9;
		double finish = (double)outcome[i].finish_ns / 1e9;

		fprintf(out, "%s,%u,%.3f,%.3f,%.3f,%.3f,%.4f,%.3f,%u\n", job->id, job->shares,
			submit, (double)outcome[i].start_ns / 1e9, finish, alone,
			(finish - submit) / alone, finish - submit - alone,
			outcome[i].preemptions);
	}
}

void sim_cluster_write_csv(FILE *out, const struct sim_cluster *cluster,
			   const struct sim_cluster_summary *s, size_t count)
{
	fprintf(out, "policy,gpus,jobs,antt,dntt,stp,jain,wait_s,makespan_s,busy,handovers\n");
	for (size_t i = 0; i < count; i++, s++)
		fprintf(out, "%s,%u,%zu,%.4f,%.4f,%.4f,%.4f,%.3f,%.3f,%.4f,%llu\n", s->policy,
			cluster->gpus, cluster->trace->count, s->antt, s->dntt, s->stp, s->jain,
			s->wait_s, s->makespan_s, s->busy, (unsigned long long)s->handovers);
}

void sim_cluster_write_table(FILE *out, const struct sim_cluster *cluster,
			     const struct sim_cluster_summary *s, size_t count)
{
	const struct sim_trace *t = cluster->trace;

	fprintf(out, "%zu jobs on %u GPUs; passed over: %zu steps, %zu without a GPU, %zu that never ran\n"
		"%-8s %8s %8s %9s %7s %10s %12s %6s %10s %10s\n", t->count, cluster->gpus,
		t->steps, t->no_gpu, t->never_ran, "policy", "ANTT", "DNTT", "STP", "Jain",
		"wait s", "makespan s", "busy", "handovers", "most jobs");
	for (size_t i = 0; i < count; i++, s++)
		fprintf(out, "%-8s %8.2f %8.2f %9.1f %7.3f %10.1f %12.1f %6.3f %10llu %10zu\n",
			s->policy, s->antt, s->dntt, s->stp, s->jain, s->wait_s, s->makespan_s,
			s->busy, (unsigned long long)s->handovers, s->most_live);
}
