/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrivals, reserve cycles and releases in order of time; see memory.h. */
#include "gpushare/sim/memory.h"

#include <stdlib.h>

#define NEVER UINT64_MAX

/* A kernel and a time to sort it by. */
struct timed {
	uint64_t at;
	uint32_t kernel;
};

struct play {
	const struct sim_memory *memory;
	struct sim_admission *admission;
	struct gs_rbdm *rbdm;
	struct timed *order; /* kernels by arrival */
	size_t next;         /* arrival to come */
	uint32_t *running;
	size_t running_count;
	uint64_t now;
};

static const struct sim_kernel *kernel_of(const struct play *p, uint32_t k)
{
	return &p->memory->workload->kernel[k];
}

/* The first cycle that begins at or after t. */
static uint64_t cycle_from(const struct play *p, uint64_t t)
{
	return t / p->memory->cycle_ns + (t % p->memory->cycle_ns != 0);
}

static uint64_t arrival_cycle(const struct play *p, uint32_t k)
{
	return cycle_from(p, kernel_of(p, k)->arrival_ns);
}

static uint64_t next_event(const struct play *p)
{
	uint64_t t = gs_rbdm_due(p->rbdm);

	/* Beyond the clock is an error (sim_time_check()), not NEVER. */
	if (t != NEVER)
		t = t < NEVER / p->memory->cycle_ns ? t * p->memory->cycle_ns : NEVER - 1;
	if (p->next < p->memory->workload->count) {
		uint64_t at = arrival_cycle(p, p->order[p->next].kernel) * p->memory->cycle_ns;

		t = at < t ? at : t;
	}
	for (size_t i = 0; i < p->running_count; i++) {
		uint64_t at = p->admission[p->running[i]].finish_ns;

		t = at < t ? at : t;
	}
	return t;
}

static int step(struct play *p, struct gs_error *err)
{
	uint64_t cycle = p->now / p->memory->cycle_ns, id;

	for (size_t i = 0; i < p->running_count;)
		if (p->admission[p->running[i]].finish_ns <= p->now) {
			gs_rbdm_leave(p->rbdm, p->running[i]);
			p->running[i] = p->running[--p->running_count];
		} else {
			i++;
		}
	for (; p->next < p->memory->workload->count; p->next++) {
		uint32_t k = p->order[p->next].kernel;
		const struct sim_kernel *kernel = kernel_of(p, k);

		if (arrival_cycle(p, k) > cycle)
			break;
		if (gs_rbdm_arrive(p->rbdm, k, (uint32_t)kernel->priority, kernel->memory_mb, cycle,
				   err) < 0)
			return -1;
	}
	while (gs_rbdm_next(p->rbdm, cycle, &id)) {
		struct sim_admission *a = &p->admission[id];

		a->start_ns = p->now;
		a->finish_ns = p->now + kernel_of(p, (uint32_t)id)->length_ns;
		p->running[p->running_count++] = (uint32_t)id;
	}
	return 0;
}

static int play(struct play *p, struct gs_error *err)
{
	uint64_t t;

	while ((t = next_event(p)) != NEVER) {
		p->now = t;
		if (sim_time_check(t, err) < 0 || step(p, err) < 0)
			return -1;
	}
	return 0;
}

/* P_1 + ... + P_n of the distinct priorities (6 for high, middle and low; Table 1). */
static uint32_t sum_of_priorities(const struct sim_workload *w)
{
	uint32_t sum = 0;

	for (int32_t priority = 1; priority <= 1000; priority++)
		for (size_t i = 0; i < w->count; i++)
			if (w->kernel[i].priority == priority) {
				sum += (uint32_t)priority;
				break;
			}
	return sum;
}

/* "file:line: name" of a kernel. */
static void place_of(const struct sim_workload *w, const struct sim_kernel *k, char *buf,
		     size_t size)
{
	if (w->name && k->line)
		snprintf(buf, size, "%.80s:%u: %s", w->name, k->line, k->name);
	else
		snprintf(buf, size, "%s", k->name);
}

static int check(const struct sim_workload *w, uint64_t capacity, struct gs_error *err)
{
	char place[160];

	for (size_t i = 0; i < w->count; i++) {
		const struct sim_kernel *k = &w->kernel[i];

		if (k->memory_mb && k->priority > 0 && k->memory_mb <= capacity)
			continue;
		place_of(w, k, place, sizeof(place));
		if (k->memory_mb == 0 || k->priority <= 0)
			return gs_fail(err, "%s: needs memory_mb and a priority above zero", place);
		return gs_fail(err, "%s: needs %u of %llu MB", place, k->memory_mb,
			       (unsigned long long)capacity);
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* What is known before anything runs: RM, operations, ready cycle and its rank, order of arrival.
 */
static void plan(struct play *p, const struct gs_rbdm_options *options)
{
	const struct sim_workload *w = p->memory->workload;
	unsigned rank = 0;

	for (uint32_t k = 0; k < w->count; k++) {
		struct sim_admission *a = &p->admission[k];
		uint64_t mb = w->kernel[k].memory_mb;

		a->rm_mb = options->admission == GS_ADMISSION_FCFS ?
				   mb :
				   gs_rbdm_rm(mb, (uint32_t)w->kernel[k].priority,
					      options->priority_sum);
		a->operations = gs_rbdm_operations(mb, a->rm_mb);
		a->ready_cycle = arrival_cycle(p, k) + a->operations - 1;
	}
	for (uint32_t k = 0; k < w->count; k++)
		p->order[k] = (struct timed) { p->admission[k].ready_cycle, k };
	qsort(p->order, w->count, sizeof(*p->order), by_time);
	for (size_t i = 0; i < w->count; i++) {
		rank += i == 0 || p->order[i].at != p->order[i - 1].at;
		p->admission[p->order[i].kernel].rank = rank;
	}
	for (uint32_t k = 0; k < w->count; k++)
		p->order[k] = (struct timed) { w->kernel[k].arrival_ns, k };
	qsort(p->order, w->count, sizeof(*p->order), by_time);
}

int sim_memory_run(const struct sim_memory *memory, struct sim_admission *admission,
		   struct gs_error *err)
{
	const struct sim_workload *w = memory->workload;
	struct gs_rbdm_options options = memory->options;
	struct play p = { .memory = memory, .admission = admission };
	int rc = -1;

	if (memory->cycle_ns == 0)
		return gs_fail(err, "a cycle must be longer than zero");
	if (check(w, options.capacity, err) < 0)
		return -1;
	if (!options.priority_sum)
		options.priority_sum = sum_of_priorities(w);
	p.rbdm = gs_rbdm_create(&options, err);
	if (!p.rbdm)
		return -1;
	p.order = calloc(w->count, sizeof(*p.order));
	p.running = calloc(w->count, sizeof(*p.running));
	if (!p.order || !p.running) {
		gs_fail(err, "no memory");
		goto out;
	}
	plan(&p, &options);
	rc = play(&p, err);
out:
	free(p.order);
	free(p.running);
	gs_rbdm_destroy(p.rbdm);
	return rc;
}

void sim_memory_sums(const struct sim_workload *w, const struct sim_admission *admission,
		     int32_t priority, unsigned *tasks, double *response_ms, double *completion_ms)
{
	*tasks = 0;
	*response_ms = *completion_ms = 0;
	for (size_t i = 0; i < w->count; i++) {
		const struct sim_kernel *k = &w->kernel[i];

		if (k->priority != priority)
			continue;
		++*tasks;
		*response_ms += (double)(admission[i].start_ns - k->arrival_ns) / 1e6;
		*completion_ms += (double)(admission[i].finish_ns - k->arrival_ns) / 1e6;
	}
}

static void write_rows(FILE *out, const struct sim_workload *w,
		       const struct sim_admission *admission, const char *row, const char *sum)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct sim_admission *a = &admission[i];

		fprintf(out, row, w->kernel[i].name, w->kernel[i].priority, w->kernel[i].memory_mb,
			(unsigned long long)a->rm_mb, (unsigned long long)a->operations,
			(unsigned long long)a->ready_cycle, a->rank, (double)a->start_ns / 1e6,
			(double)a->finish_ns / 1e6);
	}
	fputs(sum, out);
}

static void write_sums(FILE *out, const struct sim_workload *w,
		       const struct sim_admission *admission, const char *format)
{
	for (int32_t priority = 1000; priority > 0; priority--) {
		double response, completion;
		unsigned tasks;

		sim_memory_sums(w, admission, priority, &tasks, &response, &completion);
		if (tasks)
			fprintf(out, format, priority, tasks, response, completion);
	}
}

void sim_memory_write_csv(FILE *out, const struct sim_workload *w,
			  const struct sim_admission *admission)
{
	fputs("name,priority,memory_mb,rm_mb,operations,ready_cycle,rank,start_ms,finish_ms\n",
	      out);
	write_rows(out, w, admission, "%s,%d,%u,%llu,%llu,%llu,%u,%.6f,%.6f\n",
		   "priority,tasks,response_ms,completion_ms\n");
	write_sums(out, w, admission, "%d,%u,%.6f,%.6f\n");
}

void sim_memory_write_table(FILE *out, const struct sim_workload *w,
			    const struct sim_admission *admission)
{
	fprintf(out, "%-20s %8s %9s %8s %10s %11s %5s %12s %12s\n", "kernel", "priority",
		"memory MB", "RM MB", "operations", "ready cycle", "rank", "start ms", "finish ms");
	write_rows(out, w, admission, "%-20s %8d %9u %8llu %10llu %11llu %5u %12.3f %12.3f\n",
		   "\npriority    tasks  sum of response ms  sum of completion ms\n");
	write_sums(out, w, admission, "%8d %8u %19.3f %21.3f\n");
}
