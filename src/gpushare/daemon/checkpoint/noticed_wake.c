/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wakes the processes of a suspended job for the move of their memory. The state file says so
 * before they go on, and until slurmctld has confirmed that they are rightly stopped again: a
 * daemon that is killed meanwhile cannot put them back, but the next one can.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/noticed.h"

#include <stdlib.h>

#include "common/log.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/checkpoint/noticed_core.h"
#include "gpushare/daemon/gpu/commands.h"

/* This daemon may have been told to end in the middle of a move. Then the next one has to wake them
 * for the memory to come back. */
static int is_half_done(const struct gs_alloc *a)
{
	return a->away && !a->away->released;
}

int gs_noticed_is_written(const struct gs_alloc *a)
{
	const struct gs_noticed *n = a->noticed;

	return n->phase == FOUND || n->phase == MOVING ||
	       (n->phase == ASLEEP && (!n->confirmed || is_half_done(a)));
}

static int note(struct gs_noticed *n, uint32_t job_id, pid_t pid, uint64_t start,
		struct gs_error *err)
{
	int rc = gs_woken_note(&n->awake, job_id, pid, start, err);

	n->unwritten |= rc > 0;
	return rc < 0 ? -1 : 0;
}

int gs_noticed_write_down(struct gs_daemon *d, struct gs_noticed *n, struct gs_error *err)
{
	if (gs_state_save(d) < 0)
		return gs_fail(err, "the state file, which is to say that it was woken, "
				    "cannot be written");
	n->unwritten = 0;
	return 0;
}

static int is_of(const struct gs_connection *conn, const struct gs_alloc *a)
{
	return conn->client && conn->step->alloc == a;
}

static int note_clients(struct gs_daemon *d, const struct gs_alloc *a, struct gs_error *err)
{
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (is_of(conn, a) &&
		    note(a->noticed, conn->step->info.job_id, conn->pid, conn->start, err) < 0)
			return -1;
	return 0;
}

int gs_noticed_wake(struct gs_daemon *d, struct gs_alloc *a, struct gs_error *err)
{
	struct gs_noticed *n = a->noticed;
	struct gs_connection *conn;
	size_t before = n ? n->awake.n : 0; /* an earlier daemon's */

	if (!gs_noticed_is_moving(a))
		return 0;
	if (note_clients(d, a, err) < 0 || gs_noticed_write_down(d, n, err) < 0) {
		n->awake.n = before; /* no other was woken, so no other is to be stopped again */
		n->unwritten = before && n->unwritten;
		return -1;
	}
	for (size_t i = 0; i < n->awake.n; i++)
		if (gs_wake(&n->awake.woken[i], GS_CGROUP_ROOT, err) < 0)
			return -1;
	LIST_FOREACH (conn, &d->conns, link)
		if (is_of(conn, a)) {
			conn->registration.stopped = 0;
			gs_command_stopped(conn->device->arbiter, conn->client, 0);
		}
	return 0;
}

/* Slurm may stop them once more meanwhile: it sends SIGTSTP first, and stops or freezes all two
 * seconds later. Those whose memory was just coming back must be awake, too. */
void gs_noticed_keep_awake(struct gs_daemon *d, const struct gs_alloc *a, uint32_t job_id)
{
	struct gs_noticed *n = a->noticed;
	const struct gs_away_process *p;
	struct gs_error err;

	for (size_t i = 0; i < n->awake.n; i++)
		note(n, job_id, n->awake.woken[i].pid, n->awake.woken[i].start, &err);
	if (a->away)
		LIST_FOREACH (p, &a->away->processes, link)
			note(n, job_id, p->pid, p->start, &err);
	if (n->unwritten && gs_noticed_write_down(d, n, &err) < 0)
		return;
	for (size_t i = 0; i < n->awake.n; i++)
		if (gs_proc_stopped(n->awake.woken[i].pid, GS_CGROUP_ROOT))
			gs_wake(&n->awake.woken[i], GS_CGROUP_ROOT, &err);
}

/* ---- across a restart ---------------------------------------------------- */

static int print_alloc(const struct gs_step *s, FILE *f)
{
	const struct gs_woken_list *awake = &s->alloc->noticed->awake;
	char text[GS_STATE_LINE_MAX];
	int n = 0;

	for (size_t i = 0; i < awake->n; i++) {
		struct gs_woken_line line = { s->info.job_id, s->info.step_id, awake->woken[i] };

		if (!line.woken.how.by_signal && !*line.woken.how.frozen)
			continue; /* it was not stopped, so nothing is to be put back */
		n++;
		if (!f)
			continue;
		gs_woken_print(&line, text, sizeof(text));
		fprintf(f, "%s\n", text);
	}
	return n;
}

/* Behind all steps: any other step of the job will do if this one is over by then. */
static int print(const struct gs_daemon *d, FILE *f)
{
	const struct gs_step *s;
	int n = 0;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->noticed && gs_noticed_is_written(s->alloc) && gs_away_is_first(d, s))
			n += print_alloc(s, f);
	return n;
}

/* Nobody would ever be asked about the job: a process that runs on is better than one that is
 * stopped for ever. */
static void forsake(const struct gs_woken_line *line)
{
	if (!gs_proc_alive(line->woken.pid, line->woken.start))
		return;
	gs_log(GS_LOG_WARN, "pid %d: goes on, though its job may be suspended: its step is unknown",
	       (int)line->woken.pid);
	gs_wake_again(&line->woken, GS_CGROUP_ROOT);
}

static struct gs_step *step_of(struct gs_daemon *d, const struct gs_woken_line *line)
{
	struct gs_step *s = gs_step_find(d, line->job_id, line->step_id);

	if (s)
		return s;
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == line->job_id)
			break;
	return s;
}

static int parse(struct gs_daemon *d, const char *text)
{
	struct gs_woken_line line;
	struct gs_alloc *a;
	struct gs_step *s;

	if (gs_woken_parse(text, &line) < 0)
		return 0;
	/* The steps' own lines come first, and are dropped if their slurmstepd is gone. So this is
	 * not another one of a job that was requeued. */
	s = step_of(d, &line);
	if (!s) {
		forsake(&line);
		return 1;
	}
	a = s->alloc;
	if (!a->noticed)
		a->noticed = calloc(1, sizeof(*a->noticed));
	if (!a->noticed)
		return 1;
	if (!gs_proc_alive(line.woken.pid, line.woken.start))
		return 1;
	if (gs_woken_add(&a->noticed->awake, &line.woken) < 0)
		a->noticed->left_out++;
	else
		a->noticed->phase = FOUND;
	return 1;
}

/* A step that is over leaves its processes to another one of its job, which may have as many. The
 * file is written anew without those that there is no room for, so nobody will ask about them. */
static void loaded(struct gs_daemon *d)
{
	const struct gs_step *s;
	char name[32];

	TAILQ_FOREACH (s, &d->steps, link) {
		struct gs_noticed *n = s->alloc->noticed;

		if (!n || !n->left_out)
			continue;
		gs_log(GS_LOG_WARN,
		       "%s: forgets processes that an earlier gpushared has woken, %zu of them, as "
		       "there are more than %d: they are to be stopped by hand (kill -STOP) if "
		       "their job is suspended, and woken (kill -CONT) if it is not",
		       gs_checkpoint_name(d, s->alloc, name, sizeof(name)), n->left_out,
		       GS_WOKEN_MAX);
		n->left_out = 0; /* its other steps share the list */
	}
}

const struct gs_state_part gs_noticed_part = { .print_rest = print,
					       .parse = parse,
					       .loaded = loaded };
