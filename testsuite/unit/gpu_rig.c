/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fake clients and the GPU below them; see gpu_rig.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "gpu_rig.h"

struct gs_gpu *gpu;
uint64_t now;
uint64_t force_ns;
struct gs_period period;
int no_corun;
uint64_t program_key;

struct gs_gpu_options options_of(const char *policy)
{
	struct gs_gpu_options o = {
		.policy = policy,
		.idle_grace_ns = 200 * US,
		.evict_deadline_ns = 100 * MS,
	};

	gs_sched_defaults(&o.sched);
	return o;
}

void begin_with(const struct gs_gpu_options *options)
{
	struct gs_error err;

	now = T0;
	gpu = gs_gpu_create(0, options, now, &err);
	assert_non_null(gpu);
}

void begin(const char *policy)
{
	struct gs_gpu_options o = options_of(policy);

	begin_with(&o);
}

void join_as(struct client *c, uint64_t id, int32_t priority, int adopted)
{
	struct gs_gpu_client_params p = { .id = id,
					  .page = c->page,
					  .usage = &c->usage,
					  .kernels = &c->map,
					  .priority = priority,
					  .priority_most = 1000,
					  .shares = 50,
					  .alloc = id,
					  .alloc_shares = 50,
					  .name = "a client",
					  .force_ns = force_ns,
					  .period = period,
					  .no_corun = no_corun,
					  .program_key = program_key,
					  .counted = c->counted };

	c->gpu_client = gs_gpu_add(gpu, &p, adopted, now);
	assert_non_null(c->gpu_client);
}

struct client *join(uint64_t id, int32_t priority)
{
	struct client *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->page = aligned_alloc(64, sizeof(*c->page));
	assert_non_null(c->page);
	memset(c->page, 0, sizeof(*c->page));
	join_as(c, id, priority, 0);
	return c;
}

void low_and_high(struct client **low, struct client **high)
{
	begin("piv");
	*low = join(1, 1);
	*high = join(2, 10);
}

void leave(struct client *c)
{
	if (c->gpu_client)
		gs_gpu_remove(gpu, c->gpu_client, now);
	gs_step_usage_fini(&c->usage);
	free(c->page);
	free(c);
}

void all_leave_of(struct client **clients)
{
	for (; *clients; clients++)
		leave(*clients);
	gs_gpu_destroy(gpu);
}

uint64_t grant(uint64_t after)
{
	now += after;
	return gs_gpu_step(gpu, now);
}

void go(struct client *c, unsigned i, uint32_t from, uint32_t to, unsigned by)
{
	assert_true(gs_launch_state_writers(from, to) & by);
	assert_true(gs_slot_move(&c->page->slot[i], from, to));
}

uint32_t state(struct client *c, unsigned i)
{
	return gs_page_load(c->page->slot[i].state);
}

uint32_t has_turn(struct client *c)
{
	return gs_page_load(c->page->grant);
}

void prepare(struct client *c, unsigned i, uint64_t nt, int evictable)
{
	struct gs_slot *s = &c->page->slot[i];

	assert_int_equal(state(c, i), GS_K_PREP);
	gs_page_store(s->started, 0);
	gs_page_store(s->nt, nt);
	gs_page_store(s->done, 0);
	gs_page_store(s->alone_ns, 10 * MS);
	gs_page_store(s->flags, evictable ? GS_SLOT_EVICTABLE : 0);
	gs_page_store(s->seq, c->seq++);
}

void launch(struct client *c, unsigned i, uint64_t nt, int evictable)
{
	prepare(c, i, nt, evictable);
	if (has_turn(c)) {
		go(c, i, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		gs_page_store(c->page->slot[i].started, 1);
	} else {
		go(c, i, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_gpu_doorbell(c->gpu_client);
	}
}

void agent(struct client *c)
{
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		if (state(c, i) == GS_K_TORUN) {
			gs_page_store(c->page->slot[i].started, 0);
			go(c, i, GS_K_TORUN, GS_K_RUNNING, GS_BY_CLIENT);
			gs_page_store(c->page->slot[i].started, 1);
		}
	gs_page_store(c->page->heard, gs_page_load(c->page->doorbell));
}

void occupy(struct client *c, uint64_t nt)
{
	launch(c, 0, nt, 1);
	grant(0);
	agent(c);
	assert_int_equal(state(c, 0), GS_K_RUNNING);
}

void finish(struct client *c, unsigned i)
{
	struct gs_slot *s = &c->page->slot[i];

	gs_page_store(s->done, gs_page_load(s->nt));
	go(c, i, state(c, i), GS_K_DONE, GS_BY_GPU);
}

void evicted(struct client *c, unsigned i, uint64_t done)
{
	gs_page_store(c->page->slot[i].done, done);
	go(c, i, GS_K_TOEVICT, GS_K_READY, GS_BY_GPU);
}

unsigned logged(const char *path, const char *text)
{
	char line[512];
	unsigned n = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

void log_to(char *path)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(gs_log_open("test", path, GS_LOG_INFO), 0);
}

void log_back(const char *path)
{
	gs_log_close();
	unlink(path);
}
