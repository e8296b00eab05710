/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Discrete events of one GPU; see engine.h. */
#include <stdlib.h>

#include "gpushare/sim/engine.h"

#define NEVER UINT64_MAX
#define NOBODY UINT32_MAX

enum phase {
	PHASE_FREE,
	PHASE_HANDOVER, /* the GPU is on its way to `slot` until `until` */
	PHASE_RUNNING,  /* since `since`; finishes at `until` unless it is evicted */
	PHASE_LEAVING,  /* told to leave; gone, or finished, at `until` */
};

/* A kernel that is there. */
struct live {
	uint64_t length_ns, block_tasks;
	uint64_t launch_ns; /* beyond length_ns */
	uint64_t told_ns;   /* the alone time, as the scheduler knows it */
	uint64_t work;      /* ns done */
	struct sim_outcome outcome;
	uint32_t kernel; /* the driver's number */
	uint32_t next;   /* free slot behind this one */
};

struct sim_gpu {
	struct gs_sched *sched;
	const struct sim_hooks *hooks;
	struct sim_costs costs;
	struct live *slot;
	uint32_t room, free; /* first free slot, or NOBODY */
	size_t count;
	uint64_t now;
	enum phase phase;
	uint32_t holder; /* slot that the phase is about */
	uint32_t last;   /* kernel that held the GPU last, or NOBODY */
	int evicted;     /* it was */
	uint64_t since, until;
	uint64_t deadline; /* when the scheduler wants to be asked again */
	uint64_t handovers, busy_ns;
};

/* Scheduler ids are slots + 1: a slot is given away again only when its task is forgotten. */
static uint64_t id_of(uint32_t slot)
{
	return (uint64_t)slot + 1;
}

struct sim_costs sim_costs_of(uint64_t handover_ns)
{
	return (struct sim_costs) { .ended_ns = handover_ns, .evicted_ns = handover_ns };
}

struct sim_gpu *sim_gpu_create(const char *policy, const struct gs_sched_options *options,
			       const struct sim_costs *costs, const struct sim_hooks *hooks,
			       struct gs_error *err)
{
	struct sim_gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu) {
		gs_fail(err, "no memory");
		return NULL;
	}
	gpu->sched = gs_sched_create(policy, options, 0, err);
	if (!gpu->sched) {
		free(gpu);
		return NULL;
	}
	gpu->hooks = hooks;
	gpu->costs = *costs;
	gpu->free = gpu->last = NOBODY;
	gpu->deadline = NEVER;
	return gpu;
}

void sim_gpu_destroy(struct sim_gpu *gpu)
{
	if (!gpu)
		return;
	gs_sched_destroy(gpu->sched);
	free(gpu->slot);
	free(gpu);
}

/* Block-tasks that `work` ns of this kernel finish, and the work of that many. */
static uint64_t tasks_done(const struct live *k)
{
	return (uint64_t)((unsigned __int128)k->work * k->block_tasks / k->length_ns);
}

/* The work at the end of the block-task at hand. */
static uint64_t boundary(const struct live *k, uint64_t work)
{
	unsigned __int128 scaled = (unsigned __int128)work * k->block_tasks;
	unsigned __int128 tasks = (scaled + k->length_ns - 1) / k->length_ns;
	uint64_t at = (uint64_t)((tasks * k->length_ns + k->block_tasks - 1) / k->block_tasks);

	return at < k->length_ns ? at : k->length_ns;
}

static int make_room(struct sim_gpu *gpu, struct gs_error *err)
{
	uint32_t room = gpu->room ? gpu->room * 2 : 16;
	struct live *grown;

	if (gpu->free != NOBODY)
		return 0;
	grown = realloc(gpu->slot, room * sizeof(*grown));
	if (!grown)
		return gs_fail(err, "no memory");
	gpu->slot = grown;
	for (uint32_t i = room; i-- > gpu->room;) {
		grown[i].next = gpu->free;
		gpu->free = i;
	}
	gpu->room = room;
	return 0;
}

static void begin(struct sim_gpu *gpu)
{
	struct live *k = &gpu->slot[gpu->holder];

	if (k->work == 0)
		k->outcome.start_ns = gpu->now;
	gs_sched_started(gpu->sched, id_of(gpu->holder), gpu->now);
	gpu->phase = PHASE_RUNNING;
	gpu->last = k->kernel;
	gpu->since = gpu->now;
	gpu->until = gpu->now + k->length_ns - k->work;
}

static void finish(struct sim_gpu *gpu, struct live *k)
{
	uint32_t slot = gpu->holder;
	struct sim_outcome outcome = k->outcome;
	uint32_t kernel = k->kernel;
	uint64_t took = gpu->now - outcome.arrival_ns, alone = k->length_ns + k->launch_ns;

	gs_sched_leave(gpu->sched, id_of(slot), gpu->now, NULL);
	outcome.finish_ns = gpu->now;
	outcome.waiting_ns = took > alone ? took - alone : 0;
	k->next = gpu->free;
	gpu->free = slot;
	gpu->count--;
	gpu->hooks->finished(gpu->hooks->arg, kernel, &outcome);
}

static void end(struct sim_gpu *gpu)
{
	struct live *k = &gpu->slot[gpu->holder];

	k->work += gpu->now - gpu->since;
	gpu->busy_ns += gpu->now - gpu->since;
	if (gpu->hooks->held)
		gpu->hooks->held(gpu->hooks->arg, k->kernel, gpu->since, gpu->now);
	gpu->phase = PHASE_FREE;
	gpu->evicted = k->work < k->length_ns;
	if (!gpu->evicted) {
		finish(gpu, k);
		return;
	}
	gs_sched_progress(gpu->sched, id_of(gpu->holder), k->block_tasks, tasks_done(k), k->told_ns,
			  gpu->now);
	gs_sched_stopped(gpu->sched, id_of(gpu->holder), gpu->now);
	k->outcome.preemptions++;
}

static void take(struct sim_gpu *gpu, uint32_t slot)
{
	const struct live *k = &gpu->slot[slot];
	const struct sim_costs *c = &gpu->costs;
	uint64_t cost = k->work ? 0 : k->launch_ns;

	gpu->holder = slot;
	if (gpu->last == NOBODY) {
		cost = c->first_ns > cost ? c->first_ns : cost;
	} else if (gpu->last != k->kernel) {
		gpu->handovers++;
		cost = k->work && c->apart ?
			       (gpu->evicted ? c->evicted_back_ns : c->ended_back_ns) :
			       (gpu->evicted ? c->evicted_ns : c->ended_ns);
	}
	if (cost) {
		gpu->phase = PHASE_HANDOVER;
		gpu->until = gpu->now + cost;
	} else {
		begin(gpu);
	}
}

static void evict(struct sim_gpu *gpu)
{
	const struct live *k = &gpu->slot[gpu->holder];
	uint64_t work = k->work + (gpu->now - gpu->since), left = k->length_ns - work;

	gpu->phase = PHASE_LEAVING;
	if (!gpu->costs.leave_ns)
		left = boundary(k, work) - work;
	else if (left > gpu->costs.leave_ns)
		left = gpu->costs.leave_ns;
	gpu->until = gpu->now + left;
	if (gpu->until == gpu->now)
		end(gpu);
}

/* Ask the scheduler and act, until it has nothing more to say. */
static void decide(struct sim_gpu *gpu)
{
	struct gs_decision d;

	gpu->deadline = NEVER;
	while (gpu->phase == PHASE_FREE || gpu->phase == PHASE_RUNNING) {
		gs_sched_decide(gpu->sched, gpu->now, &d);
		if (d.action == GS_ACT_RUN) {
			take(gpu, (uint32_t)(d.task - 1));
		} else if (d.action == GS_ACT_EVICT) {
			evict(gpu);
		} else {
			if (d.action == GS_ACT_KEEP)
				gpu->deadline = d.deadline_ns;
			return;
		}
	}
}

/* Carry out what ends or begins at this time; decide nothing yet. */
static void settle(struct sim_gpu *gpu, uint64_t now)
{
	if (now > gpu->now)
		gpu->now = now;
	if (gpu->phase == PHASE_FREE || gpu->now < gpu->until)
		return;
	if (gpu->phase == PHASE_HANDOVER)
		begin(gpu);
	else
		end(gpu);
}

int sim_gpu_arrive(struct sim_gpu *gpu, uint32_t kernel, const struct sim_kernel *what,
		   uint64_t now, struct gs_error *err)
{
	struct gs_task_params params = {
		.nt = what->block_tasks,
		.alone_ns = what->told_ns ? what->told_ns : what->length_ns,
		.priority = what->priority,
		.shares = what->shares,
		.due_ns = what->deadline_ns ? now + what->deadline_ns : 0,
	};
	uint64_t busy = what->gpu_ns;
	uint32_t slot;

	if (!busy)
		busy = what->length_ns > gpu->costs.launch_ns ?
			       what->length_ns - gpu->costs.launch_ns :
			       1;
	settle(gpu, now);
	if (make_room(gpu, err) < 0)
		return -1;
	slot = gpu->free;
	if (gs_sched_arrive(gpu->sched, id_of(slot), &params, now, err) < 0)
		return -1;
	gpu->free = gpu->slot[slot].next;
	gpu->slot[slot] = (struct live) {
		.length_ns = busy,
		.block_tasks = what->block_tasks,
		.launch_ns = what->length_ns > busy ? what->length_ns - busy : 0,
		.told_ns = params.alone_ns,
		.outcome = { .arrival_ns = now },
		.kernel = kernel,
	};
	gpu->count++;
	return 0;
}

void sim_gpu_step(struct sim_gpu *gpu, uint64_t now)
{
	settle(gpu, now);
	decide(gpu);
}

uint64_t sim_gpu_next(const struct sim_gpu *gpu)
{
	uint64_t t = gpu->phase == PHASE_FREE ? NEVER : gpu->until;

	return gpu->phase == PHASE_RUNNING && gpu->deadline < t ? gpu->deadline : t;
}

size_t sim_gpu_live(const struct sim_gpu *gpu)
{
	return gpu->count;
}

uint64_t sim_gpu_handovers(const struct sim_gpu *gpu)
{
	return gpu->handovers;
}

uint64_t sim_gpu_busy_ns(const struct sim_gpu *gpu)
{
	return gpu->busy_ns;
}

unsigned sim_gpu_faults(const struct sim_gpu *gpu)
{
	return gs_sched_faults(gpu->sched);
}
