/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See sharing_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpushare/arbiter/gpu_core.h"
#include "sharing_rig.h"

void begin_sharing(const char *policy, int one_context)
{
	struct gs_gpu_options o = options_of(policy);

	o.leave_most_ns = 300 * US;
	o.one_context = one_context;
	o.sched.by_priority = 1;
	begin_with(&o);
}

void launch_leaving(struct client *c, unsigned i, int evictable, uint64_t leave_ns,
		    uint64_t alone_ns)
{
	prepare(c, i, 1000, evictable);
	gs_page_store(c->page->slot[i].leave_ns, leave_ns);
	gs_page_store(c->page->slot[i].alone_ns, alone_ns);
	if (has_turn(c)) {
		go(c, i, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		gs_page_store(c->page->slot[i].started, 1);
	} else {
		go(c, i, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_gpu_doorbell(c->gpu_client);
	}
}

unsigned work(struct client *c, uint64_t *left, int evictable, uint64_t ns)
{
	unsigned ran = 0;

	agent(c);
	if (state(c, 0) == GS_K_TOEVICT) {
		evicted(c, 0, gs_page_load(c->page->slot[0].done) + 1);
		agent(c);
	}
	if (state(c, 0) == GS_K_RUNNING) {
		ran = 1;
		if (--*left == 0)
			finish(c, 0);
	}
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	if (state(c, 0) == GS_K_PREP) {
		launch_leaving(c, 0, evictable, evictable ? SOON : 0, ns);
		*left = ns / MS ? ns / MS : 1;
	}
	return ran;
}

struct client *running(uint64_t id, int32_t priority, int evictable, uint64_t leave_ns)
{
	struct client *c = join(id, priority);

	launch_leaving(c, 0, evictable, leave_ns, 100 * MS);
	grant(0);
	agent(c);
	grant(US);
	assert_int_equal(state(c, 0), GS_K_RUNNING);
	return c;
}

struct client *requests(uint64_t id, int32_t priority, int evictable, uint64_t leave_ns)
{
	struct client *c = join(id, priority);

	launch_leaving(c, 0, evictable, leave_ns, 100 * MS);
	return c;
}

uint64_t overdue(void)
{
	struct gs_gpu_status st;

	gs_gpu_status(gpu, &st);
	return st.overdue;
}

int keep_busy(struct client *c, uint64_t *left, uint64_t ns)
{
	agent(c);
	if (state(c, 0) == GS_K_RUNNING && --*left == 0)
		finish(c, 0);
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	if (state(c, 0) == GS_K_PREP) {
		launch_leaving(c, 0, AS_IS, 0, ns);
		*left = ns / MS ? ns / MS : 1;
	}
	return has_turn(c) != 0;
}

struct client *join_in(uint64_t id, int32_t priority, uint64_t alloc, uint32_t shares)
{
	struct client *c = join(id, priority);
	struct gs_gpu_client_params *p = &c->gpu_client->p;

	p->alloc = alloc;
	p->shares = p->alloc_shares = shares;
	return c;
}
