/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the event loop to an arbiter; see commands.h. The functions do_...() run in the
 * arbiter's thread. */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu/commands.h"

#include <string.h>

#include "common/clock.h"
#include "gpushare/arbiter/account.h"

/* ---- clients ---------------------------------------------------------- */

struct join {
	const struct gs_gpu_client_params *params;
	int adopted;
	struct gs_gpu_client *client;
};

static void do_join(struct gs_gpu *gpu, void *arg)
{
	struct join *j = arg;

	j->client = gs_gpu_add(gpu, j->params, j->adopted, gs_clock_ns());
}

struct gs_gpu_client *gs_command_join(struct gs_arbiter *a,
				      const struct gs_gpu_client_params *params, int adopted)
{
	struct join j = { .params = params, .adopted = adopted };

	gs_arbiter_call(a, do_join, &j);
	return j.client;
}

struct leave {
	struct gs_gpu_client *client;
	struct gs_counted counted;
	int on_gpu;
};

static void do_leave(struct gs_gpu *gpu, void *arg)
{
	struct leave *l = arg;

	l->on_gpu = gs_gpu_client_on_gpu(l->client);
	l->counted = gs_gpu_remove(gpu, l->client, gs_clock_ns());
}

int gs_command_leave(struct gs_arbiter *a, struct gs_gpu_client *client, struct gs_counted *counted)
{
	struct leave l = { .client = client };

	gs_arbiter_call(a, do_leave, &l);
	*counted = l.counted;
	return l.on_gpu;
}

static void do_doorbell(struct gs_gpu *gpu, void *arg)
{
	(void)gpu;
	gs_gpu_doorbell(arg);
}

void gs_command_doorbell(struct gs_arbiter *a, struct gs_gpu_client *client)
{
	gs_arbiter_call(a, do_doorbell, client);
}

struct announce {
	struct gs_step_usage *usage;
	struct gs_kernel_map *kernels;
	const struct gs_msg_kernel *kernel;
	uint64_t key;
	int rc;
};

static void do_announce(struct gs_gpu *gpu, void *arg)
{
	struct announce *n = arg;
	const struct gs_msg_kernel *k = n->kernel;

	(void)gpu;
	n->rc = gs_step_usage_announce(n->usage, n->kernels, k->number, k->name, k->transform,
				       k->reason, k->registers);
	if (k->number < GS_STEP_USAGE_KERNELS_MAX)
		n->kernels->key[k->number] = n->key;
}

int gs_command_announce(struct gs_arbiter *a, struct gs_step_usage *usage,
			struct gs_kernel_map *kernels, const struct gs_msg_kernel *kernel,
			uint64_t key)
{
	struct announce n = { .usage = usage, .kernels = kernels, .kernel = kernel, .key = key };

	gs_arbiter_call(a, do_announce, &n);
	return n.rc;
}

struct variant {
	struct gs_step_usage *usage;
	const struct gs_kernel_map *kernels;
	const struct gs_msg_variant *told;
};

static void do_variant(struct gs_gpu *gpu, void *arg)
{
	const struct variant *v = arg;
	const struct gs_msg_variant *told = v->told;
	struct gs_step_usage_variant is = {
		.made_of = told->made_of,
		.at_once = told->at_once,
		.since_s = (int64_t)told->since,
		.written_ps = told->written_ps,
		.variant_ps = told->variant_ps,
		.blocks = told->blocks,
		.block_ns = told->block_ns,
	};

	(void)gpu;
	gs_step_usage_variant(gs_step_usage_kernel(v->usage, v->kernels, told->number), &is);
}

void gs_command_variant(struct gs_arbiter *a, struct gs_step_usage *usage,
			const struct gs_kernel_map *kernels, const struct gs_msg_variant *variant)
{
	struct variant v = { .usage = usage, .kernels = kernels, .told = variant };

	gs_arbiter_call(a, do_variant, &v);
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

void gs_command_expect(struct gs_arbiter *a, struct gs_kernel_map *kernels, uint32_t kernel,
		       uint64_t tpt_ps)
{
	struct expect e = { .tpt_ps = &kernels->tpt_ps[kernel], .is = tpt_ps };

	gs_arbiter_call(a, do_expect, &e);
}

struct untracked {
	struct gs_gpu_client *client;
	const struct gs_msg_untracked *told;
};

static void do_untracked(struct gs_gpu *gpu, void *arg)
{
	const struct untracked *u = arg;
	uint32_t n = u->told->count < GS_UNTRACKED_MAX ? u->told->count : GS_UNTRACKED_MAX;
	struct gs_untracked kernel[GS_UNTRACKED_MAX];

	(void)gpu;
	memcpy(kernel, u->told->kernel, sizeof(kernel));
	gs_gpu_client_launched(u->client, u->told->launched);
	gs_gpu_client_untracked(u->client, kernel, n, gs_clock_ns());
}

void gs_command_untracked(struct gs_arbiter *a, struct gs_gpu_client *client,
			  const struct gs_msg_untracked *told)
{
	struct untracked u = { .client = client, .told = told };

	gs_arbiter_call(a, do_untracked, &u);
}

struct priority {
	struct gs_gpu_client *client;
	int32_t priority, most;
	uint32_t class;
};

static void do_priority(struct gs_gpu *gpu, void *arg)
{
	const struct priority *p = arg;

	(void)gpu;
	gs_gpu_client_priority(p->client, p->priority, p->most, gs_clock_ns());
	gs_gpu_client_class(p->client, p->class);
}

void gs_command_priority(struct gs_arbiter *a, struct gs_gpu_client *client, int32_t priority,
			 int32_t most, uint32_t class)
{
	struct priority p = { .client = client,
			      .priority = priority,
			      .most = most,
			      .class = class };

	gs_arbiter_call(a, do_priority, &p);
}

struct stopped {
	struct gs_gpu_client *client;
	int is;
};

static void do_stopped(struct gs_gpu *gpu, void *arg)
{
	const struct stopped *s = arg;

	(void)gpu;
	gs_gpu_client_stopped(s->client, s->is, gs_clock_ns());
}

void gs_command_stopped(struct gs_arbiter *a, struct gs_gpu_client *client, int stopped)
{
	struct stopped s = { .client = client, .is = stopped };

	gs_arbiter_call(a, do_stopped, &s);
}

struct pin {
	struct gs_gpu_client *client;
	int rc;
};

static void do_pin(struct gs_gpu *gpu, void *arg)
{
	struct pin *p = arg;

	(void)gpu;
	p->rc = gs_gpu_pin(p->client);
}

int gs_command_pin(struct gs_arbiter *a, struct gs_gpu_client *client)
{
	struct pin p = { .client = client };

	gs_arbiter_call(a, do_pin, &p);
	return p.rc;
}

static void do_unpin(struct gs_gpu *gpu, void *arg)
{
	(void)arg;
	gs_gpu_unpin(gpu);
}

void gs_command_unpin(struct gs_arbiter *a)
{
	gs_arbiter_call(a, do_unpin, NULL);
}

static void do_settled(struct gs_gpu *gpu, void *arg)
{
	*(int *)arg = gs_gpu_settled(gpu);
}

int gs_command_settled(struct gs_arbiter *a)
{
	int is = 0;

	gs_arbiter_call(a, do_settled, &is);
	return is;
}

/* ---- the GPU ---------------------------------------------------------- */

struct policy {
	const char *class, *policy;
	struct gs_error *err;
	int rc;
};

static void do_policy(struct gs_gpu *gpu, void *arg)
{
	struct policy *p = arg;
	uint64_t now = gs_clock_ns();

	if (*p->class)
		p->rc = gs_gpu_set_class_policy(gpu, p->class, p->policy, now, p->err);
	else
		p->rc = gs_gpu_set_policy(gpu, p->policy, now, p->err);
}

int gs_command_policy(struct gs_arbiter *a, const char *class, const char *policy,
		      struct gs_error *err)
{
	struct policy p = { .class = class, .policy = policy, .err = err };

	gs_arbiter_call(a, do_policy, &p);
	return p.rc;
}

static void do_status(struct gs_gpu *gpu, void *arg)
{
	gs_gpu_status(gpu, arg);
}

void gs_command_status(struct gs_arbiter *a, struct gs_gpu_status *status)
{
	gs_arbiter_call(a, do_status, status);
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

int gs_command_trace(struct gs_arbiter *a, uint64_t now, struct gs_trace_image *image)
{
	struct trace t = { .now = now, .image = image };

	gs_arbiter_call(a, do_trace, &t);
	return t.rc;
}
