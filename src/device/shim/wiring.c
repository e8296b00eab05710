/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which module is called for which event: the only place that knows all rooms; see base/upcalls.h.
 */
#define _GNU_SOURCE
#include "device/shim/base/counted.h"
#include "device/shim/base/upcalls.h"
#include "device/shim/context/barrier.h"
#include "device/shim/context/channels.h"
#include "device/shim/context/context.h"
#include "device/shim/context/copy_barrier.h"
#include "device/shim/context/launch_barrier.h"
#include "device/shim/context/order.h"
#include "device/shim/graph/graph.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/kernel/modules.h"
#include "device/shim/kernel/summary.h"
#include "device/shim/launch/agent.h"
#include "device/shim/launch/pool.h"
#include "device/shim/memory/charge.h"
#include "device/shim/session/api.h"
#include "device/shim/session/own_priority.h"
#include "device/shim/variant/build.h"

static int session_begins(struct shim_session *s)
{
	/* This takes no time, since base/real.c has registered before it opened the driver. */
	shim_order_begin();
	shim_launch_init(s->page);
	return shim_agent_start(s);
}

static void session_ends(struct shim_session *s)
{
	shim_copy_barrier_end(s);
	shim_launch_barrier_leave_open(s);
	shim_build_stop();
	shim_agent_stop(s);
	shim_summary_write();
}

static void forked(void)
{
	shim_counted_forked();
	shim_api_forked();
	shim_own_priority_forked();
	shim_context_forked();
	shim_kernels_forked();
	shim_load_forked();
	shim_graph_forked();
	shim_modules_forked();
	shim_build_forked();
	shim_memory_forked();
	shim_pools_forked();
	shim_vmm_forked();
	shim_blocked_forked();
	shim_copy_barrier_forked();
	shim_launch_barrier_forked();
	shim_channels_forked();
	shim_order_forked();
}

/* Before the driver unloads the context's modules: it may give their functions' handles to another
 * thread before its call returns. */
static void modules_go(CUcontext ctx)
{
	if (shim_modules_ending(ctx))
		shim_variants_ending(ctx);
	shim_kernels_ending(ctx);
}

static void modules_went(CUcontext ctx)
{
	struct shim_module *m = shim_modules_ended(ctx), *next;

	for (; m; m = next) {
		next = m->next;
		shim_module_unloaded(m);
	}
}

static void context_ends(CUcontext ctx, int over)
{
	if (over) {
		modules_went(ctx);
		shim_channels_destroyed(ctx);
		shim_copy_runs_destroyed(ctx);
		shim_own_priority_destroyed(ctx);
	} else {
		modules_go(ctx);
	}
	/* What other threads have loaded between the two calls went with the context, or is loaded
	 * again. */
	shim_load_gone_context(ctx);
}

static const struct shim_upcalls upcalls = {
	.session_begins = session_begins,
	.session_ends = session_ends,
	.forked = forked,
	.context_ends = context_ends,
	.reap = shim_launch_reap,
	.enqueued = shim_launch_enqueued,
	.keep_held = shim_launch_keep_held,
};

static void __attribute__((constructor)) wire(void)
{
	shim_upcalls = &upcalls;
}
