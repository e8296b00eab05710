/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registered steps and their reservations; see steps.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/deadlines.h"
#include "gpushare/daemon/steps/steps.h"

#include <assert.h>
#include <inttypes.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/memory/dmem_steps.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_history.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/steps/outlived.h"
#include "gpushare/daemon/steps/places.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/steps/registrant.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/steps/step_line.h"
#include "gpushare/proto/job_name.h"

#define LISTENERS_MAX 4

static gs_step_listener *over_listeners[LISTENERS_MAX];
static gs_alloc_listener *alloc_listeners[LISTENERS_MAX];

/* How many kernels of a step that has ended are kept. */
#define KERNELS_KEPT 64
#define LONG_LIST 1024 /* kernels: some hundred KiB */

void gs_steps_on_over(gs_step_listener *listener)
{
	size_t i = 0;

	while (over_listeners[i])
		i++;
	assert(i + 1 < LISTENERS_MAX); /* the last one stays NULL */
	over_listeners[i] = listener;
}

void gs_allocs_on_over(gs_alloc_listener *listener)
{
	size_t i = 0;

	while (alloc_listeners[i])
		i++;
	assert(i + 1 < LISTENERS_MAX);
	alloc_listeners[i] = listener;
}

static int has_jobs_allocation(uint32_t step_id)
{
	return step_id == GS_STEP_BATCH || step_id == GS_STEP_INTERACTIVE ||
	       step_id == GS_STEP_EXTERN;
}

/* An administrator's order for the job also holds for its later steps. */
static void inherit_priority(struct gs_daemon *d, struct gs_step_info *info)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == info->job_id && s->info.priority_set == GS_PRIORITY_ORDER) {
			info->priority_set = GS_PRIORITY_ORDER;
			info->priority = s->info.priority;
			return;
		}
}

/* The allocation of the job's batch step, if this step fits into it. */
static struct gs_alloc *jobs_allocation(struct gs_daemon *d, const struct gs_step_info *info,
					uint64_t bytes)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == info->job_id && s->info.uid == info->uid &&
		    has_jobs_allocation(s->info.step_id) && s->alloc->device->index == info->gpu &&
		    s->alloc->shares >= info->shares && s->reservation >= bytes)
			return s->alloc;
	return NULL;
}

/* Shares of the GPU that allocations of the job have, and the largest of those. */
static uint32_t jobs_shares(struct gs_daemon *d, const struct gs_step_info *info,
			    struct gs_step **largest)
{
	struct gs_step *s, *before;
	uint32_t sum = 0;

	*largest = NULL;
	TAILQ_FOREACH (s, &d->steps, link) {
		if (s->info.local || s->info.job_id != info->job_id || s->info.uid != info->uid ||
		    s->alloc->device->index != info->gpu)
			continue;
		if (!*largest || s->alloc->bytes > (*largest)->alloc->bytes)
			*largest = s;
		for (before = TAILQ_FIRST(&d->steps); before->alloc != s->alloc;)
			before = TAILQ_NEXT(before, link);
		sum += before == s ? s->alloc->shares : 0; /* each allocation once */
	}
	return sum;
}

/*
 * Steps that overlap have the same shares in Slurm's eyes (srun --overlap), and each would have
 * them once more here.  1: the step must run in the allocation at *in; 0; -1: it cannot.
 */
static int must_share(struct gs_daemon *d, const struct gs_step_info *info, struct gs_alloc **in,
		      struct gs_error *err)
{
	struct gs_step *largest = NULL;
	uint32_t sum = info->job_shares ? jobs_shares(d, info, &largest) : 0;

	if (!sum || (uint64_t)sum + info->shares <= info->job_shares)
		return 0;
	if (info->memory && info->memory != GS_MEMORY_AUTO && info->memory > largest->alloc->bytes)
		return gs_fail(err,
			       "the job's other steps have all its shares, and %" PRIu64
			       " MiB: there is no more for this one",
			       largest->alloc->bytes >> 20);
	*in = largest->alloc;
	return 1;
}

static struct gs_alloc *new_allocation(struct gs_daemon *d, struct gs_device *device,
				       const struct gs_step_info *info, uint64_t bytes,
				       struct gs_error *err)
{
	uint32_t taken = gs_steps_shares(d, device), shares = info->shares;
	struct gs_alloc *a;

	if (shares > device->shares - taken) {
		gs_fail(err, "%u shares of GPU %u asked for, %u of %u are taken", shares,
			device->index, taken, device->shares);
		return NULL;
	}
	a = calloc(1, sizeof(*a));
	if (!a) {
		gs_fail(err, "no memory");
		return NULL;
	}
	a->id = ++d->next_id;
	a->shares = shares;
	a->device = device;
	a->bytes = bytes;
	if (gs_memory_arrive(a, gs_step_priority(d->config, info), info->admitted, err) < 0) {
		free(a);
		return NULL;
	}
	return a;
}

static void alloc_put(struct gs_daemon *d, struct gs_alloc *a)
{
	if (--a->steps)
		return;
	for (size_t i = 0; alloc_listeners[i]; i++)
		alloc_listeners[i](d, a);
	gs_memory_leave(a);
	gs_outlived_leave(d, a);
	free(a);
}

static int check_info(struct gs_daemon *d, const struct gs_step_info *info,
		      struct gs_device **device, struct gs_error *err)
{
	*device = gs_device_find(d, info->gpu);
	if (!*device)
		return gs_fail(err, "there is no GPU %u here", info->gpu);
	if (info->shares == 0 || info->shares > (*device)->shares)
		return gs_fail(err, "%u shares asked for: GPU %u has 1 to %u", info->shares,
			       info->gpu, (*device)->shares);
	if (info->step_id == GS_STEP_ANY)
		return gs_fail(err, "a step needs a step id of its own");
	if (gs_step_find(d, info->job_id, info->step_id))
		return gs_fail(err, "the step is registered already");
	return 0;
}

/* Looked up once per step, since a directory service may be slow. */
static void name_user(struct gs_step *s)
{
	char buf[4096];
	struct passwd pw, *found = NULL;

	if (getpwuid_r(s->info.uid, &pw, buf, sizeof(buf), &found) != 0)
		found = NULL;
	gs_user_name(s->user, found ? pw.pw_name : NULL, s->info.uid);
}

/* The reservation: as requested, by earlier runs of the program, or in proportion to the shares. */
static uint64_t bytes_of(const struct gs_daemon *d, const struct gs_device *device,
			 const struct gs_step *s)
{
	const struct gs_step_info *info = &s->info;
	uint64_t part = (uint64_t)((double)device->memory * info->shares / device->shares);
	uint64_t known;

	if (info->memory != GS_MEMORY_AUTO)
		return info->memory ? info->memory : part;
	known = gs_peaks_estimate(d->peaks, s->user, info->program, d->config->memory_margin,
				  device->memory);
	gs_user_log(info->uid, "job " GS_JOB_F ": %" PRIu64 " MiB, by %s", GS_JOB(info->job_id),
		    (known ? known : part) >> 20,
		    known ? "earlier runs of the program" : "its shares: no earlier run is known");
	return known ? known : part;
}

static void on_registrant_gone(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gs_steps_sweep(arg); /* this ends the step and frees this event */
}

static void free_step(struct gs_step *s)
{
	gs_step_usage_fini(&s->live);
	gs_step_usage_fini(&s->usage);
	free(s);
}

static struct gs_step *new_step(const struct gs_step_info *info, struct gs_error *err)
{
	struct gs_step *s = calloc(1, sizeof(*s));

	if (!s) {
		gs_fail(err, "no memory");
		return NULL;
	}
	s->info = *info;
	if (info->period.deadline_ns &&
	    (gs_step_usage_time(&s->live) < 0 || gs_step_usage_time(&s->usage) < 0)) {
		free_step(s);
		gs_fail(err, "no memory");
		return NULL;
	}
	return s;
}

static struct gs_step *add(struct gs_daemon *d, const struct gs_step_info *info,
			   struct gs_device *device, struct gs_error *err)
{
	struct gs_step *s = new_step(info, err);
	uint64_t bytes;

	if (!s)
		return NULL;
	name_user(s);
	bytes = bytes_of(d, device, s);
	if (info->memory == GS_MEMORY_AUTO)
		s->info.memory = bytes; /* so that the state file has the result */
	inherit_priority(d, &s->info);
	s->alloc = jobs_allocation(d, info, bytes);
	if (!s->alloc && must_share(d, &s->info, &s->alloc, err) < 0) {
		free_step(s);
		return NULL;
	}
	if (!s->alloc)
		s->alloc = new_allocation(d, device, &s->info, bytes, err);
	if (!s->alloc) {
		free_step(s);
		return NULL;
	}
	s->alloc->steps++;
	s->info.admitted = s->alloc->admitted;
	s->reservation = s->alloc->bytes;
	s->priority = gs_step_priority(d->config, &s->info);
	s->begun_s = time(NULL);
	TAILQ_INSERT_TAIL(&d->steps, s, link);
	gs_dmem_begin(d, s, GS_DMEM_PROC);
	gs_step_watch(d, s, on_registrant_gone);
	return s;
}

struct gs_step *gs_step_add(struct gs_daemon *d, const struct gs_step_info *info,
			    struct gs_error *err)
{
	struct gs_device *device;

	if (check_info(d, info, &device, err) < 0 || gs_places_admit(d, info->uid, err) < 0)
		return NULL;
	return add(d, info, device, err);
}

static void forget(struct gs_step *s)
{
	gs_step_unwatch(s);
	free(s->dmem_cgroup);
	free_step(s);
}

/* Closes one client of the step; returns 0 if it has none. */
static int close_one_client(struct gs_daemon *d, const struct gs_step *s)
{
	struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step == s) {
			gs_complain("%s: closed: its step is over", conn->who);
			gs_outlived_note(conn);
			gs_connection_close(conn);
			return 1;
		}
	return 0;
}

/* Many long lists at a time would leave the daemon as large as it was with all of them. */
static void trim(struct gs_step_usage *usage)
{
	int was_long = usage->nkernel > LONG_LIST;

	gs_step_usage_trim(usage, KERNELS_KEPT);
#ifdef __GLIBC__
	if (was_long)
		malloc_trim(0);
#else
	(void)was_long;
#endif
}

void gs_step_over(struct gs_daemon *d, struct gs_step *s, const char *why)
{
	struct gs_connection *conn;
	char name[16];

	while (close_one_client(d, s))
		;
	gs_outlived_keep(d, s->alloc);
	LIST_FOREACH (conn, &d->conns, link)
		if (conn->own == s)
			conn->own = NULL;
	gs_devices_sync(d, 0); /* take over what its launches have reported */
	gs_deadlines_say(s);
	gs_step_usage_fini(&s->usage);
	s->usage = s->live; /* the arbiter does not use `live` any more */
	memset(&s->live, 0, sizeof(s->live));
	gs_returning_add(s);
	gs_user_log(s->info.uid,
		    "job " GS_JOB_F ".%s uid %u: over: %s; %" PRIu64 " launches, %" PRIu64
		    " preemptions",
		    GS_JOB(s->info.job_id), gs_step_name(s->info.step_id, name, sizeof(name)),
		    (unsigned)s->info.uid, why, s->usage.launches, s->usage.preemptions);
	s->peak = gs_ledger_peak(s->alloc->device->ledger, s->alloc->id);
	s->ended_s = time(NULL);
	if (s->usage.worked_ns > s->alloc->worked_ns)
		s->alloc->worked_ns = s->usage.worked_ns;
	if (s->alloc->away_peak > s->peak)
		s->peak = s->alloc->away_peak;
	gs_step_unwatch(s);
	gs_dmem_end(d, s);
	alloc_put(d, s->alloc);
	s->alloc = NULL;
	gs_peaks_note(d->peaks, s->user, s->info.program, s->peak);
	for (size_t i = 0; over_listeners[i]; i++)
		over_listeners[i](d, s);
	trim(&s->usage);
	TAILQ_REMOVE(&d->steps, s, link);
	s = gs_places_finished(d, s);
	if (s)
		forget(s);
	gs_memory_step(d);
	gs_state_save(d);
}

void gs_steps_sweep(struct gs_daemon *d)
{
	struct gs_step *s, *next;

	gs_outlived_sweep(d);
	for (s = TAILQ_FIRST(&d->steps); s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (!gs_proc_alive(s->info.registrant, s->info.start))
			gs_step_over(d, s, "the process that registered it is gone");
	}
}

void gs_steps_fini(struct gs_daemon *d)
{
	struct gs_step *s;

	gs_outlived_fini(d);
	while ((s = TAILQ_FIRST(&d->steps))) {
		TAILQ_REMOVE(&d->steps, s, link);
		alloc_put(d, s->alloc);
		forget(s);
	}
	while ((s = TAILQ_FIRST(&d->finished.list))) {
		TAILQ_REMOVE(&d->finished.list, s, link);
		forget(s);
	}
}

/* ---- across a restart -------------------------------------------------- */

static void print(const struct gs_daemon *d, const struct gs_step *s, FILE *f)
{
	char line[GS_STATE_LINE_MAX];

	(void)d;
	gs_state_print(&s->info, line, sizeof(line));
	fprintf(f, "%s\n", line);
}

static int parse(struct gs_daemon *d, const char *line)
{
	struct gs_device *device;
	struct gs_step_info info;
	struct gs_error err;

	if (gs_state_parse(line, &info) < 0)
		return 0;
	/* Its user's limit does not apply: the step has its place already. */
	if (check_info(d, &info, &device, &err) < 0 || gs_places_left(d, &err) < 0 ||
	    !add(d, &info, device, &err))
		gs_log(GS_LOG_WARN, "job " GS_JOB_F " uid %u: dropped: %s", GS_JOB(info.job_id),
		       (unsigned)info.uid, err.text);
	else if (!gs_proc_alive(info.registrant, info.start)) /* gs_steps_sweep() ends it */
		gs_log(GS_LOG_INFO,
		       "job " GS_JOB_F " uid %u: known from before; pid %d, which registered it, "
		       "is gone",
		       GS_JOB(info.job_id), (unsigned)info.uid, (int)info.registrant);
	else
		gs_log(GS_LOG_INFO, "job " GS_JOB_F " uid %u: known from before",
		       GS_JOB(info.job_id), (unsigned)info.uid);
	return 1;
}

const struct gs_state_part gs_steps_part = { .print = print, .parse = parse };
