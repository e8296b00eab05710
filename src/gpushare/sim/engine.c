/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrivals on one GPU; see engine.h. */
#include "gpushare/sim/engine.h"

struct engine {
	struct sim_run *run;
	struct sim_gpu *gpu;
	struct sim_arrival arrival; /* to come, if more */
	const struct sim_kernel *kernel;
	int more;
};

static int fetch(struct engine *e, struct gs_error *err)
{
	e->more = e->run->next(e->run->arg, &e->arrival, &e->kernel, err);
	return e->more < 0 ? -1 : 0;
}

static int loop(struct engine *e, struct gs_error *err)
{
	if (fetch(e, err) < 0)
		return -1;
	while (e->more || sim_gpu_live(e->gpu) > 0) {
		uint64_t now = sim_gpu_next(e->gpu);

		if (e->more && e->arrival.at_ns < now)
			now = e->arrival.at_ns;
		if (now == UINT64_MAX)
			return gs_fail(err, "%s idles the GPU while a kernel is ready",
				       e->run->policy);
		if (sim_time_check(now, err) < 0)
			return -1;
		while (e->more && e->arrival.at_ns <= now)
			if (sim_gpu_arrive(e->gpu, e->arrival.kernel, e->kernel, now, err) < 0 ||
			    fetch(e, err) < 0)
				return -1;
		sim_gpu_step(e->gpu, now);
	}
	return 0;
}

int sim_engine_run(struct sim_run *run, struct gs_error *err)
{
	struct sim_hooks hooks = { run->finished, run->held, run->arg };
	struct engine e = { .run = run };
	int rc;

	e.gpu = sim_gpu_create(run->policy, run->options, run->costs, &hooks, err);
	if (!e.gpu)
		return -1;
	rc = loop(&e, err);
	run->faults = sim_gpu_faults(e.gpu);
	run->handovers = sim_gpu_handovers(e.gpu);
	sim_gpu_destroy(e.gpu);
	return rc;
}
