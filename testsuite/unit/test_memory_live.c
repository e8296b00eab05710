/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Admission to device memory in a real gpushared: who gets it when, and what waiting programs are
 * told. */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "live_memory.h"

static int hello(const struct live *l, uint32_t job)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_HELLO, 7);
	msg.hello.job_id = job;
	msg.hello.step_id = UINT32_MAX;
	live_send(sock, &msg, -1);
	return sock;
}

/* HELLO that is answered WAIT; the connection. */
static int hello_waits(const struct live *l, uint32_t job, char *why, size_t size)
{
	int sock = hello(l, job);
	struct gs_msg msg;

	live_expect(sock, &msg, GS_MSG_WAIT, NULL);
	assert_int_equal(msg.header.tag, 7);
	if (why)
		snprintf(why, size, "%s", msg.wait.reason);
	return sock;
}

static int readable(int sock, int ms)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static void expect_welcome(int sock)
{
	struct gs_msg msg;
	int fd = -1;

	live_expect(sock, &msg, GS_MSG_WELCOME, &fd);
	assert_int_equal(msg.header.tag, 7);
	assert_true(fd >= 0);
	close(fd);
}

static void get_state(const struct live *l, uint32_t job, char *state, size_t size)
{
	char *text = live_query(l, GS_QUERY_MEMORY, 0);
	json_t *all = json_loads(text, 0, NULL);

	snprintf(state, size, "%s",
		 json_string_value(json_object_get(memory_job_row(all, job), "state")));
	json_decref(all);
	free(text);
}

static void expect_state(const struct live *l, uint32_t job, const char *want)
{
	char state[32];

	get_state(l, job, state, sizeof(state));
	assert_string_equal(state, want);
}

/* It comes to that: a reserve operation is made each cycle. */
static void await_state(const struct live *l, uint32_t job, const char *want)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	char state[32];

	do {
		usleep(2000);
		get_state(l, job, state, sizeof(state));
	} while (strcmp(state, want) != 0 && gs_clock_ns() < until);
	assert_string_equal(state, want);
}

/* HELLO, answered while so many operations are still to be made; 0: the answer is WELCOME, they
 * have been made. */
static int hello_reserves(const struct live *l, uint32_t job, unsigned operations, int *sock)
{
	struct gs_error err;
	struct gs_msg msg;
	int fd = -1;

	*sock = hello(l, job);
	assert_int_equal(gs_msg_recv(*sock, &msg, GS_FROM_DAEMON, &fd, &err), 1);
	if (fd >= 0)
		close(fd);
	if (msg.header.type == GS_MSG_WELCOME)
		return 0;
	assert_int_equal(msg.header.type, GS_MSG_WAIT);
	assert_string_equal(msg.wait.reason, "its time slice has not come yet");
	assert_true(memory_figure(l, job, "operations") == operations);
	return 1;
}

/*
 * rbdm-strict, sum 11: twelve operations for priority 1 and two for 10 (300 MiB / 11 is truncated).
 * The first are made at once, the others as the next cycles begin, the first of which begins with
 * the reload.  0: that cycle was over before both had said HELLO.
 */
static int reserve_by_priority(struct live *l, unsigned cycle_ms)
{
	uint64_t cycle_ns = cycle_ms * GS_NS_PER_MS, began = gs_clock_ns();
	int own_low, own_high, low_waits, high_waits, in_time;
	char conf[96], is[32];
	uint32_t low, high;

	snprintf(conf, sizeof(conf), "MemoryAdmission=rbdm-strict\nMemoryParameters=cycle=%ums\n",
		 cycle_ms);
	memory_reload(l, conf);
	own_low = live_local(l, 20, 300 * MIB, "low", &low);
	own_high = live_local(l, 20, 300 * MIB, "high", &high);
	in_time = hello_reserves(l, low, 12, &low_waits);
	in_time &= hello_reserves(l, high, 2, &high_waits);
	if (gs_clock_ns() - began < cycle_ns)
		assert_true(in_time);
	else
		in_time = 0;
	if (in_time) {
		/* Nobody is through before its last operation; a loaded machine may be late. */
		expect_welcome(high_waits);
		assert_true(gs_clock_ns() - began >= cycle_ns);
		get_state(l, low, is, sizeof(is));
		if (gs_clock_ns() - began < 11 * cycle_ns)
			assert_string_equal(is, "reserving");
		expect_welcome(low_waits);
		assert_true(gs_clock_ns() - began >= 11 * cycle_ns);
		expect_state(l, low, "admitted");
		assert_true(memory_figure(l, 0, "reserved_mb") == 600);
	}
	close(low_waits);
	close(high_waits);
	close(own_low);
	close(own_high);
	return in_time;
}

/* What a machine is too busy for it may have time for with a longer cycle. */
static void reserves_by_priority(void **state)
{
	unsigned cycle_ms = 30;

	while (!reserve_by_priority(*state, cycle_ms)) {
		cycle_ms *= 3;
		assert_true(cycle_ms < 1000);
	}
}

/* How long a job of so many of the 1000 MiB takes from its registration to its WELCOME, ns; it is
 * gone again then. */
static uint64_t starts_within(const struct live *l, uint64_t mib, const char *partition)
{
	uint64_t began = gs_clock_ns(), took;
	uint32_t job;
	int own = live_local(l, 20, mib * MIB, partition, &job), sock = hello(l, job), fd = -1;
	struct gs_error err;
	struct gs_msg msg;

	assert_int_equal(gs_msg_recv(sock, &msg, GS_FROM_DAEMON, &fd, &err), 1);
	took = gs_clock_ns() - began;
	assert_int_equal(msg.header.type,
			 GS_MSG_WELCOME); /* nobody is told to wait for what is free */
	close(fd);
	close(sock);
	close(own);
	while (memory_figure(l, 0, "reserved_mb") > 0)
		usleep(2000);
	return took;
}

/* An idle GPU, the default: whatever the size and the priority, and however long a cycle. */
static void free_memory_is_granted_at_once(void **state)
{
	static const uint64_t mib[] = { 1, 50, 600, 1000 };
	struct live *l = *state;
	uint64_t worst = 0;

	memory_reload(l, "MemoryParameters=cycle=3600s\n");
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++)
		for (int high = 0; high < 2; high++) {
			uint64_t took = starts_within(l, mib[i], high ? "high" : "low");

			worst = took > worst ? took : worst;
		}
	print_message("the slowest began after %.2f ms\n", (double)worst / 1e6);
	assert_true(worst < 200 * GS_NS_PER_MS);
}

/* One waits: who comes later and would fit is behind it, and what is freed is its own at once. */
static void freed_memory_goes_to_who_waits(void **state)
{
	struct live *l = *state;
	uint32_t big, first, second;
	char why[128];
	int own_big, own_first, own_second, first_waits, second_waits;

	memory_reload(l, "MemoryParameters=cycle=3600s\n");
	own_big = live_local(l, 20, 600 * MIB, "low", &big);
	own_first = live_local(l, 20, 800 * MIB, "low", &first);
	own_second = live_local(l, 20, 300 * MIB, "low", &second);
	first_waits = hello_waits(l, first, why, sizeof(why));
	assert_string_equal(why, "other jobs hold it");
	second_waits = hello_waits(l, second, why, sizeof(why));
	assert_string_equal(why, "other jobs come first");
	assert_int_equal(readable(second_waits, 50), 0);
	close(own_big);
	expect_welcome(first_waits);
	assert_int_equal(readable(second_waits, 50), 0);
	close(own_first);
	expect_welcome(second_waits);
	close(first_waits);
	close(second_waits);
	close(own_second);
}

static void fcfs_admits_at_once(void **state)
{
	struct live *l = *state;
	uint32_t job;
	int own, sock;
	struct gs_page *page;

	memory_reload(l, "MemoryAdmission=fcfs\nMemoryParameters=cycle=3600s\n");
	own = live_local(l, 20, 300 * MIB, "low", &job);
	sock = live_hello(l, job, &page, NULL);
	expect_state(l, job, "admitted");
	gs_page_unmap(page);
	close(sock);
	close(own);
}

/* Two wait for what a third holds; who is woken first is the policy's. */
static void wake_order(const char *wake, int low_first, struct live *l)
{
	char conf[128], why[128];
	uint32_t big, low, high;
	int own_big, own_low, own_high, low_waits, high_waits;

	snprintf(conf, sizeof(conf), "MemoryAdmission=fcfs\nMemoryParameters=wake=%s,age=0\n",
		 wake);
	memory_reload(l, conf);
	own_big = live_local(l, 20, 900 * MIB, "low", &big);
	own_low = live_local(l, 20, 800 * MIB, "low", &low);
	own_high = live_local(l, 20, 800 * MIB, "high", &high);
	low_waits = hello_waits(l, low, why, sizeof(why));
	assert_string_equal(why, "other jobs hold it");
	high_waits = hello_waits(l, high, NULL, 0);
	expect_state(l, low, "waiting");
	assert_true(memory_figure(l, low, "place") == (low_first ? 1 : 2));
	assert_true(memory_figure(l, high, "place") == (low_first ? 2 : 1));
	assert_int_equal(readable(high_waits, 50), 0);
	close(own_big);
	expect_welcome(low_first ? low_waits : high_waits);
	assert_int_equal(readable(low_first ? high_waits : low_waits, 50), 0);
	close(low_first ? own_low : own_high);
	expect_welcome(low_first ? high_waits : low_waits);
	close(low_waits);
	close(high_waits);
	close(low_first ? own_high : own_low);
}

static void wakes_by_policy(void **state)
{
	wake_order("fifo", 1, *state);
	wake_order("hpfw", 0, *state);
	wake_order("smhpfw", 0, *state);
}

static void waiting_is_bounded(void **state)
{
	struct live *l = *state;
	uint32_t big, late;
	struct gs_msg msg;
	int own_big, own_late, sock;

	memory_reload(l, "MemoryAdmission=fcfs\nMemoryWait=100ms\n");
	own_big = live_local(l, 20, 900 * MIB, "low", &big);
	own_late = live_local(l, 20, 800 * MIB, "low", &late);
	sock = hello_waits(l, late, NULL, 0);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	assert_int_equal(msg.refused.code, GS_REFUSED_NO_ROOM);
	assert_non_null(strstr(msg.refused.reason, "MemoryWait"));
	live_expect_closed(sock);
	close(own_big);
	close(own_late);
}

/* Who had its memory has it again; who waited waits on, program and all. */
static void a_restart_keeps_the_order(void **state)
{
	struct live *l = *state;
	uint32_t big, next;
	int own_big = live_local(l, 20, 900 * MIB, "low", &big), own_next, sock;
	struct gs_page *page;

	sock = live_hello(l, big, &page, NULL);
	gs_page_unmap(page);
	close(sock);
	own_next = live_local(l, 20, 800 * MIB, "high", &next);
	sock = hello_waits(l, next, NULL, 0);
	live_stop(l, SIGKILL);
	live_expect_closed(sock);
	live_start(l);
	expect_state(l, big, "admitted");
	sock = hello_waits(l, next, NULL, 0);
	await_state(l, next, "waiting");
	assert_int_equal(readable(sock, 200), 0);
	close(sock);
	close(own_big);
	close(own_next);
}

/* A program that ends while it waits, and one whose step does. */
static void waiters_may_go(void **state)
{
	struct live *l = *state;
	uint32_t big, next;
	int own_big, own_next, sock;

	memory_reload(l, "MemoryAdmission=fcfs\n");
	own_big = live_local(l, 20, 900 * MIB, "low", &big);
	own_next = live_local(l, 20, 800 * MIB, "high", &next);
	sock = hello_waits(l, next, NULL, 0);
	close(sock);
	sock = hello_waits(l, next, NULL, 0);
	close(own_next);
	live_expect_closed(sock);
	assert_true(memory_figure(l, 0, "reserved_mb") == 900);
	close(own_big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(reserves_by_priority),
		LIVE(free_memory_is_granted_at_once),
		LIVE(freed_memory_goes_to_who_waits),
		LIVE(fcfs_admits_at_once),
		LIVE(wakes_by_policy),
		LIVE(waiting_is_bounded),
		LIVE(a_restart_keeps_the_order),
		LIVE(waiters_may_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
