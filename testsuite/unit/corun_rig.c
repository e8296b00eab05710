/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "corun_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/corun/balance.h"

#define TICK (50 * US)
#define NT 10000

void begin_corun(uint32_t most)
{
	struct gs_gpu_options o = options_of("frs");

	o.leave_most_ns = 300 * US;
	o.one_context = 1;
	o.sched.by_priority = 1;
	o.corun = (struct gs_corun_options) { most, 0.05, EPOCH };
	begin_with(&o);
}

struct program program_with(uint32_t shares, uint64_t id, uint64_t alone_ns, double enough)
{
	return (struct program) { .c = join_in(id, 5, id, shares),
				  .alone_ns = alone_ns,
				  .claim = 1,
				  .enough = enough,
				  .flags = GS_SLOT_EVICTABLE | GS_SLOT_DIVIDES };
}

struct program program(uint64_t id, uint64_t alone_ns, double enough)
{
	return program_with(50, id, alone_ns, enough);
}

double part_of(const struct program *p)
{
	uint32_t part = gs_page_load(p->c->page->priorities.part);

	assert_true(part <= GS_PAGE_PARTS);
	return part ? part / (double)GS_PAGE_PARTS : FULL;
}

void launch_again(struct program *p)
{
	struct gs_slot *s = &p->c->page->slot[0];

	if (state(p->c, 0) == GS_K_DONE)
		go(p->c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	if (state(p->c, 0) != GS_K_PREP || now < p->idle_until)
		return;
	prepare(p->c, 0, NT, 1);
	gs_page_store(s->flags, p->flags);
	gs_page_store(s->leave_ns, 50 * US);
	gs_page_store(s->alone_ns, (uint64_t)((double)p->alone_ns * p->claim));
	p->tasks = 0;
	p->part = part_of(p);
	if (has_turn(p->c)) {
		go(p->c, 0, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		gs_page_store(s->started, 1);
	} else {
		go(p->c, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_gpu_doorbell(p->c->gpu_client);
	}
}

/* A tick in which it has `speed` of the GPU. */
static void run(struct program *p, double speed)
{
	uint32_t was = state(p->c, 0);

	agent(p->c);
	if (was == GS_K_TORUN)
		p->part = part_of(p);
	if (state(p->c, 0) == GS_K_TOEVICT) {
		evicted(p->c, 0, (uint64_t)p->tasks);
	} else if (state(p->c, 0) == GS_K_RUNNING) {
		double did = speed * TICK / (double)p->alone_ns;

		p->did += did;
		p->tasks += did * NT;
		if (p->tasks >= NT)
			finish(p->c, 0);
	}
	launch_again(p);
}

int is_running(const struct program *p)
{
	return state(p->c, 0) == GS_K_RUNNING;
}

void play(struct program *p, size_t n, uint64_t ns)
{
	for (uint64_t end = now + ns; now < end; grant(TICK)) {
		unsigned running = 0;

		for (size_t i = 0; i < n; i++)
			running += is_running(&p[i]);
		for (size_t i = 0; i < n; i++) {
			double part = p[i].part < FULL ? p[i].part : FULL / (running ? running : 1);

			run(&p[i], part < p[i].enough ? part / p[i].enough : 1);
		}
	}
}

void count_anew(struct program *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i].did = 0;
}

double progress(const struct program *p, uint64_t ns)
{
	return p->did * (double)p->alone_ns / (double)ns;
}

double together(uint32_t n)
{
	struct gs_gpu_status status;

	gs_gpu_status(gpu, &status);
	assert_int_equal(status.corun, n);
	assert_true(isnan(status.corun_progress) == isnan(status.corun_fairness));
	return status.corun_progress;
}

struct program of_program(uint64_t key, uint64_t id, uint64_t alone_ns, double enough)
{
	struct program p;

	program_key = key;
	p = program(id, alone_ns, enough);
	program_key = 0;
	return p;
}
