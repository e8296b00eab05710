/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Discrete events of one GPU; see engine.h. */
#include "gpushare/sim/engine.h"

#include <stdlib.h>

#define NEVER UINT64_MAX

enum phase {
	PHASE_FREE,
	PHASE_HANDOVER, /* the GPU is on its way to `kernel` until `until` */
	PHASE_RUNNING,  /* since `since`; finishes at `until` unless it is evicted */
	PHASE_LEAVING,  /* told to leave; gone, or finished, at `until` */
};

struct engine {
	struct sim_run *run;
	struct gs_sched *sched;
	uint64_t *work;    /* ns done, by kernel number */
	size_t next;       /* arrival to come */
	size_t finished;
	uint64_t now;
	enum phase phase;
	uint32_t kernel;   /* whom the phase is about */
	uint32_t last;     /* who held the GPU last, as number + 1; 0: nobody */
	uint64_t since, until;
	uint64_t deadline; /* when the scheduler wants to be asked again */
};

/* Scheduler ids are kernel numbers + 1. */
static uint64_t id_of(uint32_t kernel)
{
	return (uint64_t)kernel + 1;
}

static const struct sim_kernel *kernel_of(const struct engine *e, uint32_t kernel)
{
	return &e->run->workload->kernel[kernel];
}

/* Block-tasks that `work` ns of this kernel finish, and the work of that many. */
static uint64_t tasks_done(const struct sim_kernel *k, uint64_t work)
{
	return (uint64_t)((unsigned __int128)work * k->block_tasks / k->length_ns);
}

/* The work at the end of the block-task at hand. */
static uint64_t boundary(const struct sim_kernel *k, uint64_t work)
{
	unsigned __int128 scaled = (unsigned __int128)work * k->block_tasks;
	unsigned __int128 tasks = (scaled + k->length_ns - 1) / k->length_ns;
	uint64_t at = (uint64_t)((tasks * k->length_ns + k->block_tasks - 1) / k->block_tasks);

	return at < k->length_ns ? at : k->length_ns;
}

static void begin(struct engine *e)
{
	struct sim_outcome *o = &e->run->outcome[e->kernel];

	if (e->work[e->kernel] == 0)
		o->start_ns = e->now;
	gs_sched_started(e->sched, id_of(e->kernel), e->now);
	e->phase = PHASE_RUNNING;
	e->last = e->kernel + 1;
	e->since = e->now;
	e->until = e->now + kernel_of(e, e->kernel)->length_ns - e->work[e->kernel];
}

static void end(struct engine *e)
{
	const struct sim_kernel *k = kernel_of(e, e->kernel);
	struct sim_outcome *o = &e->run->outcome[e->kernel];
	uint64_t *work = &e->work[e->kernel];

	*work += e->now - e->since;
	if (e->run->held)
		e->run->held(e->run->arg, e->kernel, e->since, e->now);
	e->phase = PHASE_FREE;
	if (*work < k->length_ns) {
		gs_sched_progress(e->sched, id_of(e->kernel), k->block_tasks,
				  tasks_done(k, *work), k->length_ns, e->now);
		gs_sched_stopped(e->sched, id_of(e->kernel), e->now);
		o->preemptions++;
		return;
	}
	gs_sched_leave(e->sched, id_of(e->kernel), e->now, NULL);
	o->finish_ns = e->now;
	o->waiting_ns = e->now - o->arrival_ns - k->length_ns;
	e->finished++;
}

static void take_gpu(struct engine *e, uint32_t kernel)
{
	int changes = e->last && e->last != kernel + 1;

	e->kernel = kernel;
	e->run->handovers += (uint64_t)changes;
	if (changes && e->run->options->handover_ns) {
		e->phase = PHASE_HANDOVER;
		e->until = e->now + e->run->options->handover_ns;
	} else {
		begin(e);
	}
}

static void evict(struct engine *e)
{
	const struct sim_kernel *k = kernel_of(e, e->kernel);
	uint64_t work = e->work[e->kernel] + (e->now - e->since);

	e->phase = PHASE_LEAVING;
	e->until = e->now + (boundary(k, work) - work);
	if (e->until == e->now)
		end(e);
}

/* Ask the scheduler and act, until it has nothing more to say. */
static void decide(struct engine *e)
{
	struct gs_decision d;

	e->deadline = NEVER;
	while (e->phase == PHASE_FREE || e->phase == PHASE_RUNNING) {
		gs_sched_decide(e->sched, e->now, &d);
		if (d.action == GS_ACT_RUN) {
			take_gpu(e, (uint32_t)(d.task - 1));
		} else if (d.action == GS_ACT_EVICT) {
			evict(e);
		} else {
			if (d.action == GS_ACT_KEEP)
				e->deadline = d.deadline_ns;
			return;
		}
	}
}

static int arrivals(struct engine *e, struct gs_error *err)
{
	const struct sim_run *run = e->run;

	for (; e->next < run->workload->count && run->arrival[e->next].at_ns <= e->now; e->next++) {
		uint32_t kernel = run->arrival[e->next].kernel;
		const struct sim_kernel *k = kernel_of(e, kernel);
		struct gs_task_params params = {
			.nt = k->block_tasks, .alone_ns = k->length_ns,
			.priority = k->priority, .shares = k->shares,
		};

		run->outcome[kernel] = (struct sim_outcome){ .arrival_ns = e->now };
		if (gs_sched_arrive(e->sched, id_of(kernel), &params, e->now, err) < 0)
			return -1;
	}
	return 0;
}

/* Go to the next event; -1 when there is none. */
static int advance(struct engine *e)
{
	uint64_t t = NEVER;

	if (e->next < e->run->workload->count)
		t = e->run->arrival[e->next].at_ns;
	if (e->phase != PHASE_FREE && e->until < t)
		t = e->until;
	if (e->phase == PHASE_RUNNING && e->deadline < t)
		t = e->deadline;
	if (t == NEVER)
		return -1;
	if (t > e->now)
		e->now = t;
	return 0;
}

static int loop(struct engine *e, struct gs_error *err)
{
	while (e->finished < e->run->workload->count) {
		if (advance(e) < 0)
			return gs_fail(err, "%s idles the GPU while a kernel is ready",
				       e->run->policy);
		if (e->phase != PHASE_FREE && e->now >= e->until) {
			if (e->phase == PHASE_HANDOVER)
				begin(e);
			else
				end(e);
		}
		if (arrivals(e, err) < 0)
			return -1;
		decide(e);
	}
	return 0;
}

int sim_engine_run(struct sim_run *run, struct gs_error *err)
{
	struct engine e = { .run = run, .deadline = NEVER };
	int rc = -1;

	run->handovers = 0;
	e.work = calloc(run->workload->count, sizeof(*e.work));
	if (!e.work)
		return gs_fail(err, "no memory");
	e.sched = gs_sched_create(run->policy, run->options, 0, err);
	if (e.sched) {
		rc = loop(&e, err);
		run->faults = gs_sched_faults(e.sched);
	}
	gs_sched_destroy(e.sched);
	free(e.work);
	return rc;
}
