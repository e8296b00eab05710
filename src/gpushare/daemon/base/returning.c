/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that are to come back after a restart; see returning.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/returning.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	struct gs_counted counted;
	int gone; /* it has ended */
};

static LIST_HEAD(, program) all = LIST_HEAD_INITIALIZER(all);
static uint64_t until_ns;

static void forget(struct program *p)
{
	LIST_REMOVE(p, link);
	free(p);
}

static struct program *find(const struct gs_alloc *alloc, pid_t pid, uint64_t start)
{
	struct program *p;

	LIST_FOREACH (p, &all, link)
		if (p->pid == pid && p->start == start && p->alloc == alloc)
			return p;
	return NULL;
}

static void add(struct gs_step *s, pid_t pid, uint64_t start, const struct gs_counted *counted)
{
	struct program *p;

	if (find(s->alloc, pid, start))
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
				.start = start,
				.counted = *counted,
				.gone = !gs_proc_alive(pid, start) };
	LIST_INSERT_HEAD(&all, p, link);
}

void gs_returning_expect(struct gs_daemon *d, const struct gs_alloc *alloc, pid_t pid,
			 uint64_t start)
{
	const struct gs_counted nothing = { 0 };
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc == alloc) {
			add(s, pid, start, &nothing); /* unless the state file named it */
			until_ns = gs_clock_ns() + COME_BACK_NS;
			return;
		}
}

pid_t gs_returning_of(const struct gs_alloc *alloc)
{
	struct program *p;

	LIST_FOREACH (p, &all, link) {
		if (p->alloc != alloc || p->gone)
			continue;
		p->gone = !gs_proc_alive(p->pid, p->start);
		if (!p->gone)
			return p->pid;
	}
	return 0;
}

static void add_copied(struct gs_copied *to, const struct gs_copied *more)
{
	for (int way = 0; way < GS_COPY_DIRECTIONS; way++) {
		to[way].copies += more[way].copies;
		to[way].bytes += more[way].bytes;
		to[way].host_ns += more[way].host_ns;
	}
}

static struct gs_counted counted_of(const struct gs_step *s, int with_gone)
{
	struct gs_counted sum = { 0 };
	const struct program *p;

	LIST_FOREACH (p, &all, link)
		if (p->job_id == s->info.job_id && p->step_id == s->info.step_id &&
		    (with_gone || !p->gone)) {
			sum.launches += p->counted.launches;
			add_copied(sum.copied, p->counted.copied);
		}
	return sum;
}

struct gs_counted gs_returning_counted(const struct gs_step *s)
{
	return counted_of(s, 0);
}

void gs_returning_add(struct gs_step *s)
{
	struct gs_counted more = counted_of(s, 1);

	s->usage.launches += more.launches;
	add_copied(s->usage.copied, more.copied);
}

uint64_t gs_returning_until_ns(void)
{
	return until_ns;
}

void gs_returning_joined(struct gs_connection *conn, int tells_again)
{
	struct program *p = find(conn->step->alloc, conn->pid, conn->start);

	if (p && tells_again)
		forget(p);
	else if (p)
		p->gone = 1;
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
		if (p->job_id == s->info.job_id && p->step_id == s->info.step_id && !p->gone &&
		    !p->alloc->away && gs_proc_alive(p->pid, p->start)) {
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

static void print_one(uint32_t job_id, uint32_t step_id, pid_t pid, uint64_t start,
		      const struct gs_counted *c, FILE *f)
{
	if (!f)
		return;
	fprintf(f, "program %u %u %d %" PRIu64 " %" PRIu64, job_id, step_id, (int)pid, start,
		c->launches);
	for (int way = 0; way < GS_COPY_DIRECTIONS; way++)
		fprintf(f, " %" PRIu64 " %" PRIu64 " %" PRIu64, c->copied[way].copies,
			c->copied[way].bytes, c->copied[way].host_ns);
	fputc('\n', f);
}

/* Those that have not come back are named once more, for the next daemon. */
static int print(const struct gs_daemon *d, FILE *f)
{
	const struct gs_connection *conn;
	const struct program *p;
	int n = 0;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step && conn->page) { /* a client, or its memory is on the host */
			print_one(conn->step->info.job_id, conn->step->info.step_id, conn->pid,
				  conn->start, &conn->registration.counted, f);
			n++;
		}
	LIST_FOREACH (p, &all, link)
		if (!p->gone) {
			print_one(p->job_id, p->step_id, p->pid, p->start, &p->counted, f);
			n++;
		}
	return n;
}

/* Returns where the numbers end; NULL: there are not so many. */
static const char *read_numbers(const char *at, uint64_t *number, size_t n)
{
	char *end;

	for (size_t i = 0; i < n; i++) {
		if (at[0] != ' ' || at[1] < '0' || at[1] > '9')
			return NULL;
		number[i] = strtoull(at + 1, &end, 10);
		at = end;
	}
	return at;
}

static int parse(struct gs_daemon *d, const char *line)
{
	static const char keyword[] = "program";
	enum { JOB, STEP, PID, START, LAUNCHES, COPIED, NUMBERS = COPIED + 3 * GS_COPY_DIRECTIONS };
	uint64_t number[NUMBERS], *copied = number + COPIED;
	struct gs_counted counted = { 0 };
	const char *end;
	struct gs_step *s;

	if (strncmp(line, keyword, sizeof(keyword) - 1) != 0)
		return 0;
	end = read_numbers(line + sizeof(keyword) - 1, number, NUMBERS);
	if (!end || *end || number[PID] <= 1 || number[PID] > INT32_MAX ||
	    number[JOB] > UINT32_MAX || number[STEP] > UINT32_MAX)
		return 0;
	counted.launches = number[LAUNCHES];
	for (int way = 0; way < GS_COPY_DIRECTIONS; way++, copied += 3)
		counted.copied[way] = (struct gs_copied) { .copies = copied[0],
							   .bytes = copied[1],
							   .host_ns = copied[2] };
	s = gs_step_find(d, (uint32_t)number[JOB], (uint32_t)number[STEP]);
	if (s)
		add(s, (pid_t)number[PID], number[START], &counted);
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
