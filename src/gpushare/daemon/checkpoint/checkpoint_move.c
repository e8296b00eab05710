/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves an allocation's processes, one after the other.
 *
 *	leave   the client is pinned (pin.c) until it has finished what it had
 *	        begun; the driver checkpoints the process and moves its memory to
 *	        the host; then the client is parked: it is off the arbiter and its
 *	        messages are not read (it sleeps in its next CUDA call)
 *	return  the reverse; the client is added as one that brings its page
 *
 * If a process cannot leave, the allocation's processes that have left return.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/checkpoint_core.h"
#include "gpushare/daemon/checkpoint/idle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/session/clients.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/state.h"

#define MIB(bytes) ((bytes) >> 20)
#define SETTLE_POLL_NS (2 * GS_NS_PER_MS)
#define RETURN_AGAIN_NS (2 * GS_NS_PER_S)
/* After an attempt that the driver refused for want of memory it may refuse for ever. */
#define REFUSALS_MAX 3

static void leave_next(struct gs_checkpoint *t);
static void return_next(struct gs_checkpoint *t);

static void wake_in(struct gs_checkpoint *t, uint64_t ns)
{
	struct timeval tv = { (time_t)(ns / GS_NS_PER_S), (suseconds_t)(ns % GS_NS_PER_S / 1000) };

	evtimer_add(t->timer, &tv);
}

/* The event loop chooses the next one. A step without programs is done at once, so to choose the
 * next one here would recurse, once for each such step, until the stack is full. */
static void idle(struct gs_checkpoint *t)
{
	t->phase = GS_TAKE_IDLE;
	t->alloc = NULL;
	t->process = NULL;
	gs_state_save(t->d);
	gs_memory_step_soon(t->d);
}

static void start_checkpointer(struct gs_checkpoint *t, const char *verb,
			       gs_checkpointer_done *done)
{
	struct gs_away *away = t->alloc->away;
	struct gs_proc proc;

	t->checkpointer_ns = gs_clock_ns();
	t->checkpointer =
		gs_checkpointer_start(t->d, t->alloc->device, verb, t->process->pid, done, t);
	if (!t->checkpointer || gs_proc_read(gs_checkpointer_pid(t->checkpointer), &proc) < 0)
		return;
	/* a daemon that finds this in the state file waits for it */
	away->helper = gs_checkpointer_pid(t->checkpointer);
	away->helper_start = proc.start;
	gs_state_save(t->d);
}

/* The checkpointer has ended; 0: so has the allocation. */
static int has_moved(struct gs_checkpoint *t)
{
	t->checkpointer = NULL;
	if (t->alloc)
		t->alloc->away->helper = 0;
	else
		idle(t);
	return t->alloc != NULL;
}

/* How long gpushare-mem waited for kernels that were launched just then; 0: it does not say so. */
static uint64_t kernels_ns(const char *said)
{
	double s = 0;

	return sscanf(said, "locked in %lf s", &s) == 1 && s > 0 && s < 1e6 ? (uint64_t)(s * 1e9) :
									      0;
}

/* The checkpointer has moved these bytes, out or back: adds them to all steps of the allocation. */
static void count(struct gs_checkpoint *t, int back, uint64_t bytes, const char *said)
{
	uint64_t ns = gs_clock_ns() - t->checkpointer_ns, kernels = kernels_ns(said);
	struct gs_step *s;

	if (kernels < ns)
		ns -= kernels;

	TAILQ_FOREACH (s, &t->d->steps, link) {
		if (s->alloc != t->alloc)
			continue;
		*(back ? &s->moves.back_bytes : &s->moves.out_bytes) += bytes;
		*(back ? &s->moves.back_ns : &s->moves.out_ns) += ns;
	}
}

/* ---- return -------------------------------------------------------------- */

static void unpark(struct gs_checkpoint *t, struct gs_away_process *p)
{
	struct gs_connection *conn = p->conn;
	int released = t->alloc->away->released;
	uint64_t bytes = p->bytes;

	if (!conn) /* an earlier daemon's: it connects within a moment */
		gs_returning_expect(t->d, t->alloc, p->pid, p->start);
	gs_checkpoint_drop(p);
	t->process = NULL;
	if (conn && (gs_client_return(conn, released ? bytes : 0) < 0 ||
		     event_add(conn->readable, NULL) < 0))
		gs_connection_close(conn);
}

static void all_back(struct gs_checkpoint *t)
{
	struct gs_alloc *a = t->alloc;
	struct gs_step *s;
	char name[32];

	gs_log(GS_LOG_INFO, "%s: goes on with its memory, after %.3f s",
	       gs_checkpoint_name(t->d, a, name, sizeof(name)),
	       (double)(gs_clock_ns() - t->since_ns) / 1e9);
	if (a->away_peak)
		gs_ledger_note_peak(a->device->ledger, a->id, a->away_peak);
	free(a->away);
	a->away = NULL;
	a->away_peak = 0;
	a->admitted = 1;
	TAILQ_FOREACH (s, &t->d->steps, link)
		if (s->alloc == a)
			s->info.admitted = 1;
	gs_memory_welcome(t->d, a);
	idle(t);
}

static void on_returned(void *arg, enum gs_moved result, const char *said)
{
	struct gs_checkpoint *t = arg;
	struct gs_away_process *p = t->process;

	if (!has_moved(t))
		return;
	if (p && result == GS_MOVED) {
		gs_log(GS_LOG_INFO, "pid %d: its memory is back: %s", (int)p->pid, said);
		if (p->counted)
			count(t, 1, p->bytes, said);
		unpark(t, p);
	} else if (p && gs_proc_alive(p->pid, p->start)) {
		if (!p->failed)
			gs_log(GS_LOG_ERROR,
			       "pid %d: its memory does not come back, tried again every %d s: %s",
			       (int)p->pid, (int)(RETURN_AGAIN_NS / GS_NS_PER_S), said);
		p->failed = 1;
		p->refusals = result == GS_MOVE_REFUSED ? p->refusals + 1 : 0;
		if (p->refusals >= REFUSALS_MAX)
			t->lost(t, t->alloc, p, said);
		if (result == GS_MOVE_KILLED)
			p->counted = 0; /* it may return by itself, so the time is not known */
		t->alloc->away->again_ns = gs_clock_ns() + RETURN_AGAIN_NS;
		idle(t); /* others may be moved meanwhile */
		return;
	} else if (p && !p->conn) {
		gs_checkpoint_drop(p);
	}
	t->process = NULL;
	return_next(t);
}

/* The process of an earlier daemon's client may have ended unnoticed. */
static struct gs_away_process *next_away(struct gs_away *away)
{
	struct gs_away_process *p;

	while ((p = LIST_FIRST(&away->processes)) && !p->conn && !gs_proc_alive(p->pid, p->start))
		gs_checkpoint_drop(p);
	return p;
}

static void return_next(struct gs_checkpoint *t)
{
	struct gs_away_process *p = next_away(t->alloc->away);

	if (!p) {
		all_back(t);
		return;
	}
	t->process = p;
	start_checkpointer(t, "restore", on_returned);
	if (!t->checkpointer)
		wake_in(t, RETURN_AGAIN_NS);
}

void gs_checkpoint_return(struct gs_checkpoint *t, struct gs_alloc *a)
{
	t->phase = GS_TAKE_RETURNING;
	t->alloc = a;
	t->since_ns = gs_clock_ns();
	return_next(t);
}

/* ---- leave --------------------------------------------------------------- */

static void park(struct gs_away_process *p)
{
	struct gs_connection *conn = p->conn;

	gs_lease_note_peak(conn->d, conn->step->alloc);
	gs_lease_recall(conn);
	p->bytes = gs_ledger_held(conn->device->ledger, conn->step->alloc->id, conn->id);
	p->parked = 1;
	event_del(conn->readable); /* the end of its process is still noticed */
	gs_client_park(conn);
}

static void give_up(struct gs_checkpoint *t, const char *why)
{
	struct gs_away_process *p = t->process;

	gs_command_unpin(t->alloc->device->arbiter);
	if (p && !p->parked)
		gs_checkpoint_drop(p); /* it has not left, as gpushare-mem says */
	t->process = NULL;
	t->refused(t, t->alloc, why);
	gs_checkpoint_return(t, t->alloc);
}

static void all_left(struct gs_checkpoint *t)
{
	struct gs_alloc *a = t->alloc;
	struct gs_away_process *p;
	uint64_t bytes = 0;
	struct gs_step *s;
	char name[32];

	LIST_FOREACH (p, &a->away->processes, link)
		bytes += p->bytes;
	gs_log(GS_LOG_INFO, "%s: %" PRIu64 " MiB are on the host, after %.3f s",
	       gs_checkpoint_name(t->d, a, name, sizeof(name)), MIB(bytes),
	       (double)(gs_clock_ns() - t->since_ns) / 1e9);
	a->away_peak = gs_ledger_peak(a->device->ledger, a->id);
	gs_memory_leave(a);
	a->away->released = 1;
	TAILQ_FOREACH (s, &t->d->steps, link)
		if (s->alloc == a)
			s->info.admitted = 0;
	idle(t);
}

static void on_left(void *arg, enum gs_moved result, const char *said)
{
	struct gs_checkpoint *t = arg;
	struct gs_away_process *p = t->process;

	if (!has_moved(t))
		return;
	if (p && (result == GS_MOVE_FAILED || result == GS_MOVE_REFUSED)) {
		give_up(t, said);
		return;
	}
	if (p)
		park(p);
	if (p && result == GS_MOVE_KILLED) { /* its memory may be anywhere */
		give_up(t, said);
		return;
	}
	if (p) {
		gs_log(GS_LOG_INFO, "%s: its memory is on the host: %s", p->conn->who, said);
		count(t, 0, p->bytes, said);
		p->counted = 1;
	}
	leave_next(t);
}

static void settling(struct gs_checkpoint *t)
{
	struct gs_alloc *a = t->alloc;

	if (!t->process) {
		leave_next(t);
	} else if (a->away->idle && gs_idle_woke(t->d, a)) {
		give_up(t, "it uses the GPU again");
	} else if (gs_command_settled(a->device->arbiter)) {
		t->phase = GS_TAKE_LEAVING;
		start_checkpointer(t, "checkpoint", on_left);
		if (!t->checkpointer)
			give_up(t, "gpushare-mem cannot be started");
	} else if (gs_clock_ns() - t->process->settle_ns >
		   t->d->config->memory_preempt_timeout_ns) {
		give_up(t, "its kernels have not ended within preempt_timeout (MemoryParameters)");
	} else {
		wake_in(t, SETTLE_POLL_NS);
	}
}

static struct gs_connection *next_client(struct gs_daemon *d, const struct gs_alloc *a)
{
	struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client && conn->step->alloc == a)
			return conn;
	return NULL;
}

static void leave_next(struct gs_checkpoint *t)
{
	struct gs_connection *conn = next_client(t->d, t->alloc);
	struct gs_away_process *p;

	t->process = NULL;
	if (!conn) {
		all_left(t);
		return;
	}
	p = conn->pidfd >= 0 ? calloc(1, sizeof(*p)) : NULL;
	if (!p || gs_command_pin(conn->device->arbiter, conn->client) < 0) {
		free(p);
		give_up(t, "its processes cannot be watched");
		return;
	}
	*p = (struct gs_away_process) {
		.pid = conn->pid, .start = conn->start, .conn = conn, .settle_ns = gs_clock_ns()
	};
	p->bytes = gs_ledger_held(conn->device->ledger, t->alloc->id, conn->id);
	LIST_INSERT_HEAD(&t->alloc->away->processes, p, link);
	t->process = p;
	t->phase = GS_TAKE_SETTLING;
	/* a daemon that finds this in the state file brings the process back */
	gs_state_save(t->d);
	wake_in(t, SETTLE_POLL_NS);
}

void gs_checkpoint_leave(struct gs_checkpoint *t, struct gs_alloc *a, int idle)
{
	t->since_ns = gs_clock_ns();
	a->away = calloc(1, sizeof(*a->away));
	if (!a->away) {
		t->refused(t, a, "no memory");
		return;
	}
	a->away->idle = idle;
	t->alloc = a;
	a->admitted = 0; /* a program that starts now waits */
	leave_next(t);
}

void gs_checkpoint_timer(int fd, short what, void *arg)
{
	struct gs_checkpoint *t = arg;

	(void)fd;
	(void)what;
	if (!t->alloc || t->checkpointer)
		return;
	if (t->phase == GS_TAKE_SETTLING)
		settling(t);
	else if (t->phase == GS_TAKE_RETURNING)
		return_next(t);
}
