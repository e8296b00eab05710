/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answering FIGURES; see step_figures.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/step_figures.h"

#include <string.h>

#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/memory/unmanaged.h"
#include "gpushare/daemon/requests/where.h"

static void add_pid(struct gs_msg_step_figures *out, pid_t pid)
{
	uint32_t number = (uint32_t)pid;

	if (out->pids == GS_FIGURES_PIDS_MAX)
		return;
	memcpy(out->pid + out->pids * sizeof(number), &number, sizeof(number));
	out->pids++;
}

/* The job's clients on that GPU, and those of its processes that use it past gpushare. */
static void add_pids(const struct gs_daemon *d, const struct gs_step *step,
		     struct gs_msg_step_figures *out)
{
	const struct gs_unmanaged_list *past = gs_memory_check_unmanaged(d->check);
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step && conn->step->info.job_id == step->info.job_id &&
		    conn->step->info.gpu == step->info.gpu)
			add_pid(out, conn->pid);
	for (size_t i = 0; i < past->n; i++)
		if (past->process[i].job_id == step->info.job_id &&
		    past->process[i].gpu == step->info.gpu)
			add_pid(out, past->process[i].pid);
}

/* A batch script sees what the steps within its reservation have had as well. */
static uint64_t active_of(const struct gs_daemon *d, const struct gs_step *step)
{
	const struct gs_step *s;
	uint64_t sum = 0;

	if (step->info.step_id < GS_STEP_INTERACTIVE)
		return step->usage.active_ns;
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc == step->alloc)
			sum += s->usage.active_ns;
	return sum;
}

int gs_on_figures(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	const struct gs_step *step = conn->d->config->job_nvml ? gs_where_step(conn) : NULL;
	struct gs_msg answer;
	struct gs_msg_step_figures *out = &answer.step_figures;

	(void)fd;
	gs_msg_init(&answer, GS_MSG_STEP_FIGURES, msg->header.tag);
	if (step && step->alloc) {
		gs_devices_sync(conn->d, 0);
		out->job_id = step->info.job_id;
		out->gpu = step->info.gpu;
		out->shares = step->info.shares;
		out->of = step->alloc->device->shares;
		out->reservation = step->reservation;
		out->used = gs_memory_used(conn->d, step->alloc);
		out->active_ns = active_of(conn->d, step);
		gs_msg_str(out->uuid, sizeof(out->uuid), step->alloc->device->uuid);
		add_pids(conn->d, step, out);
	}
	return gs_connection_send(conn, &answer, -1);
}
