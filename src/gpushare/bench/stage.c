/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The private folder, gpushared and MPS; see stage.h. */
#define _GNU_SOURCE
#include "gpushare/bench/stage.h"

#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/bench/defaults.h"
#include "gpushare/bench/device_file.h"
#include "gpushare/bench/process.h"
#include "gpushare/config/sched_options.h"

#define START_MS 30000
#define MPS_CONTROL "nvidia-cuda-mps-control"
#define LOG_SHOWN 4096
#define CONFIG "gpushare.conf"
/* In the private folder: gpushared's MPS, and that of --mps.  One runs at a time. */
#define GS_MPS "gpushared-mps"
#define OWN_MPS "mps"
/* Enough for gpushared to end its MPS server first, which takes some seconds. */
#define STOP_MS 20000

int bench_stage_open(struct bench_stage *stage, struct gs_error *err)
{
	const char *tmp = getenv("TMPDIR");
	char driver[PATH_MAX / 2], *folder = NULL;
	const char *old = getenv("LD_LIBRARY_PATH");

	if (snprintf(stage->folder, sizeof(stage->folder), "%s/gpushare-bench.XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(stage->folder) ||
	    !mkdtemp(stage->folder)) {
		gs_fail_errno(err, "cannot make a folder for the run");
		stage->folder[0] = '\0';
		return -1;
	}
	if (bench_defaults(stage, err) < 0)
		return -1;
	if (stage->driver) {
		if (access(stage->driver, R_OK) < 0)
			return gs_fail_errno(err, "%.150s", stage->driver);
		snprintf(driver, sizeof(driver), "%s", stage->driver);
		folder = dirname(driver);
	}
	if (stage->ngpu)
		setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1); /* which is how nvidia-smi counts */
	if (folder || (old && *old))
		snprintf(stage->programs, sizeof(stage->programs), "LD_LIBRARY_PATH=%s%s%.2000s",
			 folder ? folder : "", folder && old && *old ? ":" : "", old ? old : "");
	else
		snprintf(stage->programs, sizeof(stage->programs), "LD_LIBRARY_PATH");
	return 0;
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void bench_stage_close(struct bench_stage *stage)
{
	bench_stage_end(stage);
	if (stage->folder[0] && stage->keep)
		fprintf(stderr, "gpushare-bench: kept %s\n", stage->folder);
	else if (stage->folder[0])
		nftw(stage->folder, forget, 16, FTW_DEPTH | FTW_PHYS);
	stage->folder[0] = '\0';
}

/* "NAME=folder/leaf" */
static void in_folder(const struct bench_stage *stage, const char *prefix, const char *leaf,
		      char *text, size_t room)
{
	snprintf(text, room, "%s%s/%s", prefix, stage->folder, leaf);
}

/* With its device file gpushared knows a GPU's UUID and tells programs and MPS. */
static void write_gpus(FILE *f, const struct bench_stage *stage, const struct bench_gpu *gpu)
{
	char file[64];

	for (uint32_t i = 0; i < (stage->ngpu ? stage->ngpu : 1); i++) {
		fprintf(f, "Gpu=%u Memory=%llu Shares=%u", i, (unsigned long long)gpu->memory,
			gpu->shares);
		if (stage->ngpu && bench_device_file(stage->gpu[i], file, sizeof(file)))
			fprintf(f, " File=%s", file);
		fputc('\n', f);
	}
}

static int write_config(const struct bench_stage *stage, enum bench_share share, const char *policy,
			const struct bench_gpu *gpu, const char *path, struct gs_error *err)
{
	FILE *f = fopen(path, "we");
	int bad;

	if (!f)
		return gs_fail_errno(err, "cannot write %.150s", path);
	fprintf(f,
		"Socket=%s/sock\nPidFile=%s/pid\nLogFile=%s/log\nReportToSlurm=no\nAllowLocal=yes\n",
		stage->folder, stage->folder, stage->folder);
	if (!stage->as_used) /* what is measured is not when variants are made */
		fputs("VariantMin=0\n", f);
	if (policy)
		fprintf(f, "Policy=%s\n", policy);
	write_gpus(f, stage, gpu);
	if (stage->driver)
		fprintf(f, "Driver=%s\n", stage->driver);
	if (stage->shim)
		fprintf(f, "ShimDir=%s\n", stage->shim);
	if (share == BENCH_GS_MPS)
		fprintf(f, "Isolation=mps\nMpsDir=%s/" GS_MPS "\n", stage->folder);
	for (int32_t p = 0; p <= gpu->priority_max; p++)
		fprintf(f, "Partition=p%d Priority=%d\n", p, p);
	for (size_t i = 0; i < stage->nconf; i++)
		fprintf(f, "%s\n", stage->conf[i]);
	bad = ferror(f);
	if (fclose(f) != 0 || bad)
		return gs_fail_errno(err, "cannot write %.150s", path);
	return 0;
}

/* What those who serve all GPUs of the stage see. */
static void visible_gpus(const struct bench_stage *stage, char *text, size_t room)
{
	if (stage->ngpu > 1)
		snprintf(text, room, "CUDA_VISIBLE_DEVICES=%u,%u", stage->gpu[0], stage->gpu[1]);
	else
		snprintf(text, room, "CUDA_VISIBLE_DEVICES=%u", stage->gpu[0]);
}

static int start_daemon(struct bench_stage *stage, enum bench_share share, const char *policy,
			const struct bench_gpu *gpu, struct gs_error *err)
{
	char program[PATH_MAX], config[PATH_MAX], pid[PATH_MAX];
	char *argv[] = { program, "--foreground", "--config", config, NULL };
	int status;

	char visible[64], *env[] = { visible, NULL };

	in_folder(stage, "", CONFIG, config, sizeof(config));
	in_folder(stage, "", "pid", pid, sizeof(pid));
	bench_find_program("gpushared", program, sizeof(program));
	visible_gpus(stage, visible, sizeof(visible));
	if (write_config(stage, share, policy, gpu, config, err) < 0)
		return -1;
	stage->daemon = bench_spawn(argv, stage->ngpu ? env : NULL, NULL, err);
	if (stage->daemon < 0)
		return -1;
	for (unsigned waited = 0; access(pid, F_OK) < 0; waited += 20) {
		if (bench_reap(stage->daemon, 20, &status)) {
			stage->daemon = 0;
			bench_stage_show_log(stage);
			return gs_fail(err, "gpushared ended as it began");
		}
		if (waited > START_MS) {
			bench_stage_end(stage);
			return gs_fail(err, "gpushared was not ready within %d s", START_MS / 1000);
		}
	}
	return 0;
}

int bench_stage_sched_options(const struct bench_stage *stage, struct gs_sched_options *options,
			      struct gs_error *err)
{
	char path[PATH_MAX];
	struct gs_config *config;

	in_folder(stage, "", CONFIG, path, sizeof(path));
	config = gs_config_load(path, err);
	if (!config)
		return -1;
	*options = gs_config_sched_options(config);
	gs_config_free(config);
	return 0;
}

static int mps_control(const struct bench_stage *stage, int start, struct gs_error *err)
{
	char pipe[PATH_MAX], log[PATH_MAX], visible[64];
	char *argv[] = { MPS_CONTROL, start ? "-d" : NULL, NULL };
	char *env[5] = { pipe, log };
	int status, n = 2;
	pid_t pid;

	in_folder(stage, "CUDA_MPS_PIPE_DIRECTORY=", OWN_MPS, pipe, sizeof(pipe));
	in_folder(stage, "CUDA_MPS_LOG_DIRECTORY=", OWN_MPS, log, sizeof(log));
	visible_gpus(stage, visible, sizeof(visible));
	if (stage->driver)
		env[n++] = (char *)stage->programs;
	if (stage->ngpu)
		env[n++] = visible;
	if (start && mkdir(strchr(pipe, '=') + 1, 0700) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make MPS's folder");
	pid = bench_spawn(argv, env, start ? NULL : "quit\n", err);
	if (pid < 0)
		return -1;
	if (!bench_reap(pid, START_MS, &status)) {
		bench_end(pid);
		return gs_fail(err, MPS_CONTROL " does not answer");
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ?
		       0 :
		       gs_fail(err, MPS_CONTROL " cannot be %s", start ? "started" : "ended");
}

int bench_stage_begin(struct bench_stage *stage, enum bench_share share, const char *policy,
		      const struct bench_gpu *gpu, struct gs_error *err)
{
	if (bench_managed(share))
		return start_daemon(stage, share, policy, gpu, err);
	if (share != BENCH_MPS)
		return 0;
	if (mps_control(stage, 1, err) < 0)
		return -1;
	stage->mps = 1;
	return 0;
}

void bench_stage_end(struct bench_stage *stage)
{
	struct gs_error err;
	char path[PATH_MAX];
	int status;

	if (stage->daemon > 0 && kill(stage->daemon, SIGTERM) == 0 &&
	    !bench_reap(stage->daemon, STOP_MS, &status))
		bench_end(stage->daemon);
	if (stage->daemon > 0) {
		in_folder(stage, "", "pid", path, sizeof(path));
		unlink(path);
	}
	stage->daemon = 0;
	if (stage->mps && mps_control(stage, 0, &err) < 0)
		fprintf(stderr, "gpushare-bench: %s\n", err.text);
	stage->mps = 0;
}

/* The environment of a program on the stage. */
struct environment {
	char pipe[PATH_MAX], socket[PATH_MAX], device[PATH_MAX], summary[PATH_MAX], visible[64],
		priority[64];
	char *env[8];
};

static void set_environment(struct environment *e, struct bench_stage *stage,
			    const struct bench_launch *launch)
{
	int n = 5;

	/*
	 * No MPS but the one that was asked for: a folder that does not exist means none. What
	 * gpushared sets by `gpusharectl run` comes after this and wins.
	 */
	in_folder(stage, "CUDA_MPS_PIPE_DIRECTORY=", launch->share == BENCH_MPS ? OWN_MPS : "none",
		  e->pipe, sizeof(e->pipe));
	in_folder(stage, "GPUSHARE_SOCKET=", "sock", e->socket, sizeof(e->socket));
	in_folder(stage, "GPUSHARE_EMU_DEVICE=", "device", e->device, sizeof(e->device));
	in_folder(stage, "GPUSHARE_SUMMARY=", "summary", e->summary, sizeof(e->summary));
	memcpy(e->env, ((char *[8]) { e->pipe, e->socket, e->device, e->summary, stage->programs }),
	       sizeof(e->env));
	/*
	 * A client of MPS numbers the GPUs that the server sees. PyTorch numbers all GPUs unless it
	 * is told.
	 */
	if (launch->share == BENCH_MPS)
		snprintf(e->visible, sizeof(e->visible), "CUDA_VISIBLE_DEVICES=%u", launch->gpu);
	else
		snprintf(e->visible, sizeof(e->visible), "CUDA_VISIBLE_DEVICES=%u",
			 stage->gpu[launch->gpu]);
	if (stage->ngpu)
		e->env[n++] = e->visible;
	snprintf(e->priority, sizeof(e->priority), "CUDA_MPS_CLIENT_PRIORITY=%d",
		 launch->client_priority);
	if (launch->client_priority >= 0)
		e->env[n++] = e->priority;
}

#define ARGS_MAX 48

/* Adds an option of gpusharectl run, unless its value is 0. Returns the new number of words. */
static size_t add_option(char *argv[], size_t n, char *option, uint64_t value, const char *unit,
			 char text[24])
{
	if (!value)
		return n;
	snprintf(text, 24, "%llu%s", (unsigned long long)value, unit);
	argv[n++] = option;
	argv[n++] = text;
	return n;
}

pid_t bench_stage_launch(struct bench_stage *stage, const struct bench_launch *launch,
			 struct gs_error *err)
{
	char ctl[PATH_MAX], shares[16], partition[16], gpu[16], memory[24], period[24],
		deadline[24];
	char *argv[ARGS_MAX] = { ctl,           "run",     "--shares", shares,
				 "--partition", partition, "--gpu",    gpu };
	struct environment e;
	size_t n = bench_managed(launch->share) ? 8 : 0;

	bench_find_program("gpusharectl", ctl, sizeof(ctl));
	snprintf(shares, sizeof(shares), "%u", launch->shares);
	snprintf(partition, sizeof(partition), "p%d", launch->priority);
	snprintf(gpu, sizeof(gpu), "%u", launch->gpu);
	if (n) {
		n = add_option(argv, n, "--mem", launch->memory, "", memory);
		n = add_option(argv, n, "--period", launch->period.every_ns, "ns", period);
		n = add_option(argv, n, "--deadline", launch->period.deadline_ns, "ns", deadline);
		argv[n++] = "--";
	}
	for (size_t i = 0; launch->argv[i]; i++) {
		if (n + 1 == ARGS_MAX)
			return gs_fail(err, "a command of too many words");
		argv[n++] = launch->argv[i];
	}
	argv[n] = NULL;
	set_environment(&e, stage, launch);
	return launch->log ? bench_spawn_group(argv, e.env, launch->log, err) :
			     bench_spawn(argv, e.env, NULL, err);
}

pid_t bench_stage_program(struct bench_stage *stage, enum bench_share share, uint32_t slot,
			  const struct bench_part *part, struct gs_error *err)
{
	char self[PATH_MAX], page[PATH_MAX], index[16];
	char *argv[] = { self, "program", page, index, NULL };
	const struct bench_launch launch = {
		.share = part->native ? BENCH_DRIVER : share,
		.argv = argv,
		.shares = part->shares,
		.priority = part->priority,
		.client_priority = -1,
		.period = part->period,
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return gs_fail_errno(err, "cannot read /proc/self/exe");
	self[n] = '\0';
	in_folder(stage, "", "page", page, sizeof(page));
	snprintf(index, sizeof(index), "%u", slot);
	return bench_stage_launch(stage, &launch, err);
}

void bench_stage_show_log(const struct bench_stage *stage)
{
	char path[PATH_MAX], text[LOG_SHOWN + 1];
	FILE *f;
	size_t n;

	in_folder(stage, "", "log", path, sizeof(path));
	f = fopen(path, "re");
	if (!f)
		return;
	if (fseek(f, -LOG_SHOWN, SEEK_END) != 0)
		rewind(f);
	n = fread(text, 1, LOG_SHOWN, f);
	fclose(f);
	text[n] = '\0';
	fprintf(stderr, "gpushare-bench: gpushared's log ends in:\n%s", text);
}
