/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a workload file; a small one that is accepted is simulated under every
 * policy. And as a file of kernels that divide a GPU. */
#include <stdlib.h>
#include <string.h>

#include "gpushare/sim/corun.h"
#include "gpushare/sim/experiment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Round robin over a day of work is not what is looked for. */
static int is_small(const struct sim_workload *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->count; i++)
		sum += w->kernel[i].length_ns;
	return w->count <= 16 && sum < UINT64_C(100000000);
}

/* Its own time alone; what the slowdown counts against may be longer. */
static double least_ntt(const struct sim_kernel *k)
{
	return (double)k->length_ns / (double)sim_kernel_original(k);
}

/* No multiprocessor is given more than it has, whichever way it is divided. */
static void divide(const uint8_t *data, size_t size)
{
	struct sim_corun c = { .sm = { 65536, 228 << 10, 2048, 32 }, .sms = 4 };
	uint32_t blocks[4 * GS_CORUN_MAX];
	char *text = malloc(size + 1);
	struct gs_error err;

	memcpy(text, data, size);
	text[size] = '\0';
	if (sim_corun_parse("fuzz", text, &c, &err) == 0) {
		gs_corun_on_demand(c.block, c.count, &c.sm, c.sms, blocks);
		for (size_t i = 0; i < c.sms * c.count; i++)
			if (blocks[i] > c.alone[i % c.count].blocks)
				abort();
		gs_corun_partition(c.block, c.count, &c.sm, blocks);
		for (size_t k = 0; k < c.count; k++)
			if (blocks[k] > c.alone[k].blocks)
				abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_workload w;
	struct sim_experiment x = { .workload = &w, .rounds = 1 };
	struct gs_error err;
	const char *policy;

	divide(data, size);
	gs_sched_defaults(&x.options);
	x.options.handover_ns = 135000;
	x.options.starvation_ns = 5000000;
	if (sim_workload_parse("fuzz", (const char *)data, size, &w, &err) < 0)
		return 0;
	for (size_t i = 0; is_small(&w) && (policy = gs_sched_policy_name(i)) != NULL; i++) {
		struct sim_summary summary;
		struct sim_row *row;

		if (sim_experiment_run(&x, policy, &row, &summary, &err) < 0 || summary.faults)
			abort();
		for (size_t k = 0; k < w.count; k++)
			if (row[k].ntt < least_ntt(&w.kernel[k]) * (1 - 1e-9))
				abort();
		free(row);
	}
	sim_workload_free(&w);
	return 0;
}
