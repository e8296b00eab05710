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

#include "gpushare/bench/process.h"
#include "gpushare/config/sched_options.h"

#define START_MS 30000
#define MPS_CONTROL "nvidia-cuda-mps-control"
#define LOG_SHOWN 4096
#define CONFIG "gpushare.conf"
/* In the private folder: gpushared's MPS, and that of --mps.  One runs at a time. */
#define GS_MPS "gpushared-mps"
#define OWN_MPS "mps"
/* gpushared ends its MPS first, which takes some seconds. */
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
	if (stage->driver) {
		if (access(stage->driver, R_OK) < 0)
			return gs_fail_errno(err, "%.150s", stage->driver);
		snprintf(driver, sizeof(driver), "%s", stage->driver);
		folder = dirname(driver);
	}
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

/* Is there a further line of that key? */
static int says(const struct bench_stage *stage, const char *key)
{
	for (size_t i = 0; i < stage->nconf; i++)
		if (strncasecmp(stage->conf[i], key, strlen(key)) == 0)
			return 1;
	return 0;
}

static int write_config(const struct bench_stage *stage, enum bench_share share,
			const char *policy, const struct bench_gpu *gpu, const char *path,
			struct gs_error *err)
{
	FILE *f = fopen(path, "we");
	int bad;

	if (!f)
		return gs_fail_errno(err, "cannot write %.150s", path);
	fprintf(f, "Socket=%s/sock\nPidFile=%s/pid\nLogFile=%s/log\nReportToSlurm=no\nAllowLocal=yes\n",
		stage->folder, stage->folder, stage->folder);
	fprintf(f, "Policy=%s\nGpu=0 Memory=%llu Shares=%u\n", policy,
		(unsigned long long)gpu->memory, gpu->shares);
	if (stage->driver)
		fprintf(f, "Driver=%s\n", stage->driver);
	if (stage->shim)
		fprintf(f, "ShimDir=%s\n", stage->shim);
	if (share == BENCH_GS_MPS)
		fprintf(f, "Isolation=mps\nMpsDir=%s/" GS_MPS "\n", stage->folder);
	for (int32_t p = 0; p <= gpu->priority_max; p++)
		fprintf(f, "Partition=p%d Priority=%d\n", p, p);
	/* The programs come at once: they are not to be kept company. */
	if (!says(stage, "MeasureHandover="))
		fprintf(f, "MeasureHandover=learn\n");
	for (size_t i = 0; i < stage->nconf; i++)
		fprintf(f, "%s\n", stage->conf[i]);
	bad = ferror(f);
	if (fclose(f) != 0 || bad)
		return gs_fail_errno(err, "cannot write %.150s", path);
	return 0;
}

static int start_daemon(struct bench_stage *stage, enum bench_share share, const char *policy,
			const struct bench_gpu *gpu, struct gs_error *err)
{
	char program[PATH_MAX], config[PATH_MAX], pid[PATH_MAX];
	char *argv[] = { program, "--foreground", "--config", config, NULL };
	int status;

	in_folder(stage, "", CONFIG, config, sizeof(config));
	in_folder(stage, "", "pid", pid, sizeof(pid));
	bench_find_program("gpushared", program, sizeof(program));
	if (write_config(stage, share, policy, gpu, config, err) < 0)
		return -1;
	stage->daemon = bench_spawn(argv, NULL, NULL, err);
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
	char pipe[PATH_MAX], log[PATH_MAX];
	char *argv[] = { MPS_CONTROL, start ? "-d" : NULL, NULL };
	char *env[] = { pipe, log, stage->driver ? (char *)stage->programs : NULL, NULL };
	int status;
	pid_t pid;

	in_folder(stage, "CUDA_MPS_PIPE_DIRECTORY=", OWN_MPS, pipe, sizeof(pipe));
	in_folder(stage, "CUDA_MPS_LOG_DIRECTORY=", OWN_MPS, log, sizeof(log));
	if (start && mkdir(strchr(pipe, '=') + 1, 0700) < 0 && errno != EEXIST)
		return gs_fail_errno(err, "cannot make MPS's folder");
	pid = bench_spawn(argv, env, start ? NULL : "quit\n", err);
	if (pid < 0)
		return -1;
	if (!bench_reap(pid, START_MS, &status)) {
		bench_end(pid);
		return gs_fail(err, MPS_CONTROL " does not answer");
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0
		: gs_fail(err, MPS_CONTROL " cannot be %s", start ? "started" : "ended");
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

pid_t bench_stage_program(struct bench_stage *stage, enum bench_share share, uint32_t slot,
			  uint32_t shares, int32_t priority, struct gs_error *err)
{
	char self[PATH_MAX], ctl[PATH_MAX], page[PATH_MAX], pipe[PATH_MAX], socket[PATH_MAX];
	char device[PATH_MAX], summary[PATH_MAX], index[16], share_text[16], partition[16];
	char *managed[] = { ctl, "run", "--shares", share_text, "--partition", partition, "--",
			    self, "program", page, index, NULL };
	char *plain[] = { self, "program", page, index, NULL };
	char *env[] = { pipe, socket, device, summary, stage->programs, NULL };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return gs_fail_errno(err, "cannot read /proc/self/exe");
	self[n] = '\0';
	bench_find_program("gpusharectl", ctl, sizeof(ctl));
	in_folder(stage, "", "page", page, sizeof(page));
	/*
	 * No MPS but the one that was asked for: a folder that is not there means none.
	 * What gpushared says, by `gpusharectl run`, comes after this.
	 */
	in_folder(stage, "CUDA_MPS_PIPE_DIRECTORY=", share == BENCH_MPS ? OWN_MPS : "none", pipe,
		  sizeof(pipe));
	in_folder(stage, "GPUSHARE_SOCKET=", "sock", socket, sizeof(socket));
	in_folder(stage, "GPUSHARE_EMU_DEVICE=", "device", device, sizeof(device));
	in_folder(stage, "GPUSHARE_SUMMARY=", "summary", summary, sizeof(summary));
	snprintf(index, sizeof(index), "%u", slot);
	snprintf(share_text, sizeof(share_text), "%u", shares);
	snprintf(partition, sizeof(partition), "p%d", priority);
	return bench_spawn(bench_managed(share) ? managed : plain, env, NULL, err);
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
