/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that are to come back after a restart; see returning.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/returning.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/proto/job_name.h"

/* Four times as long as a shim waits between two attempts to connect. */
#define COME_BACK_NS GS_NS_PER_S

struct program {
	LIST_ENTRY(program) link;
	uint32_t job_id, step_id;
	struct gs_alloc *alloc; /* of its step */
	pid_t pid;
	uint64_t start; /* start time of that process (proc.h) */
};

static LIST_HEAD(, program) all = LIST_HEAD_INITIALIZER(all);
static uint64_t until_ns;

static void forget(struct program *p)
{
	LIST_REMOVE(p, link);
	free(p);
}

static struct program *find(const struct gs_alloc *alloc, pid_t pid)
{
	struct program *p;

	LIST_FOREACH (p, &all, link)
		if (p->pid == pid && p->alloc == alloc)
			return p;
	return NULL;
}

static void add(struct gs_step *s, pid_t pid, uint64_t start)
{
	struct program *p;

	if (find(s->alloc, pid) || !gs_proc_alive(pid, start))
		return;
	p = malloc(sizeof(*p));
	if (!p) {
		gs_log(GS_LOG_WARN, "pid %d: is not waited for: no memory", (int)pid);
		return;
	}
	*p = (struct program) { .job_id = s->info.job_id,
				.step_id = s->info.step_id,
				.alloc = s->alloc,
				.pid = pid,
				.start = start };
	LIST_INSERT_HEAD(&all, p, link);
}

void gs_returning_expect(struct gs_daemon *d, const struct gs_alloc *alloc, pid_t pid,
			 uint64_t start)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc == alloc) {
			add(s, pid, start);
			return;
		}
}

pid_t gs_returning_of(const struct gs_alloc *alloc)
{
	struct program *p, *next;

	for (p = LIST_FIRST(&all); p; p = next) {
		next = LIST_NEXT(p, link);
		if (p->alloc != alloc)
			continue;
		if (gs_proc_alive(p->pid, p->start))
			return p->pid;
		forget(p);
	}
	return 0;
}

uint64_t gs_returning_until_ns(void)
{
	return until_ns;
}

void gs_returning_joined(struct gs_connection *conn)
{
	struct program *p = find(conn->step->alloc, conn->pid);

	if (p)
		forget(p);
	gs_state_save_soon(conn->d);
}

void gs_returning_gone(struct gs_connection *conn)
{
	if (conn->client)
		gs_state_save_soon(conn->d);
}

/* How many of the step's programs live and have not come back; *pid is one of them. */
static unsigned missing(const struct gs_step *s, pid_t *pid)
{
	const struct program *p;
	unsigned n = 0;

	LIST_FOREACH (p, &all, link)
		if (p->job_id == s->info.job_id && p->step_id == s->info.step_id &&
		    gs_proc_alive(p->pid, p->start)) {
			*pid = p->pid;
			n++;
		}
	return n;
}

void gs_returning_sweep(struct gs_daemon *d)
{
	static uint64_t said_ns;
	const struct gs_step *s;
	char name[16];
	unsigned n;
	pid_t pid;

	if (said_ns == until_ns || gs_clock_ns() < until_ns)
		return;
	said_ns = until_ns;
	TAILQ_FOREACH (s, &d->steps, link) {
		n = missing(s, &pid);
		if (n)
			gs_log(GS_LOG_WARN,
			       "job " GS_JOB_F ".%s: %u of its programs have not come back, pid %d "
			       "for one: its memory stays where it is until they have",
			       GS_JOB(s->info.job_id),
			       gs_step_name(s->info.step_id, name, sizeof(name)), n, (int)pid);
	}
}

void gs_returning_alloc_gone(struct gs_daemon *d, struct gs_alloc *alloc)
{
	struct program *p, *next;

	(void)d;
	for (p = LIST_FIRST(&all); p; p = next) {
		next = LIST_NEXT(p, link);
		if (p->alloc == alloc)
			forget(p);
	}
}

void gs_returning_fini(void)
{
	while (!LIST_EMPTY(&all))
		forget(LIST_FIRST(&all));
}

/* ---- across a restart ---------------------------------------------------- */

static void print_one(uint32_t job_id, uint32_t step_id, pid_t pid, uint64_t start, FILE *f)
{
	if (f)
		fprintf(f, "program %u %u %d %" PRIu64 "\n", job_id, step_id, (int)pid, start);
}

/* Those that have not come back are named once more, for the next daemon. */
static int print(const struct gs_daemon *d, FILE *f)
{
	const struct gs_connection *conn;
	const struct program *p;
	int n = 0;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client) {
			print_one(conn->step->info.job_id, conn->step->info.step_id, conn->pid,
				  conn->start, f);
			n++;
		}
	LIST_FOREACH (p, &all, link) {
		print_one(p->job_id, p->step_id, p->pid, p->start, f);
		n++;
	}
	return n;
}

static int parse(struct gs_daemon *d, const char *line)
{
	unsigned job_id, step_id;
	struct gs_step *s;
	uint64_t start;
	int pid, at = 0;

	if (sscanf(line, "program %u %u %d %" SCNu64 "%n", &job_id, &step_id, &pid, &start, &at) !=
		    4 ||
	    line[at] || pid <= 1)
		return 0;
	s = gs_step_find(d, job_id, step_id);
	if (s)
		add(s, pid, start);
	return 1;
}

static void loaded(struct gs_daemon *d)
{
	if (!TAILQ_EMPTY(&d->steps))
		until_ns = gs_clock_ns() + COME_BACK_NS;
}

const struct gs_state_part gs_returning_part = { .print_rest = print,
						 .parse = parse,
						 .loaded = loaded };
