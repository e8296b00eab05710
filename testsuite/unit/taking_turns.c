/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two clients that take turns; see taking_turns.h. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpushare/daemon/gpu_core.h"
#include "taking_turns.h"

uint64_t next;
uint64_t kernel_ns = 1 * MS;
unsigned looks;
int tells;
int unsteady;

static uint64_t random_ns(uint64_t from, uint64_t to)
{
	static uint32_t random = 1;

	random = random * 1664525 + 1013904223;
	return from + (random >> 8) % (to - from);
}

static uint64_t comes_ns(void)
{
	return unsteady ? random_ns(30 * US, 130 * US) : COMES_NS;
}

void loop_until(uint64_t then)
{
	while (next <= then) {
		next = turn(next > now ? next - now : 0);
		looks++;
		if (unsteady && next != UINT64_MAX && next > now + 5 * US) /* a shorter time is not slept */
			next += random_ns(10 * US, 30 * US);
	}
	now = then;
}

void serve(void)
{
	next = turn(0);
	looks++;
}

int run_one(struct client *c)
{
	int asks = !has_turn(c);

	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	prepare(c, 0, 10, 1);
	gs_page_store(c->page->stub[0].alone_ns, kernel_ns);
	go(c, 0, GS_K_PREP, asks ? GS_K_READY : GS_K_RUNNING, GS_BY_CLIENT);
	if (asks) {
		gs_gpu_bell(c->tenant);
		serve();
		agent(c);
	}
	assert_int_equal(state(c, 0), GS_K_RUNNING);
	if (tells)
		gs_page_store(c->page->launched_ns, now);
	loop_until(now + WAY_NS);
	gs_page_store(c->page->stub[0].started, 1);
	loop_until(now + kernel_ns);
	finish(c, 0);
	loop_until(now + comes_ns());
	return asks;
}

void begin_two(struct client **a, struct client **b)
{
	begin("rr");
	*a = join(1, 1);
	*b = join(2, 1);
	next = turn(0);
}

void get_used(struct client *a, struct client *b)
{
	for (int i = 0; i < 10; i++) {
		run_one(a);
		run_one(b);
	}
	assert_true(has_turn(a));
}

void begin_used(struct client **a, struct client **b)
{
	begin_two(a, b);
	get_used(*a, *b);
}

void begin_ahead(struct client **a, struct client **b)
{
	begin_used(a, b);
	run_one(*a);
	assert_true(has_turn(*b) && !has_turn(*a));
}
