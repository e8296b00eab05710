/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cluster's jobs and summaries as CSV, JSON and a table; see output.h. */
#include "gpushare/sim/output.h"

/* Of a job, s after the first submission. */
struct figures {
	double submit, start, finish, alone;
};

static struct figures figures_of(const struct sim_job *job, const struct sim_job_outcome *outcome)
{
	return (struct figures) { (double)job->submit_ns / 1e9, (double)outcome->start_ns / 1e9,
				  (double)outcome->finish_ns / 1e9, (double)job->length_ns / 1e9 };
}

void sim_cluster_write_jobs(FILE *out, const struct sim_trace *trace,
			    const struct sim_job_outcome *outcome, const char *policy)
{
	fprintf(out,
		"# policy %s\njob,shares,submit_s,start_s,finish_s,alone_s,ntt,waiting_s,"
		"preemptions\n",
		policy);
	for (size_t i = 0; i < trace->count; i++) {
		const struct sim_job *job = &trace->job[i];
		struct figures f = figures_of(job, &outcome[i]);

		fprintf(out, "%s,%u,%.3f,%.3f,%.3f,%.3f,%.4f,%.3f,%u\n", job->id, job->shares,
			f.submit, f.start, f.finish, f.alone, (f.finish - f.submit) / f.alone,
			f.finish - f.submit - f.alone, outcome[i].preemptions);
	}
}

/* An id holds nothing that JSON would have to escape; see trace.c. */
void sim_cluster_write_json(FILE *out, const struct sim_cluster *cluster,
			    const struct sim_job_outcome *outcome,
			    const struct sim_cluster_summary *s, size_t policy, size_t count)
{
	const struct sim_trace *t = cluster->trace;

	fprintf(out,
		"%s\n  {\"policy\": \"%s\", \"gpus\": %u, \"antt\": %.4f, \"dntt\": %.4f, \"stp\": %.4f, "
		"\"jain\": %.4f, \"wait_s\": %.3f, \"makespan_s\": %.3f, \"busy\": %.4f, \"handovers\": %llu, \"jobs\": [",
		policy ? "," : "{\"policies\": [", s->policy, cluster->gpus, s->antt, s->dntt,
		s->stp, s->jain, s->wait_s, s->makespan_s, s->busy,
		(unsigned long long)s->handovers);
	for (size_t i = 0; i < t->count; i++) {
		struct figures f = figures_of(&t->job[i], &outcome[i]);

		fprintf(out,
			"%s\n    {\"job\": \"%s\", \"shares\": %u, \"submit_s\": %.3f, \"start_s\": %.3f, "
			"\"finish_s\": %.3f, \"alone_s\": %.3f, \"ntt\": %.4f, \"waiting_s\": %.3f, \"preemptions\": %u}",
			i ? "," : "", t->job[i].id, t->job[i].shares, f.submit, f.start, f.finish,
			f.alone, (f.finish - f.submit) / f.alone, f.finish - f.submit - f.alone,
			outcome[i].preemptions);
	}
	fputs(policy + 1 < count ? "]}" : "]}]}\n", out);
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

	fprintf(out,
		"%zu jobs on %u GPUs; passed over: %zu steps, %zu without a GPU, %zu that never ran\n"
		"%-8s %8s %8s %9s %7s %10s %12s %6s %10s %10s\n",
		t->count, cluster->gpus, t->steps, t->no_gpu, t->never_ran, "policy", "ANTT",
		"DNTT", "STP", "Jain", "wait s", "makespan s", "busy", "handovers", "most jobs");
	for (size_t i = 0; i < count; i++, s++)
		fprintf(out, "%-8s %8.2f %8.2f %9.1f %7.3f %10.1f %12.1f %6.3f %10llu %10zu\n",
			s->policy, s->antt, s->dntt, s->stp, s->jain, s->wait_s, s->makespan_s,
			s->busy, (unsigned long long)s->handovers, s->most_live);
}
