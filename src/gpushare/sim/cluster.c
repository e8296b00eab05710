/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a cluster's GPUs; see cluster.h. */
#include "gpushare/sim/cluster.h"

#include <stdlib.h>

#include "common/clock.h"
#include "gpushare/metrics/metrics.h"
#include "gpushare/sim/engine.h"

#define NONE UINT32_MAX
#define TASK_NS GS_NS_PER_MS /* length of a block-task of a job: it can be preempted this often */

struct node {
	struct sim_gpu *gpu;
	uint64_t next;        /* its next event */
	uint32_t heap_at;     /* place in the heap of events */
	uint32_t left, right; /* neighbours among those with as many free shares */
	uint32_t free;        /* shares */
};

struct run {
	const struct sim_cluster *cluster;
	struct sim_job_outcome *outcome;
	struct sim_hooks hooks;
	struct node *node;
	uint32_t *heap;                    /* numbers of nodes, the one of the next event first */
	uint32_t with[SIM_GPU_SHARES + 1]; /* a node with so many free shares, or NONE */
	uint32_t current;                  /* the node that is being stepped */
	size_t arrived;                    /* jobs that were submitted */
	size_t head; /* of these, the first that has not all of its parts yet */
	size_t finished, live, most_live;
	int freed; /* shares came back since the head was last tried */
};

/* ---- The heap of events ------------------------------------------------- */

static int before(const struct run *r, uint32_t a, uint32_t b)
{
	return r->node[a].next != r->node[b].next ? r->node[a].next < r->node[b].next : a < b;
}

static void put(struct run *r, uint32_t at, uint32_t node)
{
	r->heap[at] = node;
	r->node[node].heap_at = at;
}

static void sift(struct run *r, uint32_t at)
{
	uint32_t node = r->heap[at], n = r->cluster->gpus;

	while (at > 0 && before(r, node, r->heap[(at - 1) / 2])) {
		put(r, at, r->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && before(r, r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r, r->heap[child], node))
			break;
		put(r, at, r->heap[child]);
	}
	put(r, at, node);
}

static void step(struct run *r, uint32_t node, uint64_t now)
{
	r->current = node;
	sim_gpu_step(r->node[node].gpu, now);
	r->node[node].next = sim_gpu_next(r->node[node].gpu);
	sift(r, r->node[node].heap_at);
}

/* ---- Shares -------------------------------------------------------------- */

static void take_out(struct run *r, uint32_t i)
{
	struct node *n = &r->node[i];

	if (n->left != NONE)
		r->node[n->left].right = n->right;
	else
		r->with[n->free] = n->right;
	if (n->right != NONE)
		r->node[n->right].left = n->left;
}

static void put_in(struct run *r, uint32_t i, uint32_t free)
{
	struct node *n = &r->node[i];

	n->free = free;
	n->left = NONE;
	n->right = r->with[free];
	if (n->right != NONE)
		r->node[n->right].left = i;
	r->with[free] = i;
}

/* The fullest GPU with that many shares left; NONE. */
static uint32_t find(const struct run *r, uint32_t shares)
{
	for (uint32_t free = shares; free <= SIM_GPU_SHARES; free++)
		if (r->with[free] != NONE)
			return r->with[free];
	return NONE;
}

/* Shares of a job's part number `part`: whole GPUs first. */
static uint32_t part_shares(const struct sim_job *job, uint32_t part)
{
	uint32_t whole = job->shares / SIM_GPU_SHARES;

	return part < whole ? SIM_GPU_SHARES : job->shares % SIM_GPU_SHARES;
}

static uint32_t parts_of(const struct sim_job *job)
{
	return (job->shares + SIM_GPU_SHARES - 1) / SIM_GPU_SHARES;
}

/* ---- Jobs ------------------------------------------------------------------ */

static void on_finish(void *arg, uint32_t number, const struct sim_outcome *part)
{
	struct run *r = arg;
	const struct sim_job *job = &r->cluster->trace->job[number];
	struct sim_job_outcome *o = &r->outcome[number];
	struct node *n = &r->node[r->current];
	/* Whoever has a whole GPU is alone on it. */
	int whole = job->shares >= SIM_GPU_SHARES && n->free == 0 && sim_gpu_live(n->gpu) == 0;
	uint32_t shares = whole ? SIM_GPU_SHARES : job->shares % SIM_GPU_SHARES;

	if (o->start_ns == UINT64_MAX || part->start_ns < o->start_ns)
		o->start_ns = part->start_ns;
	if (part->finish_ns > o->finish_ns)
		o->finish_ns = part->finish_ns;
	o->preemptions += part->preemptions;
	r->finished += ++o->parts_done == parts_of(job);
	r->live--;
	take_out(r, r->current);
	put_in(r, r->current, n->free + shares);
	r->freed = 1;
}

/* Give the jobs that wait their GPUs, as long as the first one fits. */
static int place(struct run *r, uint64_t now, struct gs_error *err)
{
	for (; r->head < r->arrived; r->head++) {
		const struct sim_job *job = &r->cluster->trace->job[r->head];
		struct sim_job_outcome *o = &r->outcome[r->head];
		struct sim_kernel kernel = {
			.length_ns = job->length_ns,
			.block_tasks = job->length_ns / TASK_NS,
			.priority = job->priority,
			.shares = job->shares,
		};

		for (; o->parts < parts_of(job); o->parts++) {
			uint32_t shares = part_shares(job, o->parts), i = find(r, shares);

			if (i == NONE)
				return 0;
			r->current = i;
			take_out(r, i);
			put_in(r, i, r->node[i].free - shares);
			if (sim_gpu_arrive(r->node[i].gpu, (uint32_t)r->head, &kernel, now, err) <
			    0)
				return -1;
			if (++r->live > r->most_live)
				r->most_live = r->live;
			step(r, i, now);
		}
	}
	return 0;
}

static int loop(struct run *r, struct gs_error *err)
{
	const struct sim_trace *t = r->cluster->trace;

	while (r->finished < t->count) {
		uint64_t now = r->node[r->heap[0]].next;

		if (r->arrived < t->count && t->job[r->arrived].submit_ns < now)
			now = t->job[r->arrived].submit_ns;
		if (now == UINT64_MAX)
			return gs_fail(err, "nothing happens while job %.40s waits",
				       t->job[r->head < t->count ? r->head : 0].id);
		if (sim_time_check(now, err) < 0)
			return -1;
		while (r->node[r->heap[0]].next <= now)
			step(r, r->heap[0], now);
		for (; r->arrived < t->count && t->job[r->arrived].submit_ns <= now; r->arrived++)
			r->freed = 1;
		if (r->freed) {
			r->freed = 0;
			if (place(r, now, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* ---- Before and after ------------------------------------------------------ */

static int make_nodes(struct run *r, const char *policy, struct gs_error *err)
{
	uint32_t n = r->cluster->gpus;

	r->node = calloc(n, sizeof(*r->node));
	r->heap = calloc(n, sizeof(*r->heap));
	if (!r->node || !r->heap)
		return gs_fail(err, "no memory");
	for (size_t i = 0; i <= SIM_GPU_SHARES; i++)
		r->with[i] = NONE;
	/* From the last, so that the first is at the list's head. */
	for (uint32_t i = n; i-- > 0;) {
		r->node[i].gpu = sim_gpu_create(policy, &r->cluster->options, &r->cluster->costs,
						&r->hooks, err);
		if (!r->node[i].gpu)
			return -1;
		r->node[i].next = UINT64_MAX;
		put(r, i, i);
		put_in(r, i, SIM_GPU_SHARES);
	}
	return 0;
}

static int check_jobs(const struct sim_cluster *c, struct gs_error *err)
{
	for (size_t i = 0; i < c->trace->count; i++)
		if (parts_of(&c->trace->job[i]) > c->gpus)
			return gs_fail(err, "%.80s:%u: job %.40s wants %u GPUs of %u",
				       c->trace->file, c->trace->job[i].line, c->trace->job[i].id,
				       parts_of(&c->trace->job[i]), c->gpus);
	return 0;
}

static int summarize(const struct run *r, const char *policy, struct sim_cluster_summary *s,
		     struct gs_error *err)
{
	const struct sim_trace *t = r->cluster->trace;
	double *ntt = malloc(t->count * sizeof(*ntt));
	double *shares = malloc(t->count * sizeof(*shares)), busy = 0;
	struct gs_sharing sharing;
	uint64_t end = 1;

	*s = (struct sim_cluster_summary) { .policy = policy, .most_live = r->most_live };
	for (size_t i = 0; ntt && shares && i < t->count; i++) {
		const struct sim_job_outcome *o = &r->outcome[i];

		ntt[i] = gs_ntt((double)(o->finish_ns - t->job[i].submit_ns),
				(double)t->job[i].length_ns);
		shares[i] = t->job[i].shares;
		s->wait_s += (double)(o->start_ns - t->job[i].submit_ns) / 1e9 / (double)t->count;
		end = o->finish_ns > end ? o->finish_ns : end;
	}
	for (uint32_t i = 0; i < r->cluster->gpus; i++) {
		busy += (double)sim_gpu_busy_ns(r->node[i].gpu);
		s->handovers += sim_gpu_handovers(r->node[i].gpu);
		s->faults += sim_gpu_faults(r->node[i].gpu);
	}
	if (ntt && shares) {
		gs_sharing(ntt, shares, t->count, &sharing);
		s->antt = sharing.antt;
		s->dntt = sharing.dntt;
		s->stp = sharing.stp;
		s->jain = sharing.jain;
		s->makespan_s = (double)end / 1e9;
		s->busy = busy / ((double)end * r->cluster->gpus);
	}
	free(shares);
	int rc = ntt && shares ? 0 : gs_fail(err, "no memory");
	free(ntt);
	return rc;
}

int sim_cluster_run(const struct sim_cluster *cluster, const char *policy,
		    struct sim_job_outcome *outcome, struct sim_cluster_summary *summary,
		    struct gs_error *err)
{
	struct run r = { .cluster = cluster, .outcome = outcome };
	int rc;

	r.hooks = (struct sim_hooks) { on_finish, NULL, &r };
	for (size_t i = 0; i < cluster->trace->count; i++)
		outcome[i] = (struct sim_job_outcome) { .start_ns = UINT64_MAX };
	rc = check_jobs(cluster, err);
	if (rc == 0)
		rc = make_nodes(&r, policy, err);
	if (rc == 0)
		rc = loop(&r, err);
	if (rc == 0)
		rc = summarize(&r, policy, summary, err);
	for (uint32_t i = 0; r.node && i < cluster->gpus; i++)
		sim_gpu_destroy(r.node[i].gpu);
	free(r.node);
	free(r.heap);
	return rc;
}
