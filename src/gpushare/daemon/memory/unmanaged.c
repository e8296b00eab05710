/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds processes that use a GPU without gpushare; see unmanaged.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/unmanaged.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/identity.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/proto/job_name.h"

/* MPS's server and its control daemon, of any user. NVML lists their clients as well. */
#define MPS_PROGRAM "nvidia-cuda-mps"
/* How long a process may be listed before it is reported, since a client that is just ending may
 * still be. It is less than the half of the interval after which memory_check.c asks again, whose
 * timer may fire a moment early. */
#define IN_DOUBT_NS(interval_ns) ((interval_ns) / 3)
/* Where only root writes. */
static const char *const nodes_own[] = { "/usr/", "/opt/" };

/* Reads the line of a file in the process's /proc folder that begins so, without its newline. */
static int read_line(pid_t pid, const char *name, const char *begin, char *line, size_t size)
{
	char path[48];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	while (f && !found && fgets(line, (int)size, f))
		found = strstr(line, begin) != NULL;
	if (f)
		fclose(f);
	line[found ? strcspn(line, "\n") : 0] = '\0';
	return found;
}

/* Describes the process; returns 0 if it exists. */
static int describe(struct gs_daemon *d, const struct gs_nvml_use *use, struct gs_unmanaged *p)
{
	char path[32], line[64];
	const struct gs_step *s;
	enum gs_refusal code;
	struct gs_error err;
	struct gs_proc proc;
	struct stat st;

	memset(p, 0, sizeof(*p));
	p->pid = use->pid;
	p->gpu = use->gpu;
	p->bytes = use->bytes;
	snprintf(path, sizeof(path), "/proc/%d", (int)p->pid);
	if (p->pid <= 0 || gs_proc_read(p->pid, &proc) < 0 || stat(path, &st) < 0)
		return -1;
	p->start = proc.start;
	p->uid = st.st_uid;
	if (read_line(p->pid, "comm", "", line, sizeof(line)))
		snprintf(p->program, sizeof(p->program), "%.15s", line);
	gs_text_disarm(p->program);
	s = gs_identify(d, GS_PROC_ROOT,
			&(struct gs_claim) { .uid = p->uid, .pid = p->pid, .start = p->start },
			&code, &err);
	if (s) {
		p->job_id = s->info.job_id;
		p->step_id = s->info.step_id;
	}
	return 0;
}

/* Of that GPU: on another one it is past gpushare as any other process is. */
static int is_client(const struct gs_daemon *d, const struct gs_nvml_use *use)
{
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->pid == use->pid && conn->step && conn->step->info.gpu == use->gpu)
			return 1;
	return 0;
}

static int is_shared(struct gs_daemon *d, uint32_t gpu)
{
	const struct gs_device *device = gs_device_find(d, gpu);

	return device && gs_steps_shares(d, device) > 0;
}

/* An ancestor that is younger than its child has a reused number. */
static int descends_from_us(const struct gs_unmanaged *p)
{
	struct gs_proc proc = { .start = p->start };
	uint64_t child = p->start;

	for (pid_t pid = p->pid; pid > 1; pid = proc.ppid) {
		if (gs_proc_read(pid, &proc) < 0 || proc.start > child)
			return 0;
		if (pid == getpid())
			return 1;
		child = proc.start;
	}
	return 0;
}

/*
 * Any program may call itself so: it must be root's, or run from the node's own file.  The file
 * that it runs from may be of a file system of its user's, which is asked for nothing.
 */
static int is_mps(const struct gs_unmanaged *p)
{
	char link[48], file[512];
	struct statx theirs;
	struct stat own;
	int is_nodes = 0;
	ssize_t n;

	if (strncmp(p->program, MPS_PROGRAM, strlen(MPS_PROGRAM)) != 0)
		return 0;
	if (p->uid == 0)
		return 1;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)p->pid);
	n = readlink(link, file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < sizeof(nodes_own) / sizeof(nodes_own[0]); i++)
		is_nodes |= strncmp(file, nodes_own[i], strlen(nodes_own[i])) == 0;
	return is_nodes && strstr(file, "/" MPS_PROGRAM) && stat(file, &own) == 0 &&
	       statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_INO, &theirs) == 0 &&
	       theirs.stx_ino == own.st_ino &&
	       makedev(theirs.stx_dev_major, theirs.stx_dev_minor) == own.st_dev;
}

/* The daemon's own helpers (gpushare-mem) and MPS's programs are part of gpushare. */
static int is_ours(const struct gs_unmanaged *p)
{
	return is_mps(p) || descends_from_us(p);
}

/* Does it belong to a Slurm job, with or without shares? If it is in no registered step its cgroup
 * tells. */
static int is_of_job(const struct gs_unmanaged *p)
{
	char line[512];

	return p->job_id || read_line(p->pid, "cgroup", "/job_", line, sizeof(line));
}

static void say(const struct gs_unmanaged *p)
{
	char of[64] = "no step with shares", name[16];

	if (p->job_id)
		snprintf(of, sizeof(of), "job " GS_JOB_F ".%s", GS_JOB(p->job_id),
			 gs_step_name(p->step_id, name, sizeof(name)));
	gs_log(GS_LOG_WARN,
	       "gpu %u: pid %d (%s), uid %u, of %s, uses the GPU past gpushare, %" PRIu64
	       " MiB: %s",
	       p->gpu, (int)p->pid, p->program, (unsigned)p->uid, of, p->bytes >> 20,
	       p->killed ? "killed (Unmanaged=kill)" : "it has the driver without the shim");
}

static void judge(struct gs_daemon *d, struct gs_unmanaged *p)
{
	if (p->reported || gs_clock_ns() - p->since_ns < IN_DOUBT_NS(d->config->memory_check_ns))
		return;
	p->reported = 1;
	if (d->config->unmanaged_kill && is_of_job(p) && gs_proc_alive(p->pid, p->start))
		p->killed = kill(p->pid, SIGKILL) == 0;
	say(p);
}

static const struct gs_unmanaged *known(const struct gs_unmanaged_list *list,
					const struct gs_unmanaged *p)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->process[i].pid == p->pid && list->process[i].start == p->start &&
		    list->process[i].gpu == p->gpu)
			return &list->process[i];
	return NULL;
}

int gs_unmanaged_update(struct gs_unmanaged_list *list, struct gs_daemon *d,
			const struct gs_nvml_answer *answer)
{
	static struct gs_unmanaged_list before;
	int in_doubt = 0;

	before = *list;
	list->n = 0;
	for (uint32_t i = 0; i < answer->n && list->n < GS_UNMANAGED_MAX; i++) {
		const struct gs_nvml_use *use = &answer->use[i];
		struct gs_unmanaged *p = &list->process[list->n];
		const struct gs_unmanaged *was;

		if (!is_shared(d, use->gpu) || is_client(d, use) || describe(d, use, p) < 0 ||
		    is_ours(p))
			continue;
		was = known(&before, p);
		p->since_ns = was ? was->since_ns : gs_clock_ns();
		p->reported = was && was->reported;
		p->killed = was && was->killed;
		list->n++;
		judge(d, p);
		in_doubt |= !p->reported;
	}
	return in_doubt;
}
