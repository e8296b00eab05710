/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of processes that outlive their step; see outlived.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/outlived.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/proto/job_name.h"

#define MIB(bytes) ((bytes) >> 20)
/* Of one process: it was a client of a step on each GPU at most, unless it plays with us. */
#define OF_ONE_PROCESS 16
/* The ends of more processes than that are noticed by the sweep alone. */
#define WATCHED_MAX 1024

struct outlived {
	LIST_ENTRY(outlived) link;
	pid_t pid;
	uint64_t start; /* start time of that process (proc.h) */
	uid_t uid;      /* 0: not known any more */
	int pidfd;      /* -1: only the sweep notices its end */
	struct event *ended;
	uint32_t job_id, step_id;
	uint64_t id; /* its id as a client, or as a step, in the ledger */
	uint64_t bytes;
	struct gs_device *device;
	struct gs_alloc *in;  /* set: it is counted in the allocation of the job's other steps */
	struct gs_alloc *own; /* set: it is counted by itself */
};

static LIST_HEAD(, outlived) all = LIST_HEAD_INITIALIZER(all);

/* A pidfd signals the end of the last thread, when the driver has its memory back. */
static int lives(const struct outlived *o)
{
	struct pollfd p = { .fd = o->pidfd, .events = POLLIN };

	if (o->pidfd >= 0)
		return poll(&p, 1, 0) == 0;
	return gs_proc_alive(o->pid, o->start);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gs_outlived_sweep(arg); /* this also frees the event */
}

/* How many are watched, and how many are of that process. */
static void count(const struct outlived *of, unsigned *watched, unsigned *theirs)
{
	const struct outlived *o;

	*watched = *theirs = 0;
	LIST_FOREACH (o, &all, link) {
		*watched += o->pidfd >= 0;
		*theirs += o->pid == of->pid && o->start == of->start;
	}
}

static void watch(struct gs_daemon *d, struct outlived *o)
{
	o->pidfd = (int)syscall(SYS_pidfd_open, o->pid, 0);
	if (o->pidfd < 0 || !d->base)
		return;
	o->ended = gs_event_new(d->base, o->pidfd, EV_READ, on_ended, d);
	if (o->ended)
		event_add(o->ended, NULL);
}

static void forget(struct outlived *o)
{
	LIST_REMOVE(o, link);
	if (o->ended)
		gs_event_free(o->ended);
	if (o->pidfd >= 0)
		close(o->pidfd);
	free(o->own);
	free(o);
}

static struct outlived *add(struct gs_daemon *d, const struct outlived *model)
{
	unsigned watched, theirs;
	struct outlived *o;

	count(model, &watched, &theirs);
	o = theirs < OF_ONE_PROCESS ? calloc(1, sizeof(*o)) : NULL;
	if (!o)
		return NULL;
	*o = *model;
	o->id = ++d->next_id;
	o->pidfd = -1; /* the model's is its connection's */
	if (watched < WATCHED_MAX)
		watch(d, o);
	LIST_INSERT_HEAD(&all, o, link);
	return o;
}

void gs_outlived_note(struct gs_connection *conn)
{
	struct outlived model = {
		.pid = conn->pid, .start = conn->start, .uid = conn->uid, .pidfd = conn->pidfd
	};
	uint64_t driver = 0;

	if (!conn->client || !conn->start || !lives(&model))
		return;
	model.device = conn->device;
	model.in = conn->step->alloc;
	model.job_id = conn->step->info.job_id;
	model.step_id = conn->step->info.step_id;
	gs_lease_recall(conn); /* what it has not used of its lease it does not hold */
	model.bytes = gs_ledger_held(conn->device->ledger, conn->step->alloc->id, conn->id);
	/* What the client said in HELLO is only its own word, and must not cost others more than
	 * its step was given. */
	if (model.bytes > conn->step->alloc->bytes)
		model.bytes = conn->step->alloc->bytes;
	/* The ledger does not count contexts and code, but the driver does. */
	if (gs_memory_check_use(conn, &driver) && driver > model.bytes)
		model.bytes = driver;
	if (model.bytes)
		add(conn->d, &model);
}

static void counted(struct outlived *o)
{
	char name[16];

	o->device->outlived += o->bytes;
	gs_complain("job " GS_JOB_F ".%s pid %d: outlives its step: its %" PRIu64
		    " MiB of gpu %u stay counted until it is gone",
		    GS_JOB(o->job_id), gs_step_name(o->step_id, name, sizeof(name)), (int)o->pid,
		    MIB(o->bytes), o->device->index);
}

void gs_outlived_keep(struct gs_daemon *d, struct gs_alloc *alloc)
{
	struct outlived *o;

	(void)d;
	LIST_FOREACH (o, &all, link)
		if (o->in == alloc && !gs_ledger_held(o->device->ledger, alloc->id, o->id) &&
		    gs_ledger_adopt(o->device->ledger, alloc->id, o->id, o->bytes) == 0)
			counted(o);
}

/* Returns -1 if it cannot be counted; its memory is unavailable all the same. */
static int count_by_itself(struct outlived *o)
{
	uint64_t there = gs_memory_available(o->device);
	struct gs_alloc *a = calloc(1, sizeof(*a));
	struct gs_error err;

	o->in = NULL;
	if (o->bytes > there)
		o->bytes = there; /* it held more than its step had reserved */
	if (!a)
		return -1;
	*a = (struct gs_alloc) { .id = o->id, .device = o->device, .bytes = o->bytes };
	if (gs_memory_arrive(a, 0, 1, &err) < 0) {
		gs_log(GS_LOG_WARN, "pid %d: its memory is not counted: %s", (int)o->pid, err.text);
		free(a);
		return -1;
	}
	o->own = a;
	return 0;
}

void gs_outlived_leave(struct gs_daemon *d, struct gs_alloc *alloc)
{
	struct outlived *o, *next;

	(void)d;
	for (o = LIST_FIRST(&all); o; o = next) {
		next = LIST_NEXT(o, link);
		if (o->in != alloc)
			continue;
		o->device->outlived -= o->bytes;
		if (count_by_itself(o) == 0)
			o->device->outlived += o->bytes;
		else
			forget(o);
	}
}

int gs_outlived_sweep(struct gs_daemon *d)
{
	struct outlived *o, *next;
	int gone = 0;

	for (o = LIST_FIRST(&all); o; o = next) {
		char name[16];

		next = LIST_NEXT(o, link);
		if (lives(o))
			continue;
		gs_user_log(o->uid,
			    "job " GS_JOB_F ".%s pid %d: gone: its %" PRIu64
			    " MiB of gpu %u are free",
			    GS_JOB(o->job_id), gs_step_name(o->step_id, name, sizeof(name)),
			    (int)o->pid, MIB(o->bytes), o->device->index);
		if (o->in)
			gs_ledger_client_gone(o->device->ledger, o->in->id, o->id);
		if (o->own)
			gs_memory_leave(o->own);
		o->device->outlived -= o->bytes;
		forget(o);
		gone = 1;
	}
	if (gone) {
		gs_memory_step(d);
		gs_state_save(d);
	}
	return gone;
}

void gs_outlived_fini(struct gs_daemon *d)
{
	(void)d;
	while (!LIST_EMPTY(&all))
		forget(LIST_FIRST(&all));
}

/* ---- across a restart -------------------------------------------------- */

static int print_rest(const struct gs_daemon *d, FILE *f)
{
	const struct outlived *o;
	int n = 0;

	(void)d;
	LIST_FOREACH (o, &all, link) {
		n++;
		if (f)
			fprintf(f, "outlived %u %u %d %" PRIu64 " %u %" PRIu64 "\n", o->job_id,
				o->step_id, (int)o->pid, o->start, o->device->index, o->bytes);
	}
	return n;
}

/* The allocation of another step of the job on that GPU; NULL: there is none. */
static struct gs_alloc *of_job(struct gs_daemon *d, uint32_t job_id, const struct gs_device *device)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == job_id && s->alloc->device == device && s->alloc->admitted)
			return s->alloc;
	return NULL;
}

static int parse(struct gs_daemon *d, const char *line)
{
	struct outlived model = { .pidfd = -1 }, *o;
	unsigned gpu;
	int pid, at = 0;

	if (sscanf(line, "outlived %u %u %d %" SCNu64 " %u %" SCNu64 "%n", &model.job_id,
		   &model.step_id, &pid, &model.start, &gpu, &model.bytes, &at) != 6 ||
	    line[at] || pid <= 1 || !model.bytes)
		return 0;
	model.pid = pid;
	model.device = gs_device_find(d, gpu);
	if (!model.device || !gs_proc_alive(model.pid, model.start))
		return 1;
	o = add(d, &model);
	if (!o)
		return 1;
	o->in = of_job(d, o->job_id, o->device);
	if (o->in ? gs_ledger_adopt(o->device->ledger, o->in->id, o->id, o->bytes) < 0 :
		    count_by_itself(o) < 0)
		forget(o);
	else
		counted(o);
	return 1;
}

const struct gs_state_part gs_outlived_part = { .parse = parse, .print_rest = print_rest };
