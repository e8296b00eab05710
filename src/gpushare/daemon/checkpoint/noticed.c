/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notices suspended jobs; see noticed.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/noticed.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/checkpoint/noticed_core.h"
#include "gpushare/daemon/memory/memory.h"

/* A stopped job that is not suspended may be later; somebody else may have stopped it before. */
#define INQUIRE_AGAIN_NS (250 * GS_NS_PER_MS) /* twice as long each time */
#define INQUIRE_SELDOM_NS (30 * GS_NS_PER_S)

static gs_noticed_inquire *inquire_of_slurmctld;

void gs_noticed_set_inquire(gs_noticed_inquire *inquire)
{
	inquire_of_slurmctld = inquire;
}

int gs_noticed_is_moving(const struct gs_alloc *a)
{
	return a->noticed && a->noticed->phase == MOVING;
}

/* Has it processes, and are all of them stopped? */
static int is_stopped(const struct gs_daemon *d, const struct gs_alloc *a)
{
	const struct gs_away_process *p;
	const struct gs_connection *conn;
	int n = 0;

	LIST_FOREACH (conn, &d->conns, link) {
		if (!conn->client || conn->step->alloc != a)
			continue;
		if (!conn->registration.stopped)
			return 0;
		n++;
	}
	if (a->away)
		LIST_FOREACH (p, &a->away->processes, link) {
			if (!p->stopped)
				return 0;
			n++;
		}
	return n > 0;
}

/* Logs once why its memory stays though it is stopped. */
static void say(struct gs_daemon *d, const struct gs_alloc *a, int known)
{
	char name[32];

	if (!a->noticed->said)
		gs_log(known ? GS_LOG_INFO : GS_LOG_WARN, "%s: %s; %s",
		       gs_checkpoint_name(d, a, name, sizeof(name)),
		       a->noticed->phase == FOUND ? "may be awake" : "is stopped",
		       known ? "slurmctld has not suspended its job" :
			       "slurmctld does not say whether its job is suspended");
	a->noticed->said = 1;
}

static void inquire(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_noticed *n = s->alloc->noticed;

	if (n->inquiry || now < n->again_ns)
		return;
	n->pause_ns = n->pause_ns ? 2 * n->pause_ns : INQUIRE_AGAIN_NS;
	if (n->pause_ns > INQUIRE_SELDOM_NS)
		n->pause_ns = INQUIRE_SELDOM_NS;
	n->again_ns = now + n->pause_ns;
	n->inquiry = inquire_of_slurmctld(d, s->info.job_id);
	if (!n->inquiry)
		say(d, s->alloc, 0);
}

void gs_noticed_forget(struct gs_alloc *a)
{
	if (!a->noticed)
		return;
	gs_woken_clear(&a->noticed->awake);
	free(a->noticed);
	a->noticed = NULL;
}

/* ---- what becomes of an allocation --------------------------------------- */

/* The job has been resumed. Returns 1 if its memory may return. */
static int resumed(struct gs_daemon *d, struct gs_alloc *a)
{
	int was = a->suspended, written = gs_noticed_is_written(a);

	gs_woken_all(&a->noticed->awake, gs_wake_again);
	a->suspended = 0;
	gs_noticed_forget(a);
	if (was || written)
		gs_state_save(d);
	return was;
}

/* Slurm may have resumed the job meanwhile, which leaves no trace in a process that was awake. So
 * the next daemon must know of them until slurmctld has been asked, and who is not written down is
 * not stopped. */
static void fall_asleep(struct gs_daemon *d, struct gs_alloc *a)
{
	struct gs_noticed *n = a->noticed;
	struct gs_error err;
	char name[32];
	int written = !n->unwritten || gs_noticed_write_down(d, n, &err) == 0;

	if (!written)
		gs_log(GS_LOG_ERROR, "%s: is suspended and runs on: %s",
		       gs_checkpoint_name(d, a, name, sizeof(name)), err.text);
	gs_woken_all(&n->awake, written ? gs_stop_again : gs_wake_again);
	n->phase = ASLEEP;
	if (written) /* else it is tried again when slurmctld says that it is suspended still */
		n->again_ns = n->pause_ns = 0;
}

/* They may be stopped though the job has been resumed, so slurmctld has to say. */
static void inquire_or_resume(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_alloc *a = s->alloc;
	char name[32];

	if (d->slurm) {
		inquire(d, s, now);
		return;
	}
	gs_log(GS_LOG_WARN,
	       "%s: goes on, though it may be suspended: without ReportToSlurm nobody says",
	       gs_checkpoint_name(d, a, name, sizeof(name)));
	resumed(d, a);
	gs_memory_step_soon(d);
}

static void watched(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_alloc *a = s->alloc;
	int stopped = is_stopped(d, a);

	if (gs_suspend_keeps(a) && stopped)
		fall_asleep(d, a);
	else if (!gs_suspend_keeps(a) && !stopped)
		gs_noticed_forget(a);
	else
		inquire(d, s, now);
}

static void asleep(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_noticed *n = s->alloc->noticed;

	if (!n->confirmed && n->awake.n)
		inquire_or_resume(d, s, now);
	else if (!n->confirmed || !is_stopped(d, s->alloc))
		inquire(d, s, now);
	else
		n->again_ns = n->pause_ns = 0;
}

static void poll_alloc(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_alloc *a = s->alloc;
	int told = gs_suspend_keeps(a); /* or an earlier daemon has noticed it */

	if (!a->noticed) {
		if (s->info.local ||
		    (!told && (!d->config->suspend_memory || a->suspended || !is_stopped(d, a))))
			return;
		a->noticed = calloc(1, sizeof(*a->noticed));
		if (!a->noticed)
			return;
	}
	if (a->noticed->phase == WATCHED)
		watched(d, s, now);
	else if (a->noticed->phase == FOUND)
		inquire_or_resume(d, s, now);
	else if (a->noticed->phase == ASLEEP)
		asleep(d, s, now);
	else if (gs_suspend_settled(a))
		fall_asleep(d, a);
	else
		gs_noticed_keep_awake(d, a, s->info.job_id);
}

void gs_noticed_step(struct gs_daemon *d)
{
	uint64_t now = gs_clock_ns();
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (gs_away_is_first(d, s))
			poll_alloc(d, s, now);
}

/* Is there a process by which a job can be noticed? Each look wakes the event loop, so steps
 * without any, and local ones, which slurmctld does not know, cause none. */
static int any_process(const struct gs_daemon *d)
{
	const struct gs_connection *conn;
	const struct gs_step *s;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client && !conn->step->info.local)
			return 1;
	TAILQ_FOREACH (s, &d->steps, link)
		if (!s->info.local && s->alloc->away && !LIST_EMPTY(&s->alloc->away->processes))
			return 1;
	return 0;
}

int gs_noticed_matters(const struct gs_daemon *d)
{
	const struct gs_step *s;

	if (d->config->suspend_memory && any_process(d))
		return 1;
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->noticed || gs_suspend_keeps(s->alloc))
			return 1;
	return 0;
}

/* Returns 1 if memory may be moved now. */
static int is_suspended(struct gs_daemon *d, struct gs_alloc *a)
{
	struct gs_noticed *n = a->noticed;
	char name[32];

	if (n->phase == ASLEEP && n->unwritten) {
		fall_asleep(d, a);
	} else if (n->phase == ASLEEP && !n->confirmed) {
		n->confirmed = 1;
		gs_state_save(d); /* the next daemon need not know of them any more */
	} else if (n->phase == FOUND) {
		gs_log(GS_LOG_INFO,
		       "%s: is suspended, and was awake as an earlier gpushared ended: it is "
		       "stopped again",
		       gs_checkpoint_name(d, a, name, sizeof(name)));
		/* What was on its way comes back first. What was away already is to stay there. */
		a->suspended |= a->away && a->away->released;
		n->phase = MOVING;
		return 1;
	} else if (n->phase == WATCHED && !a->suspended && is_stopped(d, a)) {
		n->phase = MOVING;
		a->suspended = 1;
		return 1;
	}
	return 0;
}

/* Returns 1 if memory may be moved now. */
static int answered(struct gs_daemon *d, struct gs_alloc *a, enum gs_is_suspended answer)
{
	struct gs_noticed *n = a->noticed;

	n->inquiry = 0;
	if (answer == GS_IS_UNKNOWN) {
		say(d, a, 0);
	} else if (answer == GS_IS_SUSPENDED) {
		return is_suspended(d, a);
	} else if (n->phase == ASLEEP || n->phase == FOUND || gs_suspend_keeps(a)) {
		return resumed(d, a);
	} else if (is_stopped(d, a)) {
		say(d, a, 1);
	}
	return 0;
}

void gs_noticed_answer(struct gs_daemon *d, uint32_t ticket, enum gs_is_suspended answer)
{
	const struct gs_step *s;
	int moves = 0;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->noticed && s->alloc->noticed->inquiry == ticket)
			moves |= answered(d, s->alloc, answer);
	if (moves)
		gs_memory_step(d);
}

/* ---- the daemon's end ---------------------------------------------------- */

/* Has slurmctld not said yet that its processes are rightly stopped again? */
static int is_unsure(const struct gs_daemon *d, const struct gs_step *s)
{
	const struct gs_noticed *n = s->alloc->noticed;

	return n && n->phase == ASLEEP && !n->confirmed && n->awake.n && gs_away_is_first(d, s);
}

int gs_noticed_leave(struct gs_daemon *d)
{
	const struct gs_step *s;
	int waiting = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (gs_noticed_is_moving(s->alloc))
			fall_asleep(d, s->alloc);
		if (!is_unsure(d, s))
			continue;
		inquire(d, s, gs_clock_ns());
		waiting++;
	}
	return waiting;
}

void gs_noticed_end(struct gs_daemon *d)
{
	const struct gs_step *s;
	char name[32];

	TAILQ_FOREACH (s, &d->steps, link) {
		if (!is_unsure(d, s))
			continue;
		gs_log(GS_LOG_WARN,
		       "%s: goes on, though it may be suspended, until the next gpushared knows",
		       gs_checkpoint_name(d, s->alloc, name, sizeof(name)));
		gs_woken_all(&s->alloc->noticed->awake, gs_wake_again);
	}
}
