/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timers, signals, reload, and the loop itself; see loop.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "gpushare/daemon/requests/admin.h"
#include "gpushare/daemon/requests/mount_plan.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/foreign.h"
#include "gpushare/daemon/base/unread.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/gpus.h"
#include "gpushare/daemon/history/history.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/report/job_map.h"
#include "gpushare/daemon/report/metrics_file.h"
#include "gpushare/daemon/checkpoint/checkpointer.h"
#include "gpushare/daemon/checkpoint/noticed.h"
#include "gpushare/daemon/mps/mps.h"
#include "gpushare/daemon/slurm/overdue.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/steps/deadlines.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/gpu/prompt.h"
#include "gpushare/daemon/slurm/slurm_report.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/steps/energy.h"
#include "gpushare/daemon/steps/steps.h"
#include "gpushare/daemon/checkpoint/suspended.h"

/* How soon a step is ended whose registrant was killed. */
#define SWEEP_NS (250 * GS_NS_PER_MS)
/* How long the end waits for what slurmctld says of jobs whose memory was just moving. */
#define LEAVE_NS (2 * GS_NS_PER_S)

struct gs_loop {
	const char *config_path;
	uint64_t stop_ns;   /* since when the loop must end, ns; 0: it must not */
	struct event *news; /* from the arbiters: a client must be disconnected, or is overdue */
	int news_fd;
	struct event *sweep;   /* ends steps whose registrant is gone */
	struct event *refresh; /* updates AdminComment while jobs run, and the node's Extra */
	char node_said[1024];  /* the last text written to the node's Extra */
	struct event *metrics; /* writes MetricsFile */
	struct event *signals[3];
};

static struct timeval to_timeval(uint64_t ns)
{
	return (struct timeval) { (time_t)(ns / GS_NS_PER_S),
				  (suseconds_t)(ns % GS_NS_PER_S / 1000) };
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
	struct gs_daemon *d = arg;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof(times)) < 0)
		return;
	for (size_t i = 0; i < d->ndevice; i++)
		gs_verdicts_execute(d, &d->device[i]);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gs_steps_sweep(arg);
	gs_job_map_update(arg);
	gs_energy_update(arg);
	gs_deadlines_sweep(arg);
	gs_returning_sweep(arg);
	gs_unread_sweep();
	gs_foreign_sweep();
}

static uint64_t peak_of(const struct gs_step *s)
{
	return gs_ledger_peak(s->alloc->device->ledger, s->alloc->id);
}

/* A number that changes when a job's figures, or what it waits for, change. */
static uint64_t figures(const struct gs_step *s)
{
	uint64_t sum = s->usage.turnaround_ns + s->usage.launches + s->usage.preemptions +
		       s->moves.out_ns + s->moves.back_ns + peak_of(s) + 1;
	char why[256];

	if (s->alloc->admitted)
		return sum;
	gs_memory_why(s->alloc, why, sizeof(why));
	return gs_hash(sum, why, strlen(why));
}

static void on_refresh(evutil_socket_t fd, short what, void *arg)
{
	struct gs_daemon *d = arg;
	char text[GS_COMMENT_MAX];
	struct gs_step *s;

	(void)fd;
	(void)what;
	gs_devices_sync(d, 0);
	TAILQ_FOREACH (s, &d->steps, link)
		gs_lease_note_peak(d, s->alloc);
	/* save the steps with their figures, in case this daemon is killed */
	if (!TAILQ_EMPTY(&d->steps))
		gs_state_save(d);
	if (!d->slurm)
		return;
	if (gs_gather_node(d, text, sizeof(text)) == 0 && strcmp(text, d->loop->node_said) != 0) {
		gs_slurm_report_node(d->slurm, text);
		snprintf(d->loop->node_said, sizeof(d->loop->node_said), "%s", text);
	}
	TAILQ_FOREACH (s, &d->steps, link) {
		if (s->info.local || s->reported == figures(s) ||
		    (s->usage.launches == 0 && peak_of(s) == 0 && s->alloc->admitted &&
		     !s->reported) ||
		    gs_gather_comment(d, s->info.job_id, text, sizeof(text)) < 0)
			continue;
		if (gs_slurm_report_send(d->slurm, s->info.job_id, text))
			s->reported = figures(s);
	}
}

static void on_metrics(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gs_metrics_file_write(arg);
}

static void start_timer(struct event *timer, uint64_t every_ns)
{
	struct timeval tv = to_timeval(every_ns);

	event_del(timer);
	if (every_ns >= GS_NS_PER_MS)
		event_add(timer, &tv);
}

/* Collectors of metrics read every 15 s or more rarely; an administrator who sets a shorter
 * interval for the reports gets metrics as often. */
#define METRICS_NS (15 * GS_NS_PER_S)

/* Starts the timers with the intervals of the configuration. */
static void start_timers(struct gs_daemon *d)
{
	start_timer(d->loop->refresh, d->config->report_interval_ns);
	start_timer(d->loop->metrics, !*d->config->metrics_file ? 0 :
				      d->config->report_interval_ns < METRICS_NS ?
								  d->config->report_interval_ns :
								  METRICS_NS);
}

/* Warns of changes that only a restart can apply, since other modules keep the old values. */
static void warn_of_restart(const struct gs_config *old, const struct gs_config *fresh)
{
	int gpus = old->ngpu != fresh->ngpu;

	for (size_t i = 0; !gpus && i < old->ngpu; i++)
		gpus = old->gpu[i].index != fresh->gpu[i].index ||
		       old->gpu[i].shares != fresh->gpu[i].shares ||
		       old->gpu[i].memory != fresh->gpu[i].memory;
	if (gpus || strcmp(old->socket, fresh->socket) != 0 ||
	    strcmp(old->pid_file, fresh->pid_file) != 0 || old->arbiter_cpu != fresh->arbiter_cpu)
		gs_log(GS_LOG_WARN,
		       "Gpu, Socket, PidFile and ArbiterCpu change with a restart only");
}

/* The socket and the pid file stay where this daemon made them. */
static void keep_paths(struct gs_config *old, struct gs_config *fresh)
{
	char *swap;

	swap = fresh->socket;
	fresh->socket = old->socket;
	old->socket = swap;
	swap = fresh->pid_file;
	fresh->pid_file = old->pid_file;
	old->pid_file = swap;
}

void gs_reload(struct gs_daemon *d)
{
	int reopen; /* the history must be opened anew */
	struct gs_error err;
	struct gs_config *fresh = gs_config_load(d->loop->config_path, &err);

	if (fresh && !fresh->ngpu) {
		gs_config_free(fresh);
		fresh = NULL;
		gs_fail(&err, "%s: no Gpu= line", d->loop->config_path);
	}
	if (fresh)
		gs_mount_plan_update(fresh);
	if (!fresh || gs_mps_check_reload(d->config, fresh, &err) < 0 ||
	    gs_devices_reload(d, fresh, &err) < 0) {
		if (fresh && d->config->mount_shim == GS_MOUNT_STEP)
			gs_mount_plan_update(d->config);
		gs_config_free(fresh);
		gs_log(GS_LOG_ERROR, "not reloaded, the old configuration stays: %s", err.text);
		return;
	}
	if (gs_log_open("gpushared", fresh->log_file, fresh->log_level) < 0)
		gs_log(GS_LOG_ERROR, "cannot open the log %s", fresh->log_file);
	warn_of_restart(d->config, fresh);
	keep_paths(d->config, fresh);
	reopen = strcmp(d->config->history_file, fresh->history_file) != 0;
	gs_config_free(d->config);
	d->config = fresh;
	gs_admin_init(d);
	gs_steps_reprioritise(d);
	gs_checkpointer_warn(fresh);
	gs_memory_reload(d, fresh);
	gs_memory_check_destroy(d->check);
	d->check = gs_memory_check_create(d);
	gs_slurm_report_destroy(d->slurm);
	d->slurm = gs_slurm_report_create(d);
	if (reopen) {
		gs_history_destroy(d->history);
		d->history = gs_history_create(d);
	}
	start_timers(d);
	gs_log(GS_LOG_INFO, "reloaded %s: policy %s", d->loop->config_path, d->config->policy);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct gs_daemon *d = arg;

	(void)what;
	if (sig == SIGHUP) {
		gs_reload(d);
		return;
	}
	gs_log(GS_LOG_INFO, "signal %d: stopping", (int)sig);
	if (!d->loop->stop_ns)
		d->loop->stop_ns = gs_clock_ns();
}

static void be_prompt(const struct gs_config *config)
{
	enum gs_prompt prompt = gs_be_prompt(config->real_time);

	if (config->real_time && prompt != GS_PROMPT_REAL_TIME)
		gs_log(GS_LOG_INFO, "no real-time scheduling (%s)%s", strerror(errno),
		       prompt == GS_PROMPT_NICE ? ", but nice -20" :
						  ": on a busy node hand-overs take longer");
}

static int make_news(struct gs_daemon *d)
{
	d->loop->news_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (d->loop->news_fd < 0)
		return -1;
	d->loop->news = gs_event_new(d->base, d->loop->news_fd, EV_READ | EV_PERSIST, on_news, d);
	return d->loop->news ? event_add(d->loop->news, NULL) : -1;
}

int gs_loop_init(struct gs_daemon *d, const char *config_path, struct gs_error *err)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	struct timeval sweep = to_timeval(SWEEP_NS);

	d->loop = calloc(1, sizeof(*d->loop));
	if (!d->loop)
		return gs_fail(err, "no memory");
	d->loop->config_path = config_path;
	d->loop->news_fd = -1;
	signal(SIGPIPE, SIG_IGN);
	be_prompt(d->config);
	d->base = gs_event_base_new();
	if (!d->base)
		return gs_fail(err, "libevent has no event base for this system");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		d->loop->signals[i] =
			gs_event_new(d->base, signals[i], EV_SIGNAL | EV_PERSIST, on_signal, d);
		if (!d->loop->signals[i] || event_add(d->loop->signals[i], NULL) < 0)
			return gs_fail(err, "cannot handle signal %d", signals[i]);
	}
	d->loop->sweep = gs_event_new(d->base, -1, EV_PERSIST, on_sweep, d);
	d->loop->refresh = gs_event_new(d->base, -1, EV_PERSIST, on_refresh, d);
	if (make_news(d) < 0 || gs_memory_timer_init(d) < 0 || !d->loop->sweep ||
	    !d->loop->refresh || event_add(d->loop->sweep, &sweep) < 0)
		return gs_fail(err, "no memory");
	d->loop->metrics = gs_event_new(d->base, -1, EV_PERSIST, on_metrics, d);
	if (!d->loop->metrics)
		return gs_fail(err, "no memory");
	start_timers(d);
	return 0;
}

static int is_over(struct gs_daemon *d)
{
	uint64_t since = d->loop->stop_ns;

	return since && (gs_noticed_leave(d) == 0 || gs_clock_ns() - since > LEAVE_NS);
}

void gs_loop_run(struct gs_daemon *d)
{
	struct gs_error err;
	struct gs_suspended *suspended = gs_suspended_start(d, &err);
	int rc = 0;

	if (!suspended)
		gs_log(GS_LOG_ERROR, "%s: a job that is suspended keeps the GPU", err.text);
	while (!is_over(d) && rc == 0) {
		gs_unlock();
		rc = event_base_loop(d->base, EVLOOP_ONCE);
		gs_lock();
	}
	gs_unlock();
	gs_suspended_end(suspended);
	gs_lock();
}

int gs_loop_news_fd(const struct gs_daemon *d)
{
	return d->loop->news_fd;
}

void gs_loop_fini(struct gs_daemon *d)
{
	struct gs_loop *l = d->loop;

	if (!l)
		return;
	gs_memory_timer_fini(d);
	gs_event_free(l->news);
	gs_event_free(l->sweep);
	gs_event_free(l->refresh);
	gs_event_free(l->metrics);
	for (size_t i = 0; i < sizeof(l->signals) / sizeof(l->signals[0]); i++)
		gs_event_free(l->signals[i]);
	if (l->news_fd >= 0)
		close(l->news_fd);
	if (d->base)
		event_base_free(d->base);
	free(l);
	d->loop = NULL;
}
