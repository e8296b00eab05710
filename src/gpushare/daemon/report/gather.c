/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's figures, gathered for the reports; see gather.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/gather.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "config.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/device.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/memory/unmanaged.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/report/job_sums.h"
#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/report/selection.h"

char *gs_gather_report(struct gs_daemon *d, uint32_t job)
{
	struct gs_selection sel;
	char *text;

	if (gs_select_steps(d, job, 1, GS_FIGURES, &sel) < 0)
		return NULL;
	text = gs_report_steps(sel.row, sel.n);
	gs_selection_free(&sel);
	return text;
}

void gs_gather_past(const struct gs_daemon *d, struct gs_step *s, struct gs_past_step *past)
{
	struct gs_select_text text;
	struct gs_report_row row;

	gs_select_row(d, &row, s, &text);
	*past = (struct gs_past_step) {
		.job = s->info.job_id,
		.step = s->info.step_id,
		.gpu = s->info.gpu,
		.shares = s->info.shares,
		.start_s = s->begun_s,
		.end_s = s->ended_s,
		.priority = s->priority,
		.kernels = row.kernels,
		.preemptions = row.preemptions,
		.active_ms = row.active_ms,
		.waiting_ms = row.waiting_ms,
		.turnaround_ms = row.turnaround_ms,
		.evict_p50_us = row.evict_p50_us,
		.evict_p99_us = row.evict_p99_us,
		.program = s->info.program,
		.memory_mb = row.memory_mb,
		.reserved_mb = row.reserved_mb,
	};
	snprintf(past->user, sizeof(past->user), "%s", s->user);
	snprintf(past->partition, sizeof(past->partition), "%s", s->info.partition);
	snprintf(past->state, sizeof(past->state), "%s", row.state);
}

int gs_gather_all(struct gs_daemon *d, int finished, struct gs_past_step **past, size_t *n)
{
	struct gs_selection sel;

	*past = NULL;
	if (gs_select_steps(d, 0, finished, GS_FIGURES, &sel) < 0)
		return -1;
	*n = sel.n;
	*past = calloc(sel.n + 1, sizeof(**past));
	for (size_t i = 0; *past && i < sel.n; i++)
		gs_gather_past(d, sel.step[i], &(*past)[i]);
	gs_selection_free(&sel);
	return *past ? 0 : -1;
}

/* Of the registered steps; of a job's, also when they are over. */
char *gs_gather_kernels(struct gs_daemon *d, uint32_t job)
{
	struct gs_report_kernels_of *of;
	struct gs_selection sel;
	char *text = NULL;

	if (gs_select_steps(d, job, job != 0, GS_KERNELS, &sel) < 0)
		return NULL;
	of = calloc(sel.n + 1, sizeof(*of));
	for (size_t i = 0; of && i < sel.n; i++)
		of[i] = (struct gs_report_kernels_of) { sel.row[i].job, sel.row[i].step,
							&sel.step[i]->usage };
	if (of)
		text = gs_report_kernels(of, sel.n);
	free(of);
	gs_selection_free(&sel);
	return text;
}

static void name_holder(const struct gs_daemon *d, uint64_t id, char *buf, size_t size)
{
	const struct gs_connection *conn;

	buf[0] = '\0';
	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client && conn->id == id)
			snprintf(buf, size, "%s %s", conn->who, conn->registration.program);
}

/* The whole status, with what it points to. */
struct whole {
	struct gs_report_status s;
	struct gs_report_gpu gpu[GS_CONFIG_GPUS_MAX];
	char holder[GS_CONFIG_GPUS_MAX][160];
	struct gs_selection steps;
	struct gs_report_unmanaged unmanaged[GS_UNMANAGED_MAX];
	char unmanaged_step[GS_UNMANAGED_MAX][16];
};

/* Those of the steps on this GPU that have wanted it, whether they got it or not. */
static void share_of(const struct gs_selection *steps, struct gs_report_gpu *g)
{
	double ntt[GS_STEPS_MAX], shares[GS_STEPS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < steps->n; i++) {
		const struct gs_report_row *r = &steps->row[i];

		if (r->gpu != g->gpu || r->turnaround_ms <= 0)
			continue;
		if (isnan(r->ntt) && r->waiting_ms > g->unserved_ms)
			g->unserved_ms = r->waiting_ms;
		ntt[n] = r->ntt;
		shares[n++] = r->shares;
	}
	gs_sharing(ntt, shares, n, &g->sharing);
}

static const char *signal_name(int configured)
{
	switch (configured) {
	case GS_SIGNAL_PROXY:
		return "proxy";
	case GS_SIGNAL_MEMOP:
		return "memop";
	case GS_SIGNAL_DMA:
		return "dma";
	default: /* of a launch that can have a proxy, and of one that cannot */
		return "proxy/memop";
	}
}

static void fill_gpu(struct gs_daemon *d, struct gs_device *dev, struct whole *w, size_t i)
{
	struct gs_report_gpu *g = &w->gpu[i];

	*g = (struct gs_report_gpu) {
		.gpu = dev->index,
		.isolation = gs_isolation_name(d->config->isolation),
		.signal = signal_name(d->config->signal),
		.uuid = dev->uuid,
		.holder = w->holder[i],
		.shares = dev->shares,
		.shares_taken = gs_steps_shares(d, dev),
		.memory_mb = (double)dev->memory / 1048576,
		.reserved_mb = (double)gs_ledger_reserved(dev->ledger) / 1048576,
	};
	gs_arbiter_status(dev->arbiter, &g->arbiter);
	gs_command_status(dev->arbiter, &g->now);
	name_holder(d, g->now.holder, w->holder[i], sizeof(w->holder[i]));
	share_of(&w->steps, g);
}

static void fill_unmanaged(const struct gs_unmanaged_list *list, struct whole *w)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct gs_unmanaged *p = &list->process[i];
		char *step = w->unmanaged_step[w->s.nunmanaged];

		if (!p->reported)
			continue;
		w->unmanaged[w->s.nunmanaged++] = (struct gs_report_unmanaged) {
			.gpu = p->gpu,
			.pid = (uint32_t)p->pid,
			.uid = (uint32_t)p->uid,
			.job = p->job_id,
			.step = gs_step_name(p->step_id, step, sizeof(w->unmanaged_step[0])),
			.program = p->program,
			.memory_mb = (double)p->bytes / 1048576,
			.killed = p->killed,
		};
	}
	w->s.unmanaged = w->unmanaged;
}

static int whole_get(struct gs_daemon *d, struct whole *w)
{
	if (gs_select_steps(d, 0, 0, GS_FIGURES, &w->steps) < 0)
		return -1;
	for (size_t i = 0; i < d->ndevice; i++)
		fill_gpu(d, &d->device[i], w, i);
	w->s = (struct gs_report_status) {
		.version = PACKAGE_VERSION,
		.pid = (uint32_t)getpid(),
		.uptime_s = (double)(gs_clock_ns() - d->started_ns) / 1e9,
		.gpu = w->gpu,
		.ngpu = d->ndevice,
		.step = w->steps.row,
		.nstep = w->steps.n,
	};
	fill_unmanaged(gs_memory_check_unmanaged(d->check), w);
	return 0;
}

char *gs_gather_status(struct gs_daemon *d)
{
	struct whole w;
	char *text;

	if (whole_get(d, &w) < 0)
		return NULL;
	text = gs_report_status(&w.s);
	gs_selection_free(&w.steps);
	return text;
}

char *gs_gather_metrics(struct gs_daemon *d)
{
	struct whole w;
	char *text;

	if (whole_get(d, &w) < 0)
		return NULL;
	text = gs_report_metrics(&w.s);
	gs_selection_free(&w.steps);
	return text;
}

/* "gpu0 frs shares=80/100 ...", one after the other: for the node's Extra. */
int gs_gather_node(struct gs_daemon *d, char *buf, size_t size)
{
	struct whole w;
	size_t at;

	if (whole_get(d, &w) < 0)
		return -1;
	at = (size_t)snprintf(buf, size, "gpushare:");
	for (size_t i = 0; i < w.s.ngpu && at < size; i++) {
		const struct gs_report_gpu *g = &w.gpu[i];

		at += (size_t)snprintf(buf + at, size - at,
				       "%s gpu%u policy=%s shares=%u/%u "
				       "clients=%u waiting=%u antt=%.2f dntt=%.2f stp=%.2f "
				       "jain=%.2f",
				       i ? "," : "", g->gpu, g->now.policy, g->shares_taken,
				       g->shares, g->now.clients, g->now.waiting, g->sharing.antt,
				       g->sharing.dntt, g->sharing.stp, g->sharing.jain);
	}
	gs_selection_free(&w.steps);
	return 0;
}

/* A step that has not got its memory yet says so, behind the figures. */
static void say_waiting(const struct gs_selection *sel, char *buf, size_t size)
{
	char why[256];

	for (size_t i = 0; i < sel->n; i++) {
		const struct gs_alloc *a = sel->step[i]->alloc;
		size_t at = strlen(buf);

		if (!a || a->admitted)
			continue;
		gs_memory_why(a, why, sizeof(why));
		snprintf(buf + at, size - at, " waits for %.0fMiB: %s", (double)a->bytes / 1048576,
			 why);
		return;
	}
}

/* So does one that was killed. */
static void say_killed(const struct gs_selection *sel, char *buf, size_t size)
{
	for (size_t i = 0; i < sel->n; i++) {
		size_t at = strlen(buf);

		if (!*sel->step[i]->killed)
			continue;
		snprintf(buf + at, size - at, " killed: %s", sel->step[i]->killed);
		return;
	}
}

/* Its steps share an allocation, whose memory moved once for all of them: not a sum. */
static void most_moved(const struct gs_selection *sel, struct gs_report_row *sum)
{
	const struct gs_moves *most = &sel->step[0]->moves;

	for (size_t i = 1; i < sel->n; i++)
		if (sel->step[i]->moves.out_bytes > most->out_bytes)
			most = &sel->step[i]->moves;
	gs_report_fill_moved(sum, most);
}

void gs_gather_ended(struct gs_daemon *d, struct gs_step *s)
{
	struct gs_select_text text;
	struct gs_report_row row;

	if (s->info.local)
		return;
	gs_select_row(d, &row, s, &text);
	gs_job_sums_note(d, &row);
}

/* Sum of the job's steps; the eviction percentiles do not appear in it. */
int gs_gather_comment(struct gs_daemon *d, uint32_t job_id, char *buf, size_t size)
{
	const struct gs_report_row *ended = gs_job_sums_find(job_id);
	struct gs_report_row sum = { 0 };
	struct gs_device *dev;
	struct gs_selection sel;

	if (gs_select_steps(d, job_id, 1, GS_FIGURES, &sel) < 0)
		return -1;
	if (ended)
		gs_job_sums_add(&sum, ended);
	for (size_t i = 0; i < sel.n; i++)
		if (sel.step[i]->alloc) /* it has not ended */
			gs_job_sums_add(&sum, &sel.row[i]);
	sum.ntt = gs_ntt_so_far(sum.turnaround_ms, sum.active_ms);
	dev = gs_device_find(d, sum.gpu);
	if (sel.n)
		most_moved(&sel, &sum);
	if (sel.n || ended) {
		gs_report_comment(&sum, dev ? dev->shares : 0, buf, size);
		say_waiting(&sel, buf, size);
		say_killed(&sel, buf, size);
	}
	gs_selection_free(&sel);
	return sel.n || ended ? 0 : -1;
}
