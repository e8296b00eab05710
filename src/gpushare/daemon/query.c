/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QUERY: gather the figures, make the text, send it in pieces as the peer reads. */
#define _GNU_SOURCE
#include "gpushare/daemon/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "config.h"
#include "gpushare/daemon/device.h"
#include "gpushare/daemon/peer.h"
#include "gpushare/daemon/report.h"
#include "gpushare/daemon/steps.h"

#define READ_PATIENCE_S 5
/* A long report is made ten times a second at most, however often it is asked for. */
#define LONG_TEXT 65536
#define LONG_TEXT_KEPT_NS (100 * GS_NS_PER_MS)

static const char *step_name(const struct gs_step *s, char names[][16], size_t i)
{
	return gs_step_name(s->info.step_id, names[i], sizeof(names[i]));
}

static uint64_t peak_of(const struct gs_step *s)
{
	return s->alloc ? gs_ledger_peak(s->alloc->device->ledger, s->alloc->id) : s->peak;
}

static void fill_row(struct gs_report_row *row, struct gs_step *s, const char *name)
{
	row->job = s->info.job_id;
	row->step = name;
	row->user = s->user;
	row->partition = s->info.partition;
	row->gpu = s->info.gpu;
	row->shares = s->info.shares;
	gs_report_fill(row, &s->tally, peak_of(s), s->reservation);
}

/* Steps of a job (0: all): the finished ones first, then the registered ones. */
struct selection {
	struct gs_step **step;
	char (*name)[16];
	struct gs_report_row *row;
	size_t n;
};

static void select_from(struct selection *sel, struct gs_steps *list, uint32_t job)
{
	struct gs_step *s;

	TAILQ_FOREACH(s, list, link)
		if (!job || s->info.job_id == job)
			sel->step[sel->n++] = s;
}

static void selection_free(struct selection *sel)
{
	free(sel->step);
	free(sel->name);
	free(sel->row);
}

static int select_steps(struct gs_daemon *d, uint32_t job, int finished, struct selection *sel)
{
	size_t room = GS_FINISHED_MAX + GS_STEPS_MAX;

	memset(sel, 0, sizeof(*sel));
	sel->step = calloc(room, sizeof(struct gs_step *));
	if (!sel->step)
		return -1;
	if (finished)
		select_from(sel, &d->finished, job);
	select_from(sel, &d->steps, job);
	sel->name = calloc(sel->n + 1, sizeof(*sel->name));
	sel->row = calloc(sel->n + 1, sizeof(*sel->row));
	if (!sel->name || !sel->row) {
		selection_free(sel);
		return -1;
	}
	for (size_t i = 0; i < sel->n; i++)
		fill_row(&sel->row[i], sel->step[i], step_name(sel->step[i], sel->name, i));
	return 0;
}

static char *report_text(struct gs_daemon *d, uint32_t job, int json)
{
	struct selection sel;
	char *text;

	if (select_steps(d, job, 1, &sel) < 0)
		return NULL;
	text = gs_report_steps(sel.row, sel.n, json);
	selection_free(&sel);
	return text;
}

/* Of the registered steps; of a job's, also when they are over. */
static char *kernels_text(struct gs_daemon *d, uint32_t job, int json)
{
	struct gs_report_kernel *k = NULL;
	struct selection sel;
	size_t n = 0, at = 0;
	char *text = NULL;

	if (select_steps(d, job, job != 0, &sel) < 0)
		return NULL;
	for (size_t i = 0; i < sel.n; i++)
		n += sel.step[i]->tally.nkernel;
	k = calloc(n + 1, sizeof(*k));
	for (size_t i = 0; k && i < sel.n; i++)
		for (uint32_t j = 0; j < sel.step[i]->tally.nkernel; j++)
			k[at++] = (struct gs_report_kernel){ sel.row[i].job, sel.row[i].step,
							     &sel.step[i]->tally.kernel[j] };
	if (k)
		text = gs_report_kernels(k, n, json);
	free(k);
	selection_free(&sel);
	return text;
}

static void name_holder(const struct gs_daemon *d, uint64_t id, char *buf, size_t size)
{
	const struct gs_peer *peer;

	buf[0] = '\0';
	LIST_FOREACH(peer, &d->peers, link)
		if (peer->tenant && peer->id == id)
			snprintf(buf, size, "%s %s", peer->who, peer->program);
}

static char *status_text(struct gs_daemon *d, int json)
{
	struct gs_report_gpu gpu[GS_CONFIG_GPUS_MAX];
	char holder[GS_CONFIG_GPUS_MAX][160];
	struct gs_report_status s = {
		.version = PACKAGE_VERSION,
		.pid = (uint32_t)getpid(),
		.uptime_s = (double)(gs_clock_ns() - d->started_ns) / 1e9,
		.gpu = gpu,
		.ngpu = d->ndevice,
	};
	struct selection sel;
	char *text;

	for (size_t i = 0; i < d->ndevice; i++) {
		struct gs_device *dev = &d->device[i];
		struct gs_gpu_status st;

		gs_gpu_status(dev->gpu, &st);
		name_holder(d, st.holder, holder[i], sizeof(holder[i]));
		gpu[i] = (struct gs_report_gpu){
			.gpu = dev->index, .policy = st.policy,
			.holder = holder[i],
			.clients = st.tenants, .waiting = st.waiting,
			.shares = dev->shares, .shares_taken = gs_steps_shares(d, dev),
			.memory_mb = (double)dev->memory / 1048576,
			.reserved_mb = (double)gs_ledger_reserved(dev->ledger) / 1048576,
			.evictions = st.evictions, .overdue = st.overdue,
			.policy_faults = st.faults,
		};
	}
	if (select_steps(d, 0, 0, &sel) < 0)
		return NULL;
	s.step = sel.row;
	s.nstep = sel.n;
	text = gs_report_status(&s, json);
	selection_free(&sel);
	return text;
}

/* Sum of the job's steps; the eviction percentiles do not appear in it. */
int gs_query_comment(struct gs_daemon *d, uint32_t job_id, char *buf, size_t size)
{
	struct gs_report_row sum = { 0 };
	struct gs_device *dev;
	struct selection sel;

	if (select_steps(d, job_id, 1, &sel) < 0)
		return -1;
	for (size_t i = 0; i < sel.n; i++) {
		const struct gs_report_row *r = &sel.row[i];

		sum.gpu = r->gpu;
		sum.shares = r->shares > sum.shares ? r->shares : sum.shares;
		sum.active_ms += r->active_ms;
		sum.waiting_ms += r->waiting_ms;
		sum.turnaround_ms += r->turnaround_ms;
		sum.preemptions += r->preemptions;
		sum.memory_mb = r->memory_mb > sum.memory_mb ? r->memory_mb : sum.memory_mb;
		sum.reserved_mb = r->reserved_mb > sum.reserved_mb ? r->reserved_mb
								    : sum.reserved_mb;
	}
	sum.ntt = sum.active_ms > 0 ? sum.turnaround_ms / sum.active_ms : 0;
	dev = gs_device_find(d, sum.gpu);
	if (sel.n)
		gs_report_comment(&sum, dev ? dev->shares : 0, buf, size);
	selection_free(&sel);
	return sel.n ? 0 : -1;
}

/* Send what the socket takes; wait for room for the rest. */
int gs_query_continue(struct gs_peer *peer)
{
	static const struct timeval patience = { READ_PATIENCE_S, 0 };

	do {
		size_t left = peer->text_len - peer->text_sent;
		struct gs_msg msg;

		gs_msg_init(&msg, GS_MSG_TEXT, peer->text_tag);
		msg.text.more = left > sizeof(msg.text.text);
		msg.text.length = (uint32_t)(msg.text.more ? sizeof(msg.text.text) : left);
		memcpy(msg.text.text, peer->text + peer->text_sent, msg.text.length);
		if (gs_msg_send(peer->fd, &msg, -1) < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				return -1;
			return event_add(peer->writable, &patience);
		}
		peer->text_sent += msg.text.length;
	} while (peer->text_sent < peer->text_len);
	free(peer->text);
	peer->text = NULL;
	return 0;
}

static char *make_text(struct gs_daemon *d, enum gs_query what, uint32_t job, int json)
{
	switch (what) {
	case GS_QUERY_STATUS:
		return status_text(d, json);
	case GS_QUERY_REPORT:
		return report_text(d, job, json);
	default:
		return kernels_text(d, job, json);
	}
}

static char *get_text(struct gs_daemon *d, enum gs_query what, uint32_t job, int json)
{
	struct gs_kept_text *kept = &d->kept[what][json];
	uint64_t now = gs_clock_ns();
	char *text;

	if (!job && kept->text && now - kept->made_ns < LONG_TEXT_KEPT_NS)
		return strdup(kept->text);
	text = make_text(d, what, job, json);
	if (!job && text && strlen(text) >= LONG_TEXT) {
		free(kept->text);
		kept->text = strdup(text);
		kept->made_ns = now;
	}
	return text;
}

void gs_query_fini(struct gs_daemon *d)
{
	for (int what = 0; what < GS_QUERY_COUNT; what++)
		for (int json = 0; json < 2; json++)
			free(d->kept[what][json].text);
}

int gs_on_query(struct gs_peer *peer, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (peer->text)
		return gs_peer_refuse(peer, msg->header.tag, GS_REFUSED_BAD_REQUEST,
				      "one question at a time");
	if (msg->query.what >= GS_QUERY_COUNT)
		return gs_peer_refuse(peer, msg->header.tag, GS_REFUSED_BAD_REQUEST,
				      "there is no report %u", msg->query.what);
	peer->text = get_text(peer->d, msg->query.what, msg->query.job_id,
			      msg->query.json != 0);
	if (!peer->text)
		return -1;
	peer->text_len = strlen(peer->text);
	peer->text_sent = 0;
	peer->text_tag = msg->header.tag;
	return gs_query_continue(peer);
}
