/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step's life in slurmstepd; see stepd.h.
 *
 * Which callback does what follows from slurmstepd's order (mgr.c):
 *  - init_post_opt runs as root with the step's environment complete; by
 *    user_init the effective user is the job's, and munge would seal that.
 *  - a failure before the tasks start drains the node and requeues the job,
 *    so a step that must not run fails in its tasks instead.
 *  - srun waits 600 s for a step's start, slurmd without end.
 *  - srun hears that its tasks have ended before slurm_spank_exit runs, and
 *    may complete the job then; the last task_exit comes before either.  The
 *    end of a batch script is told after slurm_spank_exit.
 */
#define _GNU_SOURCE
#include "common/clock.h"
#include "common/program.h"
#include "plugins/spank/stepd.h"

#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/spank/daemon.h"
#include "plugins/spank/job_mount.h"
#include "plugins/spank/jobinfo.h"
#include "plugins/spank/options.h"

#define END_TIMEOUT_MS 2000
#define REPORTED_NS (GS_NS_PER_S / 2) /* a report that slurmctld takes is faster */
#define REQUEUE_TIMEOUT_MS \
	(3600 * 1000) /* as long as slurmstepd itself tries to tell a job's end */
#define LIBRARY_PATH_MAX 32768
#define ENV_CUDA "CUDA_VISIBLE_DEVICES"

static struct {
	int registered;
	int misconfigured;
	struct gs_error why_misconfigured;
	int unreported; /* slurmctld was away when a batch script ended */
	int must_fail;
	int requeue;       /* slurmctld was away, and the step cannot have run */
	uint32_t restarts; /* of the job, when it began */
	uint32_t tasks_ended;
	struct gs_msg_step step;
	char gpu[256];                       /* CUDA_VISIBLE_DEVICES of the step; "": not set */
	char message[2 * GS_ERROR_TEXT_MAX]; /* for the user; "": none */
	uid_t uid;
	char environment[sizeof(((struct gs_msg_registered *)0)->env)]; /* from gpushared */
} self;

/* A whole number that Slurm put into the step's environment; 0 if it is not there. */
static uint32_t env_number(spank_t spank, const char *name)
{
	char text[24];

	if (spank_getenv(spank, name, text, sizeof(text)) != ESPANK_SUCCESS)
		return 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

/* Which GPU the step's shares are of; the first where nobody says. */
static int gpu_of(spank_t spank, uint32_t *gpu, struct gs_error *err)
{
	char text[128];

	*gpu = 0;
	if (spank_getenv(spank, "GPUSHARE_GPU", text, sizeof(text)) != ESPANK_SUCCESS)
		return 0;
	return gs_gpu_index(text, gpu, err);
}

static int set_env(spank_t spank, const char *name, const char *value, struct gs_error *err)
{
	spank_err_t rc = spank_setenv(spank, name, value, 1);

	return rc == ESPANK_SUCCESS ? 0 :
				      gs_fail(err, "cannot set %s: %s", name, spank_strerror(rc));
}

static int set_number(spank_t spank, const char *name, uint32_t value, struct gs_error *err)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return set_env(spank, name, text, err);
}

static int set_library_path(spank_t spank, const char *dir, struct gs_error *err)
{
	static char old[LIBRARY_PATH_MAX], new[LIBRARY_PATH_MAX];
	spank_err_t rc = spank_getenv(spank, "LD_LIBRARY_PATH", old, sizeof(old));

	if (rc == ESPANK_ENV_NOEXIST)
		old[0] = 0;
	else if (rc != ESPANK_SUCCESS)
		return gs_fail(err, "LD_LIBRARY_PATH: %s", spank_strerror(rc));
	if (gs_library_path(old, dir, new, sizeof(new)) < 0)
		return gs_fail(err, "LD_LIBRARY_PATH is too long");
	return set_env(spank, "LD_LIBRARY_PATH", new, err);
}

/* "A=B\n" lines of the administrator's. */
static int set_lines(spank_t spank, char *lines, struct gs_error *err)
{
	char *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *equals = strchr(line, '=');

		if (!equals || equals == line)
			return gs_fail(err, "gpushared sent \"%.64s\" for the environment", line);
		*equals = 0;
		if (set_env(spank, line, equals + 1, err) < 0)
			return -1;
	}
	return 0;
}

static int set_environment(spank_t spank, const struct gs_spank_args *args,
			   struct gs_msg_registered *granted, struct gs_error *err)
{
	memcpy(self.environment, granted->env, sizeof(self.environment));
	if (granted->shim_dir[0] && !gs_job_mount_suffices() &&
	    set_library_path(spank, granted->shim_dir, err) < 0)
		return -1;
	/* Where the shim has the driver's place, that path leads to the shim. */
	if (granted->driver[0] && !gs_job_mount_planned() &&
	    set_env(spank, "GPUSHARE_DRIVER", granted->driver, err) < 0)
		return -1;
	if (set_env(spank, "GPUSHARE_SOCKET", args->socket, err) < 0 ||
	    set_number(spank, "GPUSHARE_SHARES", self.step.shares, err) < 0 ||
	    set_number(spank, "GPUSHARE_JOB_ID", self.step.job_id, err) < 0 ||
	    set_number(spank, "GPUSHARE_STEP_ID", self.step.step_id, err) < 0)
		return -1;
	return set_lines(spank, granted->env, err);
}

/* The file is the user's choice: it is opened with the user's rights. */
static uint64_t program_key(spank_t spank, uid_t uid, int argc, char *const argv[])
{
	struct gs_program_user user = { .uid = uid };
	gid_t *groups = NULL;
	int n = 0;

	if (spank_get_item(spank, S_JOB_GID, &user.gid) != ESPANK_SUCCESS)
		return 0;
	if (spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &groups, &n) == ESPANK_SUCCESS &&
	    groups && n > 0) {
		user.groups = groups;
		user.ngroups = (size_t)n;
	}
	return gs_program_key_as(&user, argc, argv);
}

/*
 * 1: a step with shares, described in self.step; 0: none of ours; -1: cannot
 * tell, or, if *answer says so, cannot be.
 */
static int describe(spank_t spank, const struct gs_spank_args *args, enum gs_answer *answer,
		    struct gs_error *err)
{
	const struct gs_spank_options *options = gs_options();
	struct gs_msg_step *step = &self.step;
	uint32_t shares = env_number(spank, "GPUSHARE_SHARES");
	enum gs_jobinfo_answer got;
	struct gs_jobinfo job;
	char **argv = NULL;
	int argc = 0;
	uid_t uid;

	*answer = GS_ANSWER_ABSENT;
	if (!shares)
		return 0;
	got = gs_jobinfo_load(step->job_id, args->slurmctld_timeout_ms, &job, err);
	self.requeue = got == GS_JOBINFO_AWAY && !args->run_absent;
	if (got != GS_JOBINFO_YES)
		return -1;
	if (!job.shares)
		return 0;
	if (spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS || uid != job.uid)
		return gs_fail(err, "slurmctld says that job %u is of another user", step->job_id);
	step->uid = job.uid;
	step->shares = shares < job.shares ? shares : job.shares;
	step->job_shares = job.shares;
	/* srun asks for its step with the user's own words: the job got DefaultShares for them. */
	if (shares == 1 && job.shares > 1 && gs_jobinfo_step_is_bare(step->job_id, step->step_id))
		step->shares = job.shares;
	if (gpu_of(spank, &step->gpu, err) < 0) {
		*answer = GS_ANSWER_REFUSED;
		return -1;
	}
	step->memory = options->memory_set ? options->memory : 0;
	if (spank_get_item(spank, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argv)
		step->program = program_key(spank, uid, argc, argv);
	step->priority_set = (uint32_t)options->priority_set;
	step->priority = options->priority;
	step->period_ns = options->period_ns;
	step->deadline_ns = options->deadline_ns;
	step->no_corun = (uint32_t)options->no_corun;
	memcpy(step->partition, job.partition, sizeof(step->partition));
	memcpy(step->qos, job.qos, sizeof(step->qos));
	memcpy(step->account, job.account, sizeof(step->account));
	step->tier = job.tier;
	return 1;
}

static void cannot_register(const struct gs_spank_args *args, enum gs_answer answer,
			    const struct gs_error *err)
{
	const char *what;

	self.must_fail = answer == GS_ANSWER_REFUSED || !args->run_absent;
	if (answer == GS_ANSWER_REFUSED)
		what = "refused by gpushared";
	else
		what = self.requeue ?
			       "slurmctld has not come back in time; the job is requeued if it may be" :
		       self.must_fail ? "not registered, and the step does not run without" :
					"not registered, the step runs unmanaged";
	snprintf(self.message, sizeof(self.message), "gpushare: job %u: %s: %s", self.step.job_id,
		 what, err->text);
	slurm_error("%s", self.message);
}

static void cannot_mount(const struct gs_error *err)
{
	self.must_fail = 1;
	snprintf(
		self.message, sizeof(self.message),
		"gpushare: job %u: the step does not run, since the shim cannot take the driver's place in it (MountShim=step): %s",
		self.step.job_id, err->text);
	slurm_error("%s", self.message);
}

/*
 * A job that was submitted from within another inherits its environment.  What
 * that says of the other job would only get this one's CUDA programs refused.
 */
static void forget_other_job(spank_t spank)
{
	static const char *const names[] = { "GPUSHARE_SHARES", "GPUSHARE_GPU",
					     "GPUSHARE_JOB_ID", "GPUSHARE_STEP_ID",
					     "GPUSHARE_SOCKET", "GPUSHARE_DRIVER",
					     GS_ABSENT_ENV,     GS_KEY_ENV };
	uint32_t other = env_number(spank, "GPUSHARE_JOB_ID");

	if (!other || other == self.step.job_id)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		spank_unsetenv(spank, names[i]);
}

/* Options that nothing will look at deserve a word. */
static void unused_options(void)
{
	const char *option = gs_options_any();

	if (option)
		snprintf(self.message, sizeof(self.message),
			 "gpushare: job %u: --gpushare-%s has no effect without --gres=gpushare",
			 self.step.job_id, option);
}

void gs_stepd_misconfigured(const struct gs_error *err)
{
	self.misconfigured = 1;
	self.why_misconfigured = *err;
}

/* socket=, with this node's name in it, which slurmd has put into slurmstepd's environment. */
static int find_socket(struct gs_spank_args *args, struct gs_error *err)
{
	char path[sizeof(args->socket)];

	if (gs_socket_path(args->socket, getenv("SLURMD_NODENAME"), path, sizeof(path), err) < 0)
		return -1;
	memcpy(args->socket, path, sizeof(path));
	return 0;
}

void gs_stepd_begin(spank_t spank, struct gs_spank_args *args)
{
	struct gs_msg_registered granted;
	enum gs_answer answer;
	struct gs_error err;
	int ours;

	if (spank_get_item(spank, S_JOB_ID, &self.step.job_id) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_STEPID, &self.step.step_id) != ESPANK_SUCCESS ||
	    self.step.step_id == SLURM_EXTERN_CONT)
		return;
	self.restarts = env_number(spank, "SLURM_RESTART_COUNT");
	if (spank_get_item(spank, S_JOB_UID, &self.uid) != ESPANK_SUCCESS)
		self.uid = 0; /* only root may read the job's file, then */
	if (find_socket(args, &err) < 0)
		gs_stepd_misconfigured(&err);
	else if (gs_job_mount_begin(args->socket, &err) < 0)
		cannot_mount(&err);
	ours = describe(spank, args, &answer, &err);
	if (ours < 0) {
		cannot_register(args, answer, &err);
		return;
	}
	if (!ours) {
		forget_other_job(spank);
		unused_options();
		return;
	}
	if (self.misconfigured) {
		cannot_register(args, GS_ANSWER_ABSENT, &self.why_misconfigured);
		return;
	}
	answer = gs_daemon_register(args, &self.step, &granted, &err);
	if (answer != GS_ANSWER_YES) {
		cannot_register(args, answer, &err);
		return;
	}
	self.registered = 1;
	slurm_verbose("gpushare: job %u step %u: %u shares, %llu bytes reserved", self.step.job_id,
		      self.step.step_id, self.step.shares, (unsigned long long)granted.reservation);
	if (set_environment(spank, args, &granted, &err) < 0)
		cannot_register(args, GS_ANSWER_REFUSED, &err);
	if (spank_getenv(spank, ENV_CUDA, self.gpu, sizeof(self.gpu)) != ESPANK_SUCCESS)
		self.gpu[0] = '\0';
}

void gs_stepd_tell(void)
{
	if (self.message[0])
		slurm_spank_log("%s", self.message);
}

/* Not by a return value: Slurm heeds those of plugins marked required only. */
void gs_stepd_task(void)
{
	struct gs_error err;

	if (!self.must_fail &&
	    gs_job_mount_join(self.step.job_id, self.uid, self.registered ? self.environment : NULL,
			      &err) < 0) {
		cannot_mount(&err);
		slurm_spank_log("%s", self.message);
	}
	if (self.must_fail)
		_exit(EXIT_FAILURE);
}

void gs_stepd_task_env(spank_t spank)
{
	char text[sizeof(self.gpu)];

	gs_job_mount_return();
	if (self.gpu[0] && spank_getenv(spank, ENV_CUDA, text, sizeof(text)) == ESPANK_ENV_NOEXIST)
		spank_setenv(spank, ENV_CUDA, self.gpu, 1);
}

void gs_stepd_task_exit(spank_t spank, const struct gs_spank_args *args)
{
	uint32_t tasks;

	/* Nobody but slurmstepd tells the end of a batch script, and only after slurm_spank_exit:
	 * that can wait for slurmctld, and what the script left behind is gone by then. */
	if (self.step.step_id == SLURM_BATCH_SCRIPT)
		return;
	self.tasks_ended++;
	if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) == ESPANK_SUCCESS &&
	    self.tasks_ended >= tasks)
		gs_stepd_end(args);
}

void gs_stepd_end(const struct gs_spank_args *args)
{
	uint64_t begun = gs_clock_ns();
	struct gs_error err;

	if (!self.registered)
		return;
	self.registered = 0;
	/* At once, even without slurmctld: others may wait for the shares and the memory. */
	if (gs_daemon_unregister(args, &self.step, END_TIMEOUT_MS, &err) != GS_ANSWER_YES)
		slurm_error("gpushare: job %u step %u: no final report: %s", self.step.job_id,
			    self.step.step_id, err.text);
	/* An answer that took long is that of a daemon that could not reach slurmctld either. */
	self.unreported = self.step.step_id == SLURM_BATCH_SCRIPT &&
			  (gs_clock_ns() - begun > REPORTED_NS ||
			   gs_jobinfo_wait(self.step.job_id, 0, &err) < 0);
}

/*
 * The job's last report is written while slurmctld takes the job for running.
 * Nobody but slurmstepd tells the end of a batch script, so that can wait for
 * slurmctld to come back; the shares have been given back by then.
 */
void gs_stepd_report_late(const struct gs_spank_args *args)
{
	struct gs_error err;

	if (!self.unreported)
		return;
	self.unreported = 0;
	if (gs_jobinfo_wait(self.step.job_id, args->slurmctld_timeout_ms, &err) < 0 ||
	    gs_daemon_unregister(args, &self.step, END_TIMEOUT_MS, &err) != GS_ANSWER_YES)
		slurm_error("gpushare: job %u step %u: no final report: %s", self.step.job_id,
			    self.step.step_id, err.text);
}

void gs_stepd_job_over(spank_t spank, struct gs_spank_args *args)
{
	struct gs_error err;
	uint32_t job_id;

	if (spank_get_item(spank, S_JOB_ID, &job_id) != ESPANK_SUCCESS)
		return;
	if (find_socket(args, &err) < 0)
		slurm_error("gpushare: job %u: %s", job_id, err.text);
	else
		gs_job_mount_over(args->socket, job_id);
}

void gs_stepd_requeue(void)
{
	struct gs_error err;

	if (!self.requeue)
		return;
	self.requeue = 0;
	if (gs_jobinfo_requeue(self.step.job_id, self.restarts, REQUEUE_TIMEOUT_MS, &err) < 0)
		slurm_error("gpushare: job %u is not requeued: %s", self.step.job_id, err.text);
	else
		slurm_info("gpushare: job %u is requeued", self.step.job_id);
}
