/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients of a live gpushared that come at regular times: what they take of its processor, and of others' time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "live_util.h"

#define REGULAR 8
#define KERNEL_NS (50 * GS_NS_PER_US)
#define LEAVE_NS (100 * GS_NS_PER_US)
#define FOR_NS (1 * GS_NS_PER_S)
/* What a launch may take of the daemon: its client asks twice, somebody is told to leave and has the GPU again. */
#define ASKED_NS (150 * GS_NS_PER_US)

struct client {
	struct gs_page *page;
	int own, sock;
	uint64_t period, due, seq, began, asked_ns, told;
	unsigned launches, awaited;
};

static struct client low, high[REGULAR];
static uint64_t wait_ns[100000];
static unsigned waits;

static void come(struct live *l, struct client *c, const char *partition, uint64_t period)
{
	uint32_t job;

	memset(c, 0, sizeof(*c));
	c->own = live_local(l, 10, 0, partition, &job);
	c->sock = live_hello(l, job, &c->page, NULL);
	c->period = period;
}

static void go_away(struct client *c)
{
	gs_page_unmap(c->page);
	close(c->sock);
	close(c->own);
}

static void ask_to_launch(struct client *c)
{
	struct gs_stub *s = &c->page->stub[0];

	gs_page_store(s->started, 0);
	gs_page_store(s->done, 0);
	gs_page_store(s->nt, 10);
	gs_page_store(s->alone_ns, KERNEL_NS);
	gs_page_store(s->flags, GS_STUB_EVICTABLE);
	gs_page_store(s->leave_ns, LEAVE_NS);
	gs_page_store(s->seq, c->seq++);
	gs_page_store(c->page->used, 1);
	if (gs_page_load(c->page->turn)) {
		live_move(c->page, 0, GS_K_PREP, GS_K_RUNNING);
		gs_page_store(s->started, 1);
		c->began = gs_clock_ns();
		return;
	}
	c->awaited += gs_page_load(c->page->attended) == GS_ATTENDED_AWAKE;
	c->asked_ns = gs_clock_ns();
	live_move(c->page, 0, GS_K_PREP, GS_K_READY);
	gs_page_ask(c->page);
}

/* The client and the GPU below it. */
static void play(struct client *c, uint64_t now)
{
	uint32_t k = gs_page_load(c->page->stub[0].kstate), bell = gs_page_load(c->page->bell);

	if (k == GS_K_TORUN && gs_stub_move(&c->page->stub[0], GS_K_TORUN, GS_K_RUNNING)) {
		gs_page_store(c->page->stub[0].started, 1);
		c->began = now;
		if (c->asked_ns && waits < sizeof(wait_ns) / sizeof(wait_ns[0]))
			wait_ns[waits++] = now - c->asked_ns;
		c->asked_ns = 0;
	} else if (k == GS_K_TOEVICT) {
		c->told = c->told ? c->told : now;
		if (now - c->told >= LEAVE_NS) {
			gs_stub_move(&c->page->stub[0], GS_K_TOEVICT, GS_K_READY);
			c->told = 0;
		}
	} else if (c->period && k == GS_K_RUNNING && now - c->began > KERNEL_NS) {
		live_end_stub(c->page, 0, GS_K_RUNNING);
		gs_page_ask(c->page);
		live_move(c->page, 0, GS_K_DONE, GS_K_PREP);
		c->launches++;
	} else if (c->period && k == GS_K_PREP && now >= c->due) {
		c->due = c->due ? c->due + c->period : now + c->period;
		while (c->due <= now) /* the machine was busy */
			c->due += c->period;
		ask_to_launch(c);
	}
	gs_page_store(c->page->heard, bell);
}

/* What the daemon has had of a processor, ns. */
static uint64_t had(const struct live *l)
{
	struct timespec ts;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(l->pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* n of them for FOR_NS: has the daemon taken what they ask for, and its share? */
static int play_once(const struct live *l, unsigned n)
{
	uint64_t began = gs_clock_ns(), cpu = had(l), now;
	unsigned launches = 0, awaited = 0;

	waits = 0;
	for (unsigned i = 0; i < n; i++) {
		high[i].due = began + (i + 1) * 300 * GS_NS_PER_US;
		high[i].launches = high[i].awaited = 0;
	}
	do {
		now = gs_clock_ns();
		play(&low, now);
		for (unsigned i = 0; i < n; i++)
			play(&high[i], gs_clock_ns());
	} while (now - began < FOR_NS);
	cpu = had(l) - cpu;
	for (unsigned i = 0; i < n; i++) {
		launches += high[i].launches;
		awaited += high[i].awaited;
	}
	assert_true(launches && waits);
	qsort(wait_ns, waits, sizeof(wait_ns[0]), by_size);
	print_message("%u launches, %u awaited: %.1f %% of a processor; half of them waited for %.0f us\n", launches, awaited,
		      100.0 * (double)cpu / (double)(now - began), (double)wait_ns[waits / 2] / 1e3);
	return cpu < (now - began) / 20 + launches * ASKED_NS;
}

/* Where processors are virtual what another one takes meanwhile counts as had: so for once. */
static void play_all(const struct live *l, unsigned n)
{
	int i = 0;

	while (!play_once(l, n))
		assert_true(++i < 5);
}

static void all_come(struct live *l, unsigned n, uint64_t period, uint64_t more)
{
	come(l, &low, "low", 0);
	ask_to_launch(&low);
	live_await(low.page, 0, GS_K_TORUN);
	for (unsigned i = 0; i < n; i++)
		come(l, &high[i], "high", period + i * more);
}

static void all_go(struct live *l, unsigned n)
{
	live_serves(l);
	for (unsigned i = 0; i < n; i++)
		go_away(&high[i]);
	go_away(&low);
}

/* Every 1 to 5 ms. */
static void test_many(void **state)
{
	all_come(*state, REGULAR, GS_NS_PER_MS, 4 * GS_NS_PER_MS / (REGULAR - 1));
	play_all(*state, REGULAR);
	all_go(*state, REGULAR);
}

static void test_one(void **state)
{
	all_come(*state, 1, 20 * GS_NS_PER_MS, 0);
	play_all(*state, 1);
	all_go(*state, 1);
}

/* Asks over and over while somebody reads its word, and only then. */
static pid_t flood(struct gs_page *page)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		for (;;)
			if (gs_page_load(page->attended) == GS_ATTENDED_AWAKE)
				atomic_fetch_add(&page->asked, 1);
	}
	return pid;
}

static void test_flood_while_awaited(void **state)
{
	pid_t pid;

	all_come(*state, 2, 20 * GS_NS_PER_MS, 3 * GS_NS_PER_MS);
	pid = flood(high[0].page);
	play_all(*state, 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	all_go(*state, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_many),
		LIVE(test_one),
		LIVE(test_flood_while_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
