/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the event loop to an arbiter; see commands.h.  A function do_...() runs in the arbiter's thread. */
#define _GNU_SOURCE
#include "gpushare/daemon/commands.h"

#include <string.h>

#include "common/clock.h"
#include "gpushare/daemon/arbiter.h"
#include "gpushare/daemon/learned.h"
#include "gpushare/daemon/peer.h"
#include "gpushare/daemon/steps.h"
#include "gpushare/daemon/tenant.h"

/* ---- clients ---------------------------------------------------------- */

struct join {
	const struct gs_tenant_params *params;
	int adopted;
	struct gs_tenant *tenant;
};

static void do_join(struct gs_gpu *gpu, void *arg)
{
	struct join *j = arg;

	j->tenant = gs_gpu_add(gpu, j->params, j->adopted, gs_clock_ns());
}

struct gs_tenant *gs_command_join(struct gs_device *device, const struct gs_tenant_params *params, int adopted)
{
	struct join j = { .params = params, .adopted = adopted };

	gs_arbiter_call(device->arbiter, do_join, &j);
	return j.tenant;
}

struct leave {
	struct gs_peer *peer;
	int on_gpu;
};

static void do_leave(struct gs_gpu *gpu, void *arg)
{
	struct leave *l = arg;

	l->on_gpu = gs_tenant_on_gpu(l->peer->tenant);
	l->peer->counted = gs_gpu_remove(gpu, l->peer->tenant, gs_clock_ns());
	l->peer->tenant = NULL;
}

int gs_command_leave(struct gs_peer *peer)
{
	struct leave l = { .peer = peer };

	gs_arbiter_call(peer->device->arbiter, do_leave, &l);
	return l.on_gpu;
}

static void do_bell(struct gs_gpu *gpu, void *arg)
{
	(void)gpu;
	gs_gpu_bell(arg);
}

void gs_command_bell(struct gs_peer *peer)
{
	gs_arbiter_call(peer->device->arbiter, do_bell, peer->tenant);
}

struct announce {
	struct gs_peer *peer;
	const struct gs_msg_kernel *kernel;
	uint64_t key;
	int rc;
};

static void do_announce(struct gs_gpu *gpu, void *arg)
{
	struct announce *a = arg;
	const struct gs_msg_kernel *k = a->kernel;

	(void)gpu;
	a->rc = gs_tally_announce(&a->peer->step->live, a->peer->kernels, k->number, k->name, k->form, k->reason, k->registers);
	if (k->number < GS_TALLY_KERNELS_MAX)
		a->peer->kernels->key[k->number] = a->key;
}

int gs_command_announce(struct gs_peer *peer, const struct gs_msg_kernel *kernel, uint64_t key)
{
	struct announce a = { .peer = peer, .kernel = kernel, .key = key };

	gs_arbiter_call(peer->device->arbiter, do_announce, &a);
	return a.rc;
}

struct expect {
	uint64_t *tpt_ps;
	uint64_t is;
};

static void do_expect(struct gs_gpu *gpu, void *arg)
{
	const struct expect *e = arg;

	(void)gpu;
	*e->tpt_ps = e->is;
}

void gs_command_expect(struct gs_peer *peer, uint32_t kernel, uint64_t tpt_ps)
{
	struct expect e = { .tpt_ps = &peer->kernels->tpt_ps[kernel], .is = tpt_ps };

	gs_arbiter_call(peer->device->arbiter, do_expect, &e);
}

struct rode {
	struct gs_tenant *tenant;
	const struct gs_msg_rode *rode;
};

static void do_rode(struct gs_gpu *gpu, void *arg)
{
	const struct rode *r = arg;
	struct gs_rode kernel[GS_RODE_MAX];

	(void)gpu;
	memcpy(kernel, r->rode->kernel, sizeof(kernel));
	gs_tenant_launched(r->tenant, r->rode->launched);
	gs_tenant_rode(r->tenant, kernel, r->rode->count < GS_RODE_MAX ? r->rode->count : GS_RODE_MAX, gs_clock_ns());
}

void gs_command_rode(struct gs_peer *peer, const struct gs_msg_rode *rode)
{
	struct rode r = { .tenant = peer->tenant, .rode = rode };

	gs_arbiter_call(peer->device->arbiter, do_rode, &r);
}

struct priority {
	struct gs_tenant *tenant;
	int32_t priority;
	uint32_t class;
};

static void do_priority(struct gs_gpu *gpu, void *arg)
{
	const struct priority *p = arg;

	(void)gpu;
	gs_tenant_priority(p->tenant, p->priority, gs_clock_ns());
	gs_tenant_class(p->tenant, p->class);
}

void gs_command_priority(struct gs_peer *peer, int32_t priority, uint32_t class)
{
	struct priority p = { .tenant = peer->tenant, .priority = priority, .class = class };

	gs_arbiter_call(peer->device->arbiter, do_priority, &p);
}

/* The peers on one GPU; the loop waits, so the list is as it was. */
struct those {
	struct gs_daemon *d;
	struct gs_device *device;
};

static int any_on(const struct those *those)
{
	const struct gs_peer *peer;

	LIST_FOREACH(peer, &those->d->peers, link)
		if (peer->tenant && peer->device == those->device)
			return 1;
	return 0;
}

static void do_find_those_that_matter(struct gs_gpu *gpu, void *arg)
{
	const struct those *those = arg;
	struct gs_peer *peer;

	(void)gpu;
	LIST_FOREACH(peer, &those->d->peers, link)
		if (peer->tenant && peer->device == those->device)
			peer->matters = gs_tenant_matters(peer->tenant);
}

void gs_command_find_those_that_matter(struct gs_daemon *d, struct gs_device *device)
{
	struct those those = { d, device };

	if (any_on(&those))
		gs_arbiter_call(device->arbiter, do_find_those_that_matter, &those);
}

struct stopped {
	struct gs_tenant *tenant;
	int is;
};

static void do_stopped(struct gs_gpu *gpu, void *arg)
{
	const struct stopped *s = arg;

	(void)gpu;
	gs_tenant_stopped(s->tenant, s->is, gs_clock_ns());
}

void gs_command_stopped(struct gs_peer *peer, int stopped)
{
	struct stopped s = { .tenant = peer->tenant, .is = stopped };

	gs_arbiter_call(peer->device->arbiter, do_stopped, &s);
}

static void judge(struct gs_peer *peer)
{
	struct gs_verdict *v = &peer->verdict;
	const struct gs_tally_kernel *k;

	*v = (struct gs_verdict){ .bad = 0 };
	v->bad = gs_tenant_bad(peer->tenant, &v->kstate);
	v->overdue = gs_tenant_overdue(peer->tenant);
	k = v->overdue ? gs_tally_kernel(&peer->step->live, peer->kernels, gs_tenant_kernel_on_gpu(peer->tenant)) : NULL;
	if (k)
		memcpy(v->kernel, k->name, sizeof(v->kernel));
}

static void do_judge(struct gs_gpu *gpu, void *arg)
{
	const struct those *those = arg;
	struct gs_peer *peer;

	(void)gpu;
	LIST_FOREACH(peer, &those->d->peers, link)
		if (peer->tenant && peer->device == those->device)
			judge(peer);
}

void gs_command_judge(struct gs_daemon *d, struct gs_device *device)
{
	struct those those = { d, device };

	if (any_on(&those))
		gs_arbiter_call(device->arbiter, do_judge, &those);
}

struct pin {
	struct gs_tenant *tenant;
	int rc;
};

static void do_pin(struct gs_gpu *gpu, void *arg)
{
	struct pin *p = arg;

	(void)gpu;
	p->rc = gs_gpu_pin(p->tenant);
}

int gs_command_pin(struct gs_peer *peer)
{
	struct pin p = { .tenant = peer->tenant };

	gs_arbiter_call(peer->device->arbiter, do_pin, &p);
	return p.rc;
}

static void do_unpin(struct gs_gpu *gpu, void *arg)
{
	(void)arg;
	gs_gpu_unpin(gpu);
}

void gs_command_unpin(struct gs_device *device)
{
	gs_arbiter_call(device->arbiter, do_unpin, NULL);
}

static void do_settled(struct gs_gpu *gpu, void *arg)
{
	*(int *)arg = gs_gpu_settled(gpu);
}

int gs_command_settled(struct gs_device *device)
{
	int is = 0;

	gs_arbiter_call(device->arbiter, do_settled, &is);
	return is;
}

/* ---- settings --------------------------------------------------------- */

struct setting {
	struct those those;
	const struct gs_config *config;
	const struct gs_gpu_options *options;
	const char *class, *policy;
	struct gs_error *err;
	int rc;
};

static void do_configure(struct gs_gpu *gpu, void *arg)
{
	struct setting *s = arg;
	struct gs_peer *peer;

	s->rc = gs_gpu_configure(gpu, s->options, gs_clock_ns(), s->err);
	if (s->rc < 0)
		return;
	LIST_FOREACH(peer, &s->those.d->peers, link)
		if (peer->tenant && peer->device == s->those.device)
			gs_tenant_class(peer->tenant, gs_step_class(s->config, &peer->step->info));
}

int gs_command_configure(struct gs_daemon *d, struct gs_device *device, const struct gs_config *config,
			 const struct gs_gpu_options *options, struct gs_error *err)
{
	struct setting s = { .those = { d, device }, .config = config, .options = options, .err = err };

	gs_arbiter_call(device->arbiter, do_configure, &s);
	return s.rc;
}

static void do_policy(struct gs_gpu *gpu, void *arg)
{
	struct setting *s = arg;
	uint64_t now = gs_clock_ns();

	s->rc = *s->class ? gs_gpu_set_class_policy(gpu, s->class, s->policy, now, s->err) : gs_gpu_set_policy(gpu, s->policy, now, s->err);
}

int gs_command_policy(struct gs_device *device, const char *class, const char *policy, struct gs_error *err)
{
	struct setting s = { .class = class, .policy = policy, .err = err };

	gs_arbiter_call(device->arbiter, do_policy, &s);
	return s.rc;
}

/* ---- figures ---------------------------------------------------------- */

/* How much more often than once a lesson counts: by then the table says what the lesson does. */
#define LESSON_TIMES_MOST 12

struct sync {
	struct those those;
	int with_kernels;
	size_t lessons;
	struct gs_lesson lesson[GS_GPU_LESSONS];
};

static void do_sync(struct gs_gpu *gpu, void *arg)
{
	struct sync *sync = arg;
	struct gs_daemon *d = sync->those.d;
	struct gs_peer *peer;
	struct gs_step *s;

	gs_gpu_settle(gpu, gs_clock_ns());
	TAILQ_FOREACH(s, &d->steps, link)
		if (s->alloc && s->alloc->device == sync->those.device)
			gs_tally_copy(&s->tally, &s->live, sync->with_kernels);
	LIST_FOREACH(peer, &d->peers, link)
		if (peer->tenant && peer->device == sync->those.device)
			peer->counted = gs_tenant_launches(peer->tenant);
	sync->lessons = gs_gpu_lessons(gpu, sync->lesson);
}

static void learn(struct gs_learned *learned, const struct gs_lesson *lesson)
{
	for (uint64_t i = 0; i < lesson->times && i < LESSON_TIMES_MOST; i++)
		gs_learned_note(learned, lesson->entry.key, lesson->entry.tpt_ps);
}

void gs_command_sync(struct gs_daemon *d, int with_kernels)
{
	struct sync sync = { .with_kernels = with_kernels };

	for (size_t i = 0; i < d->ndevice; i++) {
		sync.those = (struct those){ d, &d->device[i] };
		gs_arbiter_call(d->device[i].arbiter, do_sync, &sync);
		for (size_t k = 0; k < sync.lessons; k++)
			learn(d->learned, &sync.lesson[k]);
	}
}

static void do_status(struct gs_gpu *gpu, void *arg)
{
	gs_gpu_status(gpu, arg);
}

void gs_command_status(struct gs_device *device, struct gs_gpu_status *status)
{
	gs_arbiter_call(device->arbiter, do_status, status);
}

struct trace {
	uint64_t now;
	struct gs_trace_image *image;
	int rc;
};

static void do_trace(struct gs_gpu *gpu, void *arg)
{
	struct trace *t = arg;

	t->rc = gs_gpu_trace(gpu, t->now, t->image);
}

int gs_command_trace(struct gs_device *device, uint64_t now, struct gs_trace_image *image)
{
	struct trace t = { .now = now, .image = image };

	gs_arbiter_call(device->arbiter, do_trace, &t);
	return t.rc;
}
