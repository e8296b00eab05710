/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushared: one per node; it decides whose kernels run. It never links CUDA and never parses a
 * user's code. One event loop does what is slow, and an arbiter for each GPU takes the decisions
 * (arbiter.h).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "config.h"
#include "gpushare/daemon/requests/admin.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/daemon/daemonize.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/gpus.h"
#include "gpushare/daemon/history/history.h"
#include "gpushare/arbiter/learned.h"
#include "gpushare/daemon/installation.h"
#include "gpushare/daemon/base/locality.h"
#include "gpushare/daemon/loop.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_history.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/memory/mig.h"
#include "gpushare/daemon/mps/mps.h"
#include "gpushare/daemon/options.h"
#include "gpushare/daemon/requests/mount_plan.h"
#include "gpushare/daemon/requests/query.h"
#include "gpushare/daemon/base/server.h"
#include "gpushare/daemon/slurm/slurm_report.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/user_key.h"
#include "gpushare/daemon/checkpoint/checkpoint.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/report/job_sums.h"
#include "gpushare/daemon/steps/steps.h"
#include "gpushare/daemon/wiring.h"
#include "gpushare/proto/msg.h"

static void daemon_init(struct gs_daemon *d, struct gs_config *config)
{
	*d = (struct gs_daemon) {
		.config = config,
		.started_ns = gs_clock_ns(),
	};
	LIST_INIT(&d->conns);
	TAILQ_INIT(&d->steps);
	TAILQ_INIT(&d->finished.list);
}

static void log_warning(const char *text)
{
	gs_log(GS_LOG_WARN, "%s", text);
}

/* Does everything that must succeed before the parent may exit. */
static int start(struct gs_daemon *d, const char *config_path, struct gs_error *err)
{
	if (gs_server_listen(d, err) < 0 || gs_user_key_init(d->config->socket, err) < 0)
		return -1;
	gs_mount_plan_update(d->config); /* before MPS, which must get the driver's own file */
	if (gs_mig_check(d->config, err) < 0 || gs_loop_init(d, config_path, err) < 0 ||
	    gs_devices_init(d, gs_loop_news_fd(d), err) < 0 || gs_mps_start(d, err) < 0 ||
	    gs_pid_file_write(d->config->pid_file, err) < 0)
		return -1;
	gs_installation_check(d->config);
	gs_installation_partitions(d->config, config_path, log_warning);
	gs_locality_bind(d->config);
	gs_admin_init(d);
	d->slurm = gs_slurm_report_create(d);
	d->learned = gs_learned_create();
	if (!d->learned)
		return gs_fail(err, "no memory");
	d->peaks = gs_peaks_create();
	gs_history_recall(d);
	d->history = gs_history_create(d);
	d->checkpoint = gs_checkpoint_create(d);
	if (!d->checkpoint)
		return gs_fail(err, "no memory");
	gs_state_load(d);
	gs_steps_sweep(d); /* reports those that ended while there was no daemon */
	gs_memory_step(d);
	d->check = gs_memory_check_create(d);
	if (gs_devices_start(d, err) < 0 || gs_server_start(d, err) < 0)
		return -1;
	return 0;
}

static void stop(struct gs_daemon *d, int served)
{
	gs_devices_stop(d);
	gs_mps_stop(d);
	gs_slurm_report_destroy(d->slurm);
	d->slurm = NULL;
	gs_memory_check_destroy(d->check);
	d->check = NULL; /* steps may still end, with the questions that the history gives up */
	gs_checkpoint_destroy(d->checkpoint);
	d->checkpoint = NULL;
	gs_peaks_destroy(d->peaks);
	d->peaks = NULL;
	gs_history_destroy(d->history);
	d->history = NULL;
	if (served)
		gs_pid_file_remove(d->config->pid_file);
	gs_server_fini(d);
	gs_learned_destroy(d->learned);
	d->learned = NULL;
	gs_query_fini();
	gs_returning_fini();
	gs_state_fini();
	gs_steps_fini(d);
	gs_job_sums_fini();
	gs_devices_fini(d);
	gs_loop_fini(d);
}

/* The process that started the daemon may wait for the end of its standard error, so close it. If
 * the log goes there it stays open: under systemd it is the journal. */
static void leave_terminal(const struct gs_config *config, int foreground)
{
	if (foreground || strcmp(config->log_file, "-") == 0)
		return;
	if (!freopen("/dev/null", "w", stderr))
		gs_log(GS_LOG_WARN, "cannot leave standard error");
}

static void warn(const char *text)
{
	fprintf(stderr, "gpushared: warning: %s\n", text);
}

int main(int argc, char **argv)
{
	static struct gs_daemon d;
	struct gs_options o;
	struct gs_config *config;
	struct gs_error err;
	char *path;
	int ready = -1, status, rc;

	status = gs_options_parse(argc, argv, &o);
	if (status >= 0)
		return status;
	config = gs_config_load(o.config, &err);
	if (!config) {
		fprintf(stderr, "gpushared: %s\n", err.text);
		return 1;
	}
	if (o.check) {
		gs_installation_partitions(config, o.config, warn);
		printf("%s: good%s\n", o.config,
		       config->ngpu ? "" : ", though without Gpu= lines: for slurmctld only");
		gs_config_free(config);
		return 0;
	}
	if (o.mounts) {
		rc = gs_mount_node(config, &err);
		if (rc < 0)
			fprintf(stderr, "gpushared: %s\n", err.text);
		gs_config_free(config);
		return rc < 0;
	}
	if (!config->ngpu) {
		fprintf(stderr, "gpushared: %s: no Gpu= line\n", o.config);
		gs_config_free(config);
		return 1;
	}
	path = realpath(o.config, NULL); /* SIGHUP reads it from another working directory */
	if (path)
		o.config = path;
	if (!o.foreground) {
		ready = gs_daemonize(&err);
		if (ready < 0) {
			fprintf(stderr, "gpushared: %s\n", err.text);
			return 1;
		}
	}
	daemon_init(&d, config);
	if (gs_log_open("gpushared", config->log_file, config->log_level) < 0) {
		gs_fail_errno(&err, "cannot open the log %s", config->log_file);
		gs_daemon_failed(ready, err.text);
		return 1;
	}
	gs_lock();
	gs_wire();
	rc = start(&d, o.config, &err);
	if (rc == 0) {
		gs_log(GS_LOG_INFO, "gpushared %s serves %zu GPU%s at %s, policy %s, isolation %s",
		       PACKAGE_VERSION, d.ndevice, d.ndevice == 1 ? "" : "s", config->socket,
		       config->policy, gs_isolation_name(config->isolation));
		gs_daemon_ready(ready);
		leave_terminal(config, o.foreground);
		gs_loop_run(&d);
		gs_state_save(&d); /* saves the figures while there are still clients */
		gs_log(GS_LOG_INFO, "stopped");
	} else {
		gs_log(GS_LOG_ERROR, "%s", err.text);
		gs_daemon_failed(ready, err.text);
	}
	stop(&d, rc == 0);
	gs_unlock();
	gs_config_free(d.config);
	gs_log_close();
	free(path);
	return rc == 0 ? 0 : 1;
}
