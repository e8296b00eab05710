/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results as CSV, JSON and a table; see output.h. */
#include "gpushare/sim/output.h"

static void csv_head(FILE *out, const struct sim_summary *s, size_t policy, size_t count)
{
	(void)policy;
	if (count > 1)
		fprintf(out, "# policy %s\n", s->policy);
	fprintf(out, "name,arrival_ms,start_ms,finish_ms,alone_ms,ntt,waiting_ms,preemptions\n");
}

static void csv_row(FILE *out, const char *name, const struct sim_row *r, size_t kernel)
{
	(void)kernel;
	fprintf(out, "%s,%.6f,%.6f,%.6f,%.6f,%.4f,%.6f,%.6g\n", name, r->arrival_ms, r->start_ms,
		r->finish_ms, r->alone_ms, r->ntt, r->waiting_ms, r->preemptions);
}

static void csv_end(FILE *out, const struct sim_summary *s, size_t count)
{
	fprintf(out, "policy,antt,dntt,dntt_avg,stp,jain,makespan_ms\n");
	for (size_t p = 0; p < count; p++, s++)
		fprintf(out, "%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.6f\n", s->policy, s->antt, s->dntt,
			s->dntt_avg, s->stp, s->jain, s->makespan_ms);
}

/* Names hold nothing that JSON would have to escape; see line.c. */
static void json_head(FILE *out, const struct sim_summary *s, size_t policy, size_t count)
{
	(void)count;
	fprintf(out,
		"%s\n  {\"policy\": \"%s\", \"antt\": %.4f, \"dntt\": %.4f, "
		"\"dntt_avg\": %.4f, \"stp\": %.4f, \"jain\": %.4f, "
		"\"makespan_ms\": %.6f, \"handovers\": %.6g, \"kernels\": [",
		policy ? "]}," : "{\"policies\": [", s->policy, s->antt, s->dntt, s->dntt_avg,
		s->stp, s->jain, s->makespan_ms, s->handovers);
}

static void json_row(FILE *out, const char *name, const struct sim_row *r, size_t kernel)
{
	fprintf(out,
		"%s\n    {\"name\": \"%s\", \"arrival_ms\": %.6f, "
		"\"start_ms\": %.6f, \"finish_ms\": %.6f, \"alone_ms\": %.6f, "
		"\"ntt\": %.4f, \"waiting_ms\": %.6f, \"preemptions\": %.6g}",
		kernel ? "," : "", name, r->arrival_ms, r->start_ms, r->finish_ms, r->alone_ms,
		r->ntt, r->waiting_ms, r->preemptions);
}

static void json_end(FILE *out, const struct sim_summary *s, size_t count)
{
	(void)s;
	(void)count;
	fprintf(out, "]}]}\n");
}

static void table_head(FILE *out, const struct sim_summary *s, size_t policy, size_t count)
{
	(void)count;
	fprintf(out, "%s%s\n%-20s %11s %11s %11s %10s %8s %11s %8s\n", policy ? "\n" : "",
		s->policy, "kernel", "arrival ms", "start ms", "finish ms", "alone ms", "NTT",
		"waiting ms", "preempt.");
}

static void table_row(FILE *out, const char *name, const struct sim_row *r, size_t kernel)
{
	(void)kernel;
	fprintf(out, "%-20s %11.3f %11.3f %11.3f %10.3f %8.2f %11.3f %8.4g\n", name, r->arrival_ms,
		r->start_ms, r->finish_ms, r->alone_ms, r->ntt, r->waiting_ms, r->preemptions);
}

static void table_end(FILE *out, const struct sim_summary *s, size_t count)
{
	fprintf(out, "\n%-8s %8s %8s %8s %8s %8s %12s %10s\n", "policy", "ANTT", "DNTT", "DNTT avg",
		"STP", "Jain", "makespan ms", "handovers");
	for (size_t p = 0; p < count; p++, s++)
		fprintf(out, "%-8s %8.2f %8.2f %8.2f %8.2f %8.3f %12.3f %10.4g\n", s->policy,
			s->antt, s->dntt, s->dntt_avg, s->stp, s->jain, s->makespan_ms,
			s->handovers);
}

void sim_write_faults(FILE *out, const char *policy, unsigned faults)
{
	if (faults)
		fprintf(out,
			"gpushare-sim: policy %s broke its contract (%u times): fifo decided from then on\n",
			policy, faults);
}

#define FORMAT(name, words) \
	const struct sim_writer sim_writer_##name = { name##_head, name##_row, name##_end };
SIM_WRITERS
#undef FORMAT

void sim_write_result(FILE *out, const struct sim_writer *writer,
		      const struct sim_workload *workload, const struct sim_result *result,
		      size_t policy, size_t count)
{
	writer->head(out, &result->summary, policy, count);
	for (size_t i = 0; i < workload->count; i++)
		writer->row(out, workload->kernel[i].name, &result->row[i], i);
}
