/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making a GPU, and changing its settings; see gpu.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "gpushare/arbiter/corun.h"
#include "gpushare/arbiter/group.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/launch_barrier.h"
#include "gpushare/arbiter/task.h"

/* Copies the options. The policy's name belongs to the caller, so it is copied as well. */
static void keep_options(struct gs_gpu *gpu, const struct gs_gpu_options *options)
{
	gpu->o = *options;
	strncpy(gpu->settings.policy, options->policy, sizeof(gpu->settings.policy) - 1);
	gpu->o.policy = gpu->settings.policy;
	gpu->o.classes = NULL;
	gpu->o.nclasses = 0;
}

static void keep_names(struct gs_gpu *gpu, const struct gs_gpu_options *options)
{
	memset(gpu->settings.class_name, 0, sizeof(gpu->settings.class_name));
	for (size_t i = 0; i < options->nclasses; i++)
		if (options->classes[i].name)
			strncpy(gpu->settings.class_name[i], options->classes[i].name,
				sizeof(gpu->settings.class_name[i]) - 1);
}

static struct gs_sched *make_sched(const struct gs_gpu_options *options, uint64_t now,
				   struct gs_error *err)
{
	struct gs_sched *sched = gs_sched_create(options->policy, &options->sched, now, err);

	if (sched && options->nclasses && !options->sched.by_priority &&
	    gs_sched_set_classes(sched, options->classes, options->nclasses, now, err) < 0) {
		gs_sched_destroy(sched);
		return NULL;
	}
	return sched;
}

struct gs_gpu *gs_gpu_create(uint32_t index, const struct gs_gpu_options *options, uint64_t now,
			     struct gs_error *err)
{
	struct gs_gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu) {
		gs_fail(err, "no memory");
		return NULL;
	}
	gpu->index = index;
	gpu->deadline = UINT64_MAX;
	gpu->settings.handover_ns = options->sched.handover_ns;
	LIST_INIT(&gpu->clients);
	keep_options(gpu, options);
	keep_names(gpu, options);
	gpu->sched = make_sched(options, now, err);
	if (!gpu->sched) {
		free(gpu);
		return NULL;
	}
	gpu->trace = gs_trace_create(GS_TRACE_RECORDS);
	if (!gpu->trace) {
		gs_fail(err, "no memory");
		gs_gpu_destroy(gpu);
		return NULL;
	}
	return gpu;
}

void gs_gpu_destroy(struct gs_gpu *gpu)
{
	if (!gpu)
		return;
	gs_sched_destroy(gpu->sched);
	gs_trace_destroy(gpu->trace);
	free(gpu);
}

int gs_gpu_configure(struct gs_gpu *gpu, const struct gs_gpu_options *options, uint64_t now,
		     struct gs_error *err)
{
	struct gs_sched *fresh = make_sched(options, now, err);
	struct gs_gpu_client *t;

	if (!fresh)
		return -1;
	LIST_FOREACH (t, &gpu->clients, link)
		gs_gpu_task_leave(t, now);
	gs_sched_destroy(gpu->sched);
	gpu->sched = fresh;
	gpu->leave.stopping = 0;
	memset(gpu->figures.faults_said, 0, sizeof(gpu->figures.faults_said));
	gpu->deadline = UINT64_MAX;
	gpu->settings.handover_ns = options->sched.handover_ns;
	keep_options(gpu, options);
	keep_names(gpu, options);
	gs_gpu_group_leave_all(gpu);
	LIST_FOREACH (t, &gpu->clients, link) {
		gs_gpu_corun_configured(t);
		t->watch.leave_most_ns = options->leave_most_ns;
		gs_launch_barrier_reset(t);
		t->dirty = 1; /* the next poll makes it a task again */
	}
	return 0;
}

int gs_gpu_set_policy(struct gs_gpu *gpu, const char *policy, uint64_t now, struct gs_error *err)
{
	struct gs_gpu_options o = gpu->o;

	if (gs_sched_set_policy(gpu->sched, policy, now, err) < 0)
		return -1;
	o.policy = policy;
	keep_options(gpu, &o);
	gs_gpu_group_leave_all(gpu);
	return 0;
}

int gs_gpu_set_class_policy(struct gs_gpu *gpu, const char *class, const char *policy, uint64_t now,
			    struct gs_error *err)
{
	for (size_t i = 0; *class && i < gs_sched_class_count(gpu->sched); i++) {
		if (strcmp(gpu->settings.class_name[i], class) != 0)
			continue;
		if (gs_sched_set_class_policy(gpu->sched, i, policy, now, err) < 0)
			return -1;
		gs_gpu_group_leave_all(gpu);
		return 0;
	}
	return gs_fail(err, "there is no class '%.70s'", class);
}
