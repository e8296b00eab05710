/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notices suspended jobs; see noticed.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/noticed.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/wake.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/memory/memory.h"

/* A stopped job that is not suspended may be later; somebody else may have stopped it before. */
#define INQUIRE_AGAIN_NS (250 * GS_NS_PER_MS) /* twice as long each time */
#define INQUIRE_SELDOM_NS (30 * GS_NS_PER_S)
#define AWAKE_MAX 256 /* processes of an allocation that are woken */

enum phase { WATCHED, MOVING, ASLEEP };

struct gs_noticed {
	enum phase phase;
	uint32_t inquiry;  /* the ticket of what slurmctld has not answered yet; 0: nothing */
	int said;          /* it is logged why the memory stays */
	int confirmed;     /* it was suspended still when its processes had been stopped again */
	uint64_t again_ns; /* do not ask before this time, ns */
	uint64_t pause_ns; /* from the last question until then */
	size_t n;
	struct gs_woken *awake;
};

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
		gs_log(known ? GS_LOG_INFO : GS_LOG_WARN, "%s: is stopped; %s",
		       gs_checkpoint_name(d, a, name, sizeof(name)),
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

/* ---- waking and stopping again -------------------------------------------- */

static int wake(struct gs_noticed *n, uint32_t job_id, pid_t pid, uint64_t start,
		struct gs_error *err)
{
	struct gs_woken *a, *grown;

	for (size_t i = 0; i < n->n; i++)
		if (n->awake[i].pid == pid && n->awake[i].start == start)
			return 0;
	grown = n->n < AWAKE_MAX ? realloc(n->awake, (n->n + 1) * sizeof(*grown)) : NULL;
	if (!grown)
		return gs_fail(err, "it has too many processes");
	n->awake = grown;
	a = &n->awake[n->n];
	a->pid = pid;
	a->start = start;
	if (!gs_proc_alive(pid, start))
		return 0;
	gs_wake_inspect(pid, job_id, GS_CGROUP_ROOT, &a->how);
	if (gs_wake(a, GS_CGROUP_ROOT, err) < 0)
		return -1;
	n->n++;
	return 0;
}

int gs_noticed_wake(struct gs_daemon *d, struct gs_alloc *a, struct gs_error *err)
{
	struct gs_connection *conn;

	if (!gs_noticed_is_moving(a))
		return 0;
	LIST_FOREACH (conn, &d->conns, link) {
		if (!conn->client || conn->step->alloc != a)
			continue;
		if (wake(a->noticed, conn->step->info.job_id, conn->pid, conn->start, err) < 0)
			return -1;
		conn->registration.stopped = 0;
		gs_command_stopped(conn->device->arbiter, conn->client, 0);
	}
	return 0;
}

/* Slurm may stop them once more meanwhile: it sends SIGTSTP first, and stops or freezes all two
 * seconds later. Those whose memory was just coming back must be awake, too. */
static void keep_awake(const struct gs_alloc *a, uint32_t job_id)
{
	struct gs_noticed *n = a->noticed;
	const struct gs_away_process *p;
	struct gs_woken now;
	struct gs_error err;

	for (struct gs_woken *w = n->awake; w < n->awake + n->n; w++) {
		now = *w;
		if (!gs_proc_alive(w->pid, w->start) || !gs_proc_stopped(w->pid, GS_CGROUP_ROOT))
			continue;
		gs_wake_inspect(w->pid, job_id, GS_CGROUP_ROOT, &now.how);
		if (gs_wake(&now, GS_CGROUP_ROOT, &err) < 0)
			continue;
		w->how.by_signal |= now.how.by_signal;
		if (*now.how.frozen)
			memcpy(w->how.frozen, now.how.frozen, sizeof(now.how.frozen));
	}
	if (a->away)
		LIST_FOREACH (p, &a->away->processes, link)
			wake(n, job_id, p->pid, p->start, &err);
}

static void all(const struct gs_noticed *n,
		void (*what)(const struct gs_woken *w, const char *root))
{
	for (const struct gs_woken *w = n->awake; w < n->awake + n->n; w++)
		what(w, GS_CGROUP_ROOT);
}

void gs_noticed_forget(struct gs_alloc *a)
{
	if (!a->noticed)
		return;
	free(a->noticed->awake);
	free(a->noticed);
	a->noticed = NULL;
}

void gs_noticed_end(struct gs_daemon *d)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (gs_noticed_is_moving(s->alloc))
			all(s->alloc->noticed, gs_stop_again);
		gs_noticed_forget(s->alloc);
	}
}

/* ---- what becomes of an allocation --------------------------------------- */

/* The job has been resumed. Returns 1 if its memory may return. */
static int resumed(struct gs_daemon *d, struct gs_alloc *a)
{
	int was = a->suspended;

	a->suspended = 0;
	gs_noticed_forget(a);
	if (was)
		gs_state_save(d);
	return was;
}

static void fall_asleep(struct gs_noticed *n)
{
	all(n, gs_stop_again);
	n->phase = ASLEEP;
	n->again_ns = n->pause_ns = 0;
}

static void watched(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_alloc *a = s->alloc;
	int stopped = is_stopped(d, a);

	if (gs_suspend_keeps(a) && stopped)
		fall_asleep(a->noticed);
	else if (!gs_suspend_keeps(a) && !stopped)
		gs_noticed_forget(a);
	else
		inquire(d, s, now);
}

static void asleep(struct gs_daemon *d, const struct gs_step *s, uint64_t now)
{
	struct gs_noticed *n = s->alloc->noticed;

	if (!n->confirmed || !is_stopped(d, s->alloc))
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
	else if (a->noticed->phase == ASLEEP)
		asleep(d, s, now);
	else if (gs_suspend_settled(a))
		fall_asleep(a->noticed);
	else
		keep_awake(a, s->info.job_id);
}

void gs_noticed_step(struct gs_daemon *d)
{
	uint64_t now = gs_clock_ns();
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (gs_away_is_first(d, s))
			poll_alloc(d, s, now);
}

int gs_noticed_matters(const struct gs_daemon *d)
{
	const struct gs_step *s;

	if (d->config->suspend_memory)
		return 1;
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->noticed || gs_suspend_keeps(s->alloc))
			return 1;
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
		if (n->phase == ASLEEP)
			n->confirmed = 1;
		if (n->phase == ASLEEP || a->suspended || !is_stopped(d, a))
			return 0;
		n->phase = MOVING;
		a->suspended = 1;
		return 1;
	} else if (n->phase == ASLEEP || gs_suspend_keeps(a)) {
		all(n, gs_wake_again);
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
