/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A workload on one GPU; see engine.h. */
#include "gpushare/sim/engine.h"

struct engine {
	struct sim_run *run;
	size_t next;     /* arrival to come */
	size_t finished;
};

static void on_finish(void *arg, uint32_t kernel, const struct sim_outcome *outcome)
{
	struct engine *e = arg;

	e->run->outcome[kernel] = *outcome;
	e->finished++;
}

static void on_held(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns)
{
	struct engine *e = arg;

	if (e->run->held)
		e->run->held(e->run->arg, kernel, from_ns, to_ns);
}

static int loop(struct engine *e, struct sim_gpu *gpu, struct gs_error *err)
{
	const struct sim_workload *w = e->run->workload;

	while (e->finished < w->count) {
		uint64_t now = sim_gpu_next(gpu);

		if (e->next < w->count && e->run->arrival[e->next].at_ns < now)
			now = e->run->arrival[e->next].at_ns;
		if (now == UINT64_MAX)
			return gs_fail(err, "%s idles the GPU while a kernel is ready",
				       e->run->policy);
		for (; e->next < w->count && e->run->arrival[e->next].at_ns <= now; e->next++) {
			uint32_t kernel = e->run->arrival[e->next].kernel;

			if (sim_gpu_arrive(gpu, kernel, &w->kernel[kernel], now, err) < 0)
				return -1;
		}
		sim_gpu_step(gpu, now);
	}
	return 0;
}

int sim_engine_run(struct sim_run *run, struct gs_error *err)
{
	struct engine e = { .run = run };
	struct sim_hooks hooks = { on_finish, on_held, &e };
	struct sim_gpu *gpu = sim_gpu_create(run->policy, run->options, run->costs, &hooks,
					     err);
	int rc;

	if (!gpu)
		return -1;
	rc = loop(&e, gpu, err);
	run->faults = sim_gpu_faults(gpu);
	run->handovers = sim_gpu_handovers(gpu);
	sim_gpu_destroy(gpu);
	return rc;
}
