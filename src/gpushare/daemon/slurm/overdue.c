/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of clients that do not leave the GPU; see overdue.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/slurm/overdue.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/gpu/arbiter.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/mps/mps.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/slurm/slurm_report.h"
#include "gpushare/daemon/base/step.h"

/* A process that does not die of it is killed again, and said to be, this often. */
#define AGAIN_NS (5 * GS_NS_PER_S)

static void kill_process(struct gs_connection *conn)
{
	uint64_t now = gs_clock_ns();
	int rc = -1;

	if (conn->registration.killed_ns && now - conn->registration.killed_ns < AGAIN_NS)
		return;
	conn->registration.killed_ns = now;
	if (conn->pidfd >= 0)
		rc = (int)syscall(SYS_pidfd_send_signal, conn->pidfd, SIGKILL, NULL, 0);
	else if (gs_proc_alive(conn->pid, conn->start))
		rc = kill(conn->pid, SIGKILL);
	gs_log(GS_LOG_WARN, "%s: the process is %s", conn->who,
	       rc == 0 ? "killed" : "gone already");
}

static void kill_job(struct gs_connection *conn, const char *kernel)
{
	struct gs_daemon *d = conn->d;
	struct gs_step *step = conn->step;
	char text[GS_COMMENT_MAX];

	if (step->kill_requested || (conn->registration.killed_ns &&
				     gs_clock_ns() - conn->registration.killed_ns < AGAIN_NS))
		return;
	snprintf(step->killed, sizeof(step->killed),
		 "kernel %.100s has not left gpu %u for %.3g s (EvictDeadline)", kernel,
		 conn->device->index, (double)d->config->evict_deadline_ns / (double)GS_NS_PER_S);
	gs_log(GS_LOG_WARN, "%s: its job is killed: %s", conn->who, step->killed);
	if (!step->info.local && d->slurm &&
	    gs_gather_comment(d, step->info.job_id, text, sizeof(text)) == 0)
		step->kill_requested = gs_slurm_report_kill(d->slurm, step->info.job_id, text) != 0;
	if (!step->kill_requested)
		kill_process(conn);
}

int gs_overdue_lost(struct gs_daemon *d, struct gs_alloc *alloc, const char *why)
{
	struct gs_step *step, *first = NULL;
	char text[GS_COMMENT_MAX];

	TAILQ_FOREACH (step, &d->steps, link) {
		if (step->alloc != alloc)
			continue;
		first = first ? first : step;
		snprintf(step->killed, sizeof(step->killed), "%s", why);
	}
	if (!first || first->info.local || !d->slurm ||
	    gs_gather_comment(d, first->info.job_id, text, sizeof(text)) < 0)
		return 0;
	return gs_slurm_report_requeue(d->slurm, first->info.job_id, text) != 0;
}

/* What an arbiter has found of a client. */
struct verdict {
	struct gs_connection *conn;
	int bad; /* its page holds a state that there is not: */
	uint32_t state;
	int overdue; /* its kernels have not left by the deadline; the first of them: */
	char kernel[GS_STEP_USAGE_NAME_MAX]; /* "": its name is not known */
};

/* More at a time are dealt with the next time. */
#define VERDICTS_MOST 64

struct verdicts {
	struct gs_daemon *d;
	const struct gs_device *device;
	struct verdict found[VERDICTS_MOST];
	size_t n;
};

/* In the arbiter's thread; the loop waits, so the list of connections is as it was. */
static void do_judge(struct gs_gpu *gpu, void *arg)
{
	struct verdicts *v = arg;
	struct gs_connection *conn;

	(void)gpu;
	LIST_FOREACH (conn, &v->d->conns, link) {
		struct verdict found = { .conn = conn };
		const struct gs_step_usage_kernel *k;

		if (!conn->client || conn->device != v->device || v->n == VERDICTS_MOST)
			continue;
		found.bad = gs_gpu_client_bad(conn->client, &found.state);
		found.overdue = gs_gpu_client_overdue(conn->client);
		if (!found.bad && !found.overdue)
			continue;
		k = gs_step_usage_kernel(&conn->step->live, conn->registration.kernels,
					 gs_gpu_client_kernel_on_gpu(conn->client));
		if (k)
			memcpy(found.kernel, k->name, sizeof(found.kernel));
		v->found[v->n++] = found;
	}
}

/* A client whose page holds a state that there is not. */
static void drop_bad(struct gs_connection *conn, uint32_t state)
{
	gs_complain("%s: closed: its page has the invalid launch state %u", conn->who, state);
	gs_mps_terminate(conn, "plays with its page");
	gs_connection_close(conn);
}

void gs_verdicts_execute(struct gs_daemon *d, struct gs_device *device)
{
	struct verdicts v = { .d = d, .device = device };

	do {
		v.n = 0;
		gs_arbiter_call(device->arbiter, do_judge, &v);
		for (size_t i = 0; i < v.n; i++) {
			struct gs_connection *conn = v.found[i].conn;

			if (v.found[i].overdue)
				gs_mps_terminate(conn, "has not left the GPU by EvictDeadline");
			if (v.found[i].overdue && d->config->overdue_kill && conn->step)
				kill_job(conn, v.found[i].kernel);
			if (v.found[i].bad)
				drop_bad(conn, v.found[i].state);
		}
	} while (v.n == VERDICTS_MOST);
}

void gs_overdue_not_killed(struct gs_daemon *d, uint32_t job_id)
{
	struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step && conn->step->info.job_id == job_id) {
			conn->step->kill_requested = 0;
			kill_process(conn);
		}
}
