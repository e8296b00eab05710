/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare.conf and what it names on this node; see findings.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/findings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gpushare/ctl/ctl.h"
#include "gpushare/mount/plan.h"

#define NVIDIA_MAJOR 195
#define MPS_VARIABLE "CUDA_MPS_PIPE_DIRECTORY="

/* Nobody but root may write what root's daemon obeys. */
static void check_uid(struct gs_check *c, const char *name, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		gs_check_add(c, GS_WRONG, name, "chown root and chmod go-w it",
			     "%s may be written by others than root", path);
}

static void check_gpu(struct gs_check *c, const struct gs_config_gpu *gpu)
{
	struct stat st;

	if (!gpu->file) {
		gs_check_add(
			c, GS_UNCHECKED, "device", NULL,
			"GPU %u has no File=: an emulated one, or one that cannot be told from here",
			gpu->index);
		return;
	}
	if (stat(gpu->file, &st) < 0)
		gs_check_add(
			c, GS_WRONG, "device",
			"load the driver (nvidia-smi makes the device files), or correct File= of the Gpu line",
			"GPU %u: %s: %s", gpu->index, gpu->file, strerror(errno));
	else if (!S_ISCHR(st.st_mode))
		gs_check_add(c, GS_WRONG, "device", "correct File= of the Gpu line",
			     "GPU %u: %s is no device", gpu->index, gpu->file);
	else if ((st.st_mode & (S_IROTH | S_IWOTH)) != (S_IROTH | S_IWOTH))
		gs_check_add(c, GS_DOUBT, "device",
			     "chmod 666 it, unless all users of the GPU are in its group",
			     "GPU %u: not all users may open %s", gpu->index, gpu->file);
	else
		gs_check_add(c, GS_GOOD, "device", NULL, "GPU %u: %s", gpu->index, gpu->file);
	/* Every CUDA program opens these device files as well. */
	if (stat(gpu->file, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == NVIDIA_MAJOR) {
		static const char *const entries[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };

		for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
			if (access(entries[i], R_OK | W_OK) < 0)
				gs_check_add(c, GS_WRONG, "device",
					     "modprobe nvidia-uvm; nvidia-modprobe -u -c 0",
					     "%s: %s", entries[i], strerror(errno));
	}
}

/* May every user enter the folders above it? */
static int reachable(const char *path)
{
	char part[4096];
	struct stat st;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		if ((size_t)(slash - path) >= sizeof(part))
			return 0;
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		if (stat(part, &st) < 0 || !(st.st_mode & S_IXOTH))
			return 0;
	}
	return stat(path, &st) == 0 && st.st_mode & S_IROTH;
}

/* Shim and driver: a libcuda.so.1 that any user's job can load. */
static void check_library(struct gs_check *c, const char *name, const char *path, const char *fix)
{
	struct gs_error err;
	int defines = gs_library_defines(path, "cuInit", &err);

	if (defines < 0)
		gs_check_add(c, GS_WRONG, name, fix, "%s", err.text);
	else if (!defines)
		gs_check_add(c, GS_WRONG, name, fix, "%s does not define cuInit", path);
	else if (!reachable(path))
		gs_check_add(c, GS_WRONG, name, "chmod o+rx its folders and o+r it",
			     "%s cannot be read by all users, whose jobs load it", path);
	else
		gs_check_add(c, GS_GOOD, name, NULL, "%s", path);
}

static void check_shim(struct gs_check *c)
{
	const char *dir = *c->config->shim_dir ? c->config->shim_dir : GS_SHIM_DIR;
	char path[4096];

	snprintf(path, sizeof(path), "%s/libcuda.so.1", dir);
	check_library(c, "shim", path,
		      "install gpushare's client on this node, or correct ShimDir");
}

/* Which libcuda.so.1 the loader would take, as ldconfig lists it. */
static int system_driver(char *path, size_t size)
{
	char *argv[] = { "ldconfig", "-p", NULL };
	char *out = malloc(1 << 20), *at, *end;
	int found = 0;

	if (out && gs_check_run(argv, out, 1 << 20) == 0 &&
	    (at = strstr(out, "libcuda.so.1 (libc6,x86-64")) && (at = strstr(at, "=> "))) {
		end = at + strcspn(at, "\n");
		snprintf(path, size, "%.*s", (int)(end - at - 3), at + 3);
		found = 1;
	}
	free(out);
	return found;
}

static void check_driver(struct gs_check *c)
{
	char path[4096];

	if (*c->config->driver)
		check_library(c, "driver", c->config->driver,
			      "correct Driver, or install the driver");
	else if (system_driver(path, sizeof(path)))
		check_library(c, "driver", path, "install the driver anew");
	else
		gs_check_add(c, GS_WRONG, "driver",
			     "install NVIDIA's driver, or name its libcuda.so.1 with Driver=",
			     "the system has no libcuda.so.1 (ldconfig -p)");
}

/* A file that the daemon will write: is its folder there? */
static void check_folder(struct gs_check *c, const char *key, const char *file)
{
	char folder[4096];
	struct stat st;
	char *slash;

	if (*file != '/')
		return;
	snprintf(folder, sizeof(folder), "%s", file);
	slash = strrchr(folder, '/');
	*(slash == folder ? slash + 1 : slash) = '\0';
	if (stat(folder, &st) < 0)
		gs_check_add(c, GS_WRONG, "folder", "make it, owned by root", "%s=%s: %s", key,
			     file, strerror(errno));
	else if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		gs_check_add(c, GS_WRONG, "folder", "chmod o-w it",
			     "%s=%s: everybody may replace it there", key, file);
}

/* Isolation=mps: the pipe is there while gpushared runs. */
static void check_own_mps(struct gs_check *c)
{
	char pipe[4096];
	struct stat st;

	snprintf(pipe, sizeof(pipe), "%s/control", c->config->mps_dir);
	if (strstr(c->config->job_env, MPS_VARIABLE))
		gs_check_add(c, GS_WRONG, "mps", "take " MPS_VARIABLE " out of JobEnv",
			     "Isolation=mps, and JobEnv sends jobs to another MPS");
	else if (stat(pipe, &st) < 0)
		gs_check_add(c, GS_UNCHECKED, "mps", NULL,
			     "Isolation=mps: %s is there while gpushared runs only", pipe);
	else
		gs_check_add(c, GS_GOOD, "mps", NULL, "gpushared's MPS has its pipe at %s", pipe);
}

static void check_mps(struct gs_check *c)
{
	const char *line = strstr(c->config->job_env, MPS_VARIABLE);
	char pipe[4096];
	struct stat st;

	if (c->config->isolation == GS_ISOLATION_MPS) {
		check_own_mps(c);
		return;
	}
	if (!line || (line != c->config->job_env && line[-1] != '\n'))
		return;
	line += strlen(MPS_VARIABLE);
	snprintf(pipe, sizeof(pipe), "%.*s/control", (int)strcspn(line, "\n"), line);
	if (stat(pipe, &st) < 0 || !S_ISFIFO(st.st_mode))
		gs_check_add(c, GS_WRONG, "mps",
			     "start nvidia-cuda-mps-control -d with this " MPS_VARIABLE
			     "..., before gpushared",
			     "JobEnv sends jobs to an MPS server that is not there: no pipe %s",
			     pipe);
	else
		gs_check_add(c, GS_GOOD, "mps", NULL, "the MPS server's pipe is %s", pipe);
}

/* Not a fault, but what an administrator should know before users ask. */
static void check_priorities(struct gs_check *c)
{
	const struct gs_config *config = c->config;
	int several = 0;

	for (size_t i = 0; i < config->npartition; i++)
		several |= gs_config_has_above(config, config->partition[i].class,
					       config->partition[i].priority);
	if (!several)
		return;
	if (config->starvation_ns)
		gs_check_add(
			c, GS_GOOD, "priorities", NULL,
			"a less urgent job waits for %.3g s at most while a more urgent one has work (StarvationBound)",
			(double)config->starvation_ns / 1e9);
	else
		gs_check_add(
			c, GS_GOOD, "priorities", NULL,
			"a less urgent job waits for as long as a more urgent one has work; StarvationBound= would bound that");
}

/* Nobody waits for memory on a node where Slurm's queue is for that. */
static void check_idle(struct gs_check *c)
{
	if (c->config->idle_reclaim_ns && !c->config->memory_on_node)
		gs_check_add(
			c, GS_DOUBT, "memory", "MemoryQueue=node, or take IdleReclaim= out",
			"IdleReclaim= without MemoryQueue=node: jobs wait for memory in Slurm's queue, so none is reclaimed for them");
}

/* On smaller nodes a processor that polls is missed (gpushare.conf(5), Arbiter). */
#define PROCESSORS_LEAST 8
enum { ARBITER_POLL = 1 };

/* A thread for each GPU: where it runs, and whose processor it takes there. */
static void check_arbiter(struct gs_check *c)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int first = c->config->arbiter_cpu, last = first + (int)c->config->ngpu - 1;

	if (first >= 0 && last >= processors)
		gs_check_add(c, GS_WRONG, "arbiter",
			     "name a lower processor: the GPUs' arbiters have those that follow",
			     "ArbiterCpu=%d: with %zu GPUs processor %d is needed, there are %ld",
			     first, c->config->ngpu, last, processors);
	else if (c->config->arbiter == ARBITER_POLL && processors < PROCESSORS_LEAST)
		gs_check_add(
			c, GS_DOUBT, "arbiter",
			"Arbiter=auto, unless the jobs can do without that processor",
			"Arbiter=poll on %ld processors: each GPU that is shared takes one of them",
			processors);
	else if (c->config->arbiter == ARBITER_POLL && first < 0)
		gs_check_add(
			c, GS_DOUBT, "arbiter",
			"ArbiterCpu=, and CpuSpecList= in slurm.conf, so that the jobs leave it alone",
			"Arbiter=poll without ArbiterCpu= may take a job's processor");
	else
		gs_check_add(
			c, GS_GOOD, "arbiter", NULL,
			first < 0 ?
				"runs anywhere" :
				"has processors of its own, if slurm.conf keeps the jobs from them");
}

/* What gpushared has written, and whether it still is so. */
static void check_plan(struct gs_check *c)
{
	const char *socket = c->socket ? c->socket : c->config->socket;
	struct gs_mount_plan plan;
	char folder[512], file[PATH_MAX];
	struct gs_error err;
	int rc;

	if (c->config->mount_shim == GS_MOUNT_NO) {
		gs_check_add(
			c, GS_DOUBT, "mounts", "MountShim=step",
			"MountShim=no: programs with an RPATH, another LD_LIBRARY_PATH or none, and those that open the driver by its path, get past gpushare");
		return;
	}
	if (gs_mount_folder(socket, folder, sizeof(folder)) < 0)
		return;
	if (c->config->mount_shim == GS_MOUNT_NODE) {
		snprintf(file, sizeof(file), "%s/job/node", folder);
		if (access(file, F_OK) == 0)
			gs_check_add(c, GS_GOOD, "mounts", NULL,
				     "on this node the shim has the driver's place");
		else
			gs_check_add(c, GS_WRONG, "mounts",
				     "run gpushared --mounts as root, as the service's unit does",
				     "MountShim=node: the shim has not got the driver's place");
		return;
	}
	rc = gs_mount_plan_read(folder, &plan, &err);
	if (rc < 0)
		gs_check_add(c, GS_WRONG, "mounts", "restart gpushared, which writes it", "%s",
			     err.text);
	else if (!rc)
		gs_check_add(
			c, GS_DOUBT, "mounts",
			"start gpushared, and see in its log why it has none",
			"%s/plan is not there: in jobs the shim does not take the driver's place",
			folder);
	for (size_t i = 0; rc == 1 && i < plan.ncover; i++)
		if (realpath(plan.cover[i].path, file))
			gs_check_add(c, GS_GOOD, "mounts", NULL,
				     "in jobs the shim takes the place of %s", plan.cover[i].path);
		else
			gs_check_add(c, GS_DOUBT, "mounts",
				     "reload gpushared, which looks for drivers anew",
				     "%s is not there any more", plan.cover[i].path);
}

void gs_check_node(struct gs_check *c)
{
	struct gs_error err;

	c->config = gs_config_load(c->config_path, &err);
	if (!c->config) {
		gs_check_add(c, GS_WRONG, "configuration", "correct it: gpushare.conf(5)", "%s",
			     err.text);
		return;
	}
	gs_check_add(c, GS_GOOD, "configuration", NULL, "%s: %zu GPUs, %zu partitions, policy %s",
		     c->config_path, c->config->ngpu, c->config->npartition, c->config->policy);
	check_uid(c, "configuration", c->config_path);
	if (!c->config->ngpu) {
		gs_check_add(
			c, GS_UNCHECKED, "device", NULL,
			"no Gpu= line: this is no node with GPUs, the rest of a node is not looked at");
		return;
	}
	for (size_t i = 0; i < c->config->ngpu; i++)
		check_gpu(c, &c->config->gpu[i]);
	check_shim(c);
	check_driver(c);
	check_plan(c);
	check_mps(c);
	check_priorities(c);
	check_arbiter(c);
	check_idle(c);
	check_folder(c, "Socket", c->config->socket);
	check_folder(c, "PidFile", c->config->pid_file);
	check_folder(c, "LogFile", c->config->log_file);
	check_folder(c, "HistoryFile", c->config->history_file);
	check_folder(c, "MetricsFile", c->config->metrics_file);
	check_folder(c, "DcgmJobDir", c->config->dcgm_job_dir);
}
