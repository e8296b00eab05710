/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two programs that exchange a GPU: begun, timed, ended; see measure.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/child.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/event.h"
#include "gpushare/daemon/gauge.h"
#include "gpushare/daemon/measured.h"
#include "gpushare/daemon/proc.h"
#include "gpushare/daemon/prober.h"
#include "gpushare/daemon/steps.h"

/* How often is looked whether there are enough hand-overs, or the time is over. */
#define TICK_NS (20 * GS_NS_PER_MS)
/* The driver alone takes seconds for the first context of a GPU that nobody keeps awake. */
#define LIMIT_NS (20 * GS_NS_PER_S)
/* From SIGTERM to SIGKILL.  Under MPS whoever is killed in the middle of a kernel takes the others along. */
#define GRACE_NS (300 * GS_NS_PER_MS)
#define GRACE_MPS_NS (5 * GS_NS_PER_S)

struct gs_measure {
	struct gs_daemon *d;
	struct gs_device *device; /* is being measured; NULL: none */
	size_t next;              /* of the devices */
	pid_t pid;                /* leads the programs' process group */
	int sock;                 /* they all have its other end, until the last has ended */
	struct event *readable, *tick;
	int gone;                 /* the socket's other end is; the leader may not have ended */
	uint64_t since_ns;
	uint64_t ended_ns;        /* they were told to end; 0: not yet */
	char why[256];            /* there is nothing to show for it */
	char said[192];           /* by one of them */
};

static void next_device(struct gs_measure *m);

static void say_failed(const struct gs_daemon *d, const struct gs_device *device, const char *why)
{
	gs_log(GS_LOG_WARN, "gpu %u: what a hand-over costs was not measured: %s; Handover=%.1fus stays",
	       device->index, why, (double)d->config->handover_ns / 1e3);
}

/* A reload may have said otherwise. */
static int is_wanted(const struct gs_measure *m)
{
	return m->d->config->measure_handover == GS_MEASURE_START;
}

static uint64_t grace_ns(const struct gs_measure *m)
{
	return m->d->mps ? GRACE_MPS_NS : GRACE_NS;
}

/* The programs are told to end, and are no clients any more.  why: NULL if all is well. */
static void end_programs(struct gs_measure *m, const char *why)
{
	struct gs_step *step = gs_step_find(m->d, GS_PROBE_JOB, 0);

	if (m->ended_ns)
		return;
	m->ended_ns = gs_clock_ns();
	snprintf(m->why, sizeof(m->why), "%s", why ? why : "");
	gs_gpu_gauge(m->device->gpu, 0);
	/* First: without the daemon they would go on as they like. */
	kill(-m->pid, SIGTERM);
	if (step)
		gs_step_over(m->d, step, why ? why : "measured");
}

/*
 * The fastest tenth: whatever else has the processors makes a hand-over look dearer, by any factor,
 * and nothing makes it look cheaper; what is learned later goes up from there where it has to.
 */
static void take_result(struct gs_measure *m, const struct gs_gauged *g)
{
	struct gs_device *dev = m->device;
	char why[128];

	if (!gs_measured_believed(m->d->config, g->p10_ns)) {
		snprintf(why, sizeof(why), "%.1f us (median %.1f, p90 %.1f) are not believed", g->p10_ns / 1e3,
			 g->p50_ns / 1e3, g->p90_ns / 1e3);
		end_programs(m, why);
		return;
	}
	dev->handover_ns = (uint64_t)g->p10_ns;
	end_programs(m, NULL);
	gs_gpu_set_handover(dev->gpu, dev->handover_ns);
	gs_log(GS_LOG_INFO, "gpu %u: a hand-over costs %.1f us: the fastest tenth of %u (median %.1f, p90 %.1f), measured in %.1f s",
	       dev->index, g->p10_ns / 1e3, g->count, g->p50_ns / 1e3, g->p90_ns / 1e3,
	       (double)(m->ended_ns - m->since_ns) / 1e9);
	gs_measured_save(m->d);
}

/* The one that leads them has ended like that: nothing of them is left, or soon will be. */
static void programs_gone(struct gs_measure *m, int status)
{
	gs_event_free(m->readable);
	gs_event_free(m->tick);
	m->readable = m->tick = NULL;
	close(m->sock);
	if (!m->ended_ns) {
		if (!*m->said && WIFSIGNALED(status))
			snprintf(m->said, sizeof(m->said), "the program was ended by signal %d", WTERMSIG(status));
		end_programs(m, *m->said ? m->said : "the program has ended early");
	}
	if (*m->why)
		say_failed(m->d, m->device, m->why);
	m->device = NULL;
}

/* Nobody has the socket's other end: they have ended, or one has closed what it had.  Whether the leader is there no more. */
static int reaped(struct gs_measure *m, int options)
{
	int status = 0;

	kill(-m->pid, SIGKILL);
	kill(m->pid, SIGKILL); /* what has ended keeps its status */
	if (waitpid(m->pid, &status, options) == 0)
		return 0;
	programs_gone(m, status);
	return 1;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct gs_measure *m = arg;
	uint64_t now = gs_clock_ns();
	struct gs_gauged g;
	char why[160];

	(void)fd;
	(void)what;
	if (m->gone) {
		if (reaped(m, WNOHANG))
			next_device(m);
		return;
	}
	if (m->ended_ns) {
		if (now - m->ended_ns > grace_ns(m))
			kill(-m->pid, SIGKILL);
		return;
	}
	gs_gpu_gauged(m->device->gpu, &g);
	if (!is_wanted(m)) {
		end_programs(m, "the configuration has changed");
	} else if (g.count == GS_GAUGE_SAMPLES) {
		take_result(m, &g);
	} else if (now - m->since_ns > LIMIT_NS) {
		snprintf(why, sizeof(why), "%u of %u hand-overs in %d s", g.count,
			 (unsigned)GS_GAUGE_SAMPLES, (int)(LIMIT_NS / GS_NS_PER_S));
		end_programs(m, why);
	}
}

static int is_transient(int error)
{
	return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
	struct gs_measure *m = arg;
	char text[sizeof(m->said)];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	(void)what;
	if (n < 0 && is_transient(errno))
		return;
	if (n <= 0) {
		/* The driver may take its time with a context whose files are closed: the loop does not wait for that. */
		m->gone = 1;
		event_del(m->readable);
		if (reaped(m, WNOHANG))
			next_device(m);
		return;
	}
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	if (!*m->said)
		memcpy(m->said, text, sizeof(text));
}

/* A step like a job's, of all the memory: there is nobody else, and whoever comes gets it. */
static int add_step(struct gs_measure *m, uid_t uid, struct gs_error *err)
{
	struct gs_step_info info = {
		.job_id = GS_PROBE_JOB, .uid = uid, .shares = 1, .gpu = m->device->index,
		.memory = m->device->memory, .registrant = m->pid, .local = 1, .admitted = 1,
	};
	struct gs_proc proc;

	if (gs_proc_read(m->pid, &proc) < 0)
		return gs_fail(err, "the program has ended at once");
	info.start = proc.start;
	return gs_step_add(m->d, &info, err) ? 0 : -1;
}

static int watch(struct gs_measure *m)
{
	struct timeval tick = { 0, (suseconds_t)(TICK_NS / 1000) };

	m->readable = gs_event_new(m->d->base, m->sock, EV_READ | EV_PERSIST, on_output, m);
	m->tick = gs_event_new(m->d->base, -1, EV_PERSIST, on_tick, m);
	return !m->readable || !m->tick || event_add(m->readable, NULL) < 0 ||
	       event_add(m->tick, &tick) < 0 ? -1 : 0;
}

static int begin(struct gs_measure *m, struct gs_device *device, struct gs_error *err)
{
	uid_t uid;

	m->sock = gs_prober_start(m->d, device, GS_PROBE_JOB, &m->pid, &uid, err);
	if (m->sock < 0)
		return -1;
	m->device = device;
	m->ended_ns = 0;
	m->gone = 0;
	m->why[0] = m->said[0] = '\0';
	m->since_ns = gs_clock_ns();
	if (add_step(m, uid, err) == 0) {
		if (watch(m) == 0) {
			gs_gpu_gauge(device->gpu, 1);
			return 0;
		}
		gs_fail(err, "no memory");
	}
	snprintf(m->said, sizeof(m->said), "%.190s", err->text);
	reaped(m, 0);
	return 0; /* the log says it */
}

/* The GPUs share one MPS server: who is killed in the middle of a kernel may take all its clients along. */
static int has_steps(const struct gs_daemon *d, const struct gs_device *device)
{
	const struct gs_step *s;

	TAILQ_FOREACH(s, &d->steps, link)
		if (d->mps || s->alloc->device == device)
			return 1;
	return 0;
}

/*
 * Without its UUID a GPU is whatever JobEnv makes of its number, like the emulated device;
 * else the probe would be on the driver's first GPU, which may be another one with jobs on it.
 */
static int can_be_told(const struct gs_daemon *d, const struct gs_device *device)
{
	if (*device->uuid || d->ndevice == 1)
		return 1;
	for (const char *at = d->config->job_env; *at; at++) {
		if (at[0] == '%' && at[1] == 'g')
			return 1;
		at += at[0] == '%' && at[1] == '%';
	}
	return 0;
}

/* Until one is being measured, or none is left. */
static void next_device(struct gs_measure *m)
{
	struct gs_error err;

	while (!m->device && m->next < m->d->ndevice && is_wanted(m)) {
		struct gs_device *dev = &m->d->device[m->next++];

		if (dev->handover_ns)
			continue;
		if (has_steps(m->d, dev))
			say_failed(m->d, dev, m->d->mps ? "jobs have it, or share its MPS server" : "jobs have it");
		else if (!can_be_told(m->d, dev))
			say_failed(m->d, dev, "which GPU it is, is not known");
		else if (begin(m, dev, &err) < 0)
			say_failed(m->d, dev, err.text);
	}
}

static void use_known(struct gs_daemon *d)
{
	for (size_t i = 0; i < d->ndevice; i++) {
		struct gs_device *dev = &d->device[i];

		if (!dev->handover_ns)
			continue;
		gs_gpu_set_handover(dev->gpu, dev->handover_ns);
		gs_log(GS_LOG_INFO, "gpu %u: a hand-over costs %.1f us, as measured before",
		       dev->index, (double)dev->handover_ns / 1e3);
	}
}

struct gs_measure *gs_measure_start(struct gs_daemon *d)
{
	struct gs_measure *m;

	if (d->config->measure_handover != GS_MEASURE_START)
		return NULL;
	gs_measured_load(d);
	use_known(d);
	m = calloc(1, sizeof(*m));
	if (!m) {
		gs_log(GS_LOG_WARN, "no memory: what hand-overs cost is not measured");
		return NULL;
	}
	m->d = d;
	next_device(m);
	return m;
}

void gs_measure_yield(struct gs_daemon *d, const struct gs_device *device)
{
	if (d->measure && d->measure->device && (d->mps || d->measure->device == device))
		end_programs(d->measure, "a job came");
}

/* What they say is read until nobody is left to say anything, or their time is over. */
static void await_end(const struct gs_measure *m)
{
	uint64_t until = gs_clock_ns() + grace_ns(m), now;
	struct pollfd p = { .fd = m->sock, .events = POLLIN };
	char text[256];

	while ((now = gs_clock_ns()) < until) {
		int n = poll(&p, 1, (int)((until - now) / GS_NS_PER_MS) + 1);
		ssize_t got = n > 0 ? recv(m->sock, text, sizeof(text), MSG_DONTWAIT) : -1;

		if (n == 0 || got == 0 || (got < 0 && !is_transient(errno)))
			return;
	}
}

void gs_measure_destroy(struct gs_measure *m)
{
	if (m && m->device) {
		end_programs(m, "the daemon ends");
		await_end(m);
		reaped(m, 0);
	}
	free(m);
}
