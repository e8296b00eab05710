/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results as CSV, JSON and a table; see output.h. */
#include "gpushare/sim/output.h"

int sim_write_csv(FILE *out, const struct sim_workload *workload,
		  const struct sim_result *result, size_t count)
{
	for (size_t p = 0; p < count; p++) {
		if (count > 1)
			fprintf(out, "# policy %s\n", result[p].summary.policy);
		fprintf(out, "name,arrival_ms,start_ms,finish_ms,alone_ms,ntt,waiting_ms,preemptions\n");
		for (size_t i = 0; i < workload->count; i++) {
			const struct sim_row *r = &result[p].row[i];

			fprintf(out, "%s,%.6f,%.6f,%.6f,%.6f,%.4f,%.6f,%.6g\n",
				workload->kernel[i].name, r->arrival_ms, r->start_ms,
				r->finish_ms, r->alone_ms, r->ntt, r->waiting_ms,
				r->preemptions);
		}
	}
	fprintf(out, "policy,antt,dntt,dntt_avg,stp,jain,makespan_ms\n");
	for (size_t p = 0; p < count; p++) {
		const struct sim_summary *s = &result[p].summary;

		fprintf(out, "%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.6f\n", s->policy, s->antt, s->dntt,
			s->dntt_avg, s->stp, s->jain, s->makespan_ms);
	}
	return 0;
}

/* Names hold nothing that JSON would have to escape; see workload.c. */
int sim_write_json(FILE *out, const struct sim_workload *workload,
		   const struct sim_result *result, size_t count)
{
	fprintf(out, "{\"policies\": [");
	for (size_t p = 0; p < count; p++) {
		const struct sim_summary *s = &result[p].summary;

		fprintf(out, "%s\n  {\"policy\": \"%s\", \"antt\": %.4f, \"dntt\": %.4f, "
			"\"dntt_avg\": %.4f, \"stp\": %.4f, \"jain\": %.4f, "
			"\"makespan_ms\": %.6f, \"handovers\": %.6g, \"kernels\": [",
			p ? "," : "", s->policy, s->antt, s->dntt, s->dntt_avg, s->stp,
			s->jain, s->makespan_ms, s->handovers);
		for (size_t i = 0; i < workload->count; i++) {
			const struct sim_row *r = &result[p].row[i];

			fprintf(out, "%s\n    {\"name\": \"%s\", \"arrival_ms\": %.6f, "
				"\"start_ms\": %.6f, \"finish_ms\": %.6f, \"alone_ms\": %.6f, "
				"\"ntt\": %.4f, \"waiting_ms\": %.6f, \"preemptions\": %.6g}",
				i ? "," : "", workload->kernel[i].name, r->arrival_ms,
				r->start_ms, r->finish_ms, r->alone_ms, r->ntt, r->waiting_ms,
				r->preemptions);
		}
		fprintf(out, "]}");
	}
	fprintf(out, "]}\n");
	return 0;
}

static void table_of_kernels(FILE *out, const struct sim_workload *workload,
			     const struct sim_result *result)
{
	fprintf(out, "%s\n%-20s %11s %11s %11s %10s %8s %11s %8s\n", result->summary.policy,
		"kernel", "arrival ms", "start ms", "finish ms", "alone ms", "NTT",
		"waiting ms", "preempt.");
	for (size_t i = 0; i < workload->count; i++) {
		const struct sim_row *r = &result->row[i];

		fprintf(out, "%-20s %11.3f %11.3f %11.3f %10.3f %8.2f %11.3f %8.4g\n",
			workload->kernel[i].name, r->arrival_ms, r->start_ms, r->finish_ms,
			r->alone_ms, r->ntt, r->waiting_ms, r->preemptions);
	}
	fprintf(out, "\n");
}

int sim_write_table(FILE *out, const struct sim_workload *workload,
		    const struct sim_result *result, size_t count)
{
	for (size_t p = 0; p < count; p++)
		table_of_kernels(out, workload, &result[p]);
	fprintf(out, "%-8s %8s %8s %8s %8s %8s %12s %10s\n", "policy", "ANTT", "DNTT",
		"DNTT avg", "STP", "Jain", "makespan ms", "handovers");
	for (size_t p = 0; p < count; p++) {
		const struct sim_summary *s = &result[p].summary;

		fprintf(out, "%-8s %8.2f %8.2f %8.2f %8.2f %8.3f %12.3f %10.4g\n", s->policy,
			s->antt, s->dntt, s->dntt_avg, s->stp, s->jain, s->makespan_ms,
			s->handovers);
	}
	return 0;
}
