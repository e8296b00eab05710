/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory in a real gpushared: who is admitted when, what waiting
 * programs are told, leases and their end, deaths.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "live_daemon.h"

#define MIB UINT64_C(1048576)
#define LIVE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static int setup(void **state)
{
	struct live *l = malloc(sizeof(*l));

	live_begin(l);
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	live_end(*state);
	free(*state);
	return 0;
}

static void reload(struct live *l, const char *extra)
{
	unsigned before = live_logged(l, "reloaded");
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	live_configure(l, extra);
	kill(l->pid, SIGHUP);
	while (live_logged(l, "reloaded") == before) {
		assert_true(gs_clock_ns() < until);
		usleep(2000);
	}
}

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

/* A figure of a job in the memory report; the job must be there. */
static json_t *job_row(json_t *all, uint32_t job)
{
	json_t *steps = json_object_get(json_array_get(all, 0), "steps"), *row;
	size_t i;

	json_array_foreach(steps, i, row)
		if (json_integer_value(json_object_get(row, "job")) == (json_int_t)job)
			return row;
	fail_msg("job %u is not in the report", job);
	return NULL;
}

static void get_state(const struct live *l, uint32_t job, char *state, size_t size)
{
	char *text = live_query(l, GS_QUERY_MEMORY, 0);
	json_t *all = json_loads(text, 0, NULL);

	snprintf(state, size, "%s", json_string_value(json_object_get(job_row(all, job), "state")));
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

static double memory_figure(const struct live *l, uint32_t job, const char *key)
{
	char *text = live_query(l, GS_QUERY_MEMORY, 0);
	json_t *all = json_loads(text, 0, NULL);
	json_t *of = job ? job_row(all, job) : json_array_get(all, 0);
	double v;

	assert_non_null(json_object_get(of, key));
	v = json_number_value(json_object_get(of, key));
	json_decref(all);
	free(text);
	return v;
}

/* ---- admission ----------------------------------------------------------- */

/* HELLO, answered while so many operations are still to be made; 0: the answer is WELCOME, they have been made. */
static int hello_reserves(const struct live *l, uint32_t job, unsigned operations, int *sock)
{
	struct gs_error err;
	char want[64];
	struct gs_msg msg;
	int fd = -1;

	*sock = hello(l, job);
	assert_int_equal(gs_msg_recv(*sock, &msg, GS_FROM_DAEMON, &fd, &err), 1);
	if (fd >= 0)
		close(fd);
	if (msg.header.type == GS_MSG_WELCOME)
		return 0;
	snprintf(want, sizeof(want), "of %u reserve operations made", operations);
	assert_int_equal(msg.header.type, GS_MSG_WAIT);
	assert_non_null(strstr(msg.wait.reason, want));
	return 1;
}

/*
 * Sum 11: twelve operations for priority 1 and two for 10 (300 MiB / 11 is truncated).  The first are made at once, the others as
 * the next cycles begin, the first of which begins with the reload.  0: that cycle was over before both had said HELLO.
 */
static int reserve_by_priority(struct live *l, unsigned cycle_ms)
{
	uint64_t cycle_ns = cycle_ms * GS_NS_PER_MS, began = gs_clock_ns();
	int own_low, own_high, low_waits, high_waits, in_time;
	char conf[64], is[32];
	uint32_t low, high;

	snprintf(conf, sizeof(conf), "MemoryCycle=%ums\n", cycle_ms);
	reload(l, conf);
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

static void fcfs_admits_at_once(void **state)
{
	struct live *l = *state;
	uint32_t job;
	int own, sock;
	struct gs_page *page;

	reload(l, "MemoryAdmission=fcfs\nMemoryCycle=3600s\n");
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

	snprintf(conf, sizeof(conf), "MemoryAdmission=fcfs\nMemoryWake=%s\nMemoryAge=0\n", wake);
	reload(l, conf);
	own_big = live_local(l, 20, 900 * MIB, "low", &big);
	own_low = live_local(l, 20, 800 * MIB, "low", &low);
	own_high = live_local(l, 20, 800 * MIB, "high", &high);
	low_waits = hello_waits(l, low, why, sizeof(why));
	assert_non_null(strstr(why, "number"));
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

	reload(l, "MemoryAdmission=fcfs\nMemoryWait=100ms\n");
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

	reload(l, "MemoryAdmission=fcfs\n");
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

/* ---- leases --------------------------------------------------------------- */

/* Take from the lease as the shim does. */
static int take(struct gs_page *page, uint64_t bytes)
{
	uint64_t left = gs_page_load(page->lease);

	while (left >= bytes)
		if (atomic_compare_exchange_weak(&page->lease, &left, left - bytes))
			return 1;
	return 0;
}

static void leases_are_taken_back(void **state)
{
	struct live *l = *state;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), a, b;
	struct gs_page *pa, *pb;
	struct gs_msg_allocated r;

	a = live_hello(l, job, &pa, NULL);
	b = live_hello(l, job, &pb, NULL);
	assert_int_equal(live_alloc(a, MIB).granted, 1);
	assert_true(gs_page_load(pa->lease) > 100 * MIB);
	assert_int_equal(take(pa, 9 * MIB), 1);
	/* To the byte: 390 MiB are left, whatever has been leased. */
	r = live_alloc(b, 390 * MIB + 1);
	assert_int_equal(r.granted, 0);
	assert_true(r.used == 10 * MIB);
	r = live_alloc(b, 390 * MIB);
	assert_int_equal(r.granted, 1);
	assert_true(r.used == 400 * MIB);
	assert_int_equal(gs_page_load(pa->lease), 0);
	assert_int_equal(take(pa, 1), 0);
	assert_int_equal(live_alloc(a, 1).granted, 0);
	/* What it frees returns to its word, and from there to whoever asks. */
	atomic_fetch_add(&pb->lease, 90 * MIB);
	assert_true(live_alloc(a, 0).used == 310 * MIB);
	assert_int_equal(live_alloc(a, 90 * MIB).granted, 1);
	assert_int_equal(live_alloc(a, 1).granted, 0);
	gs_page_unmap(pa);
	gs_page_unmap(pb);
	close(a);
	close(b);
	close(own);
}

/* A word that lies: no more comes back than was granted, the neighbour keeps its own. */
static void lying_leases_hurt_nobody(void **state)
{
	struct live *l = *state;
	uint32_t liar, good;
	int own_l = live_local(l, 40, 0, "low", &liar), own_g = live_local(l, 40, 0, "low", &good);
	struct gs_page *pl, *pg;
	int cl = live_hello(l, liar, &pl, NULL), cg = live_hello(l, good, &pg, NULL);

	assert_int_equal(live_alloc(cl, 200 * MIB).granted, 1);
	gs_page_store(pl->lease, UINT64_MAX);
	gs_page_store(pl->peak, UINT64_MAX);
	assert_true(memory_figure(l, liar, "used_mb") == 0);
	assert_int_equal(live_alloc(cl, 401 * MIB).granted, 0);
	assert_int_equal(live_alloc(cl, 400 * MIB).granted, 1);
	assert_int_equal(live_alloc(cg, 400 * MIB).granted, 1);
	assert_int_equal(live_alloc(cg, 1).granted, 0);
	gs_page_unmap(pl);
	gs_page_unmap(pg);
	close(cl);
	close(cg);
	close(own_l);
	close(own_g);
}

/* ---- the monitor ----------------------------------------------------------- */

/* How long it takes until what a process held is back that is killed, though its child has the socket, ns. */
static uint64_t memory_is_back(const struct live *l, uint32_t job)
{
	int ready[2], sock;
	struct gs_page *page;
	pid_t pid, grandchild;
	uint64_t dead, back;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		sock = live_hello(l, job, &page, NULL);
		live_alloc(sock, 400 * MIB);
		grandchild = fork();
		if (grandchild == 0) {
			pause();
			_exit(0);
		}
		if (write(ready[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	sock = live_hello(l, job, &page, NULL);
	assert_int_equal(live_alloc(sock, 1).granted, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	dead = gs_clock_ns();
	while (!live_alloc(sock, 400 * MIB).granted)
		assert_true(gs_clock_ns() - dead < 20 * GS_NS_PER_S);
	back = gs_clock_ns() - dead;
	kill(grandchild, SIGKILL);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 0);
	close(ready[0]);
	gs_page_unmap(page);
	close(sock);
	return back;
}

#define DEATHS 5

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* kill -9: what it held is back within 100 ms.  One of them may fall into a moment in which nobody has a processor. */
static void death_returns_memory(void **state)
{
	uint64_t back[DEATHS];
	uint32_t job;
	int own = live_local(*state, 40, 0, "low", &job);

	for (int i = 0; i < DEATHS; i++)
		back[i] = memory_is_back(*state, job);
	qsort(back, DEATHS, sizeof(back[0]), by_size);
	print_message("memory back %.2f to %.2f ms after a death\n", (double)back[0] / 1e6, (double)back[DEATHS - 1] / 1e6);
	assert_true(back[DEATHS / 2] < 100 * GS_NS_PER_MS);
	close(own);
}

/* What NVML says against what is counted: in the report, and once in the log. */
static void the_driver_is_compared(void **state)
{
	struct live *l = *state;
	char conf[4200], where[4096], file[128];
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	struct gs_page *page;
	uint32_t job;
	int own, sock;
	FILE *f;

	assert_non_null(getcwd(where, sizeof(where)));
	snprintf(file, sizeof(file), "%s/nvml", l->dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fprintf(f, "%d %llu\n999999 5\n", (int)getpid(), (unsigned long long)(300 * MIB));
	fclose(f);
	setenv("FAKE_NVML", file, 1);
	live_stop(l, SIGTERM);
	snprintf(conf, sizeof(conf), "MemoryCheck=20ms\nNvml=%s/.libs/fake_nvml.so\n", where);
	if (strlen(where) < 200)
		live_configure(l, conf);
	else
		skip();
	live_start(l);
	own = live_local(l, 40, 0, "low", &job);
	sock = live_hello(l, job, &page, NULL);
	assert_int_equal(live_alloc(sock, 100 * MIB).granted, 1);
	while (memory_figure(l, job, "driver_mb") != 300) {
		assert_true(gs_clock_ns() < until);
		usleep(10000);
	}
	assert_int_equal(live_logged(l, "the driver says that it has 300 MiB of gpu 0"), 1);
	unlink(file);
	unsetenv("FAKE_NVML");
	gs_page_unmap(page);
	close(sock);
	close(own);
}

/* As a step is admitted: is there what is reserved for it? */
static void what_others_have_is_missed(void **state)
{
	struct live *l = *state;
	char conf[4200], where[4096], file[128];
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	uint32_t job;
	int own;
	FILE *f;

	assert_non_null(getcwd(where, sizeof(where)));
	if (strlen(where) >= 200)
		skip();
	snprintf(file, sizeof(file), "%s/nvml", l->dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	setenv("FAKE_NVML", file, 1);
	setenv("FAKE_NVML_DEVICE", "1048576000 734003200", 1);
	live_stop(l, SIGTERM);
	snprintf(conf, sizeof(conf), "MemoryCheck=3600s\nNvml=%s/.libs/fake_nvml.so\n", where);
	live_configure(l, conf);
	live_start(l);
	own = live_local(l, 40, 0, "low", &job);
	while (!live_logged(l, "gpu 0: 400 MiB are reserved, but 700 of 1000 MiB are in use "
			       "outside gpushare: 100 MiB of the reservations are not there")) {
		assert_true(gs_clock_ns() < until);
		usleep(10000);
	}
	unlink(file);
	unsetenv("FAKE_NVML");
	unsetenv("FAKE_NVML_DEVICE");
	close(own);
}

/* Without NVML the log says so, once. */
static void no_nvml_is_said_once(void **state)
{
	struct live *l = *state;
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	reload(l, "MemoryCheck=5ms\nNvml=/nonexistent/libnvml.so\n");
	while (!live_logged(l, "/nonexistent/libnvml.so")) {
		assert_true(gs_clock_ns() < until);
		usleep(5000);
	}
	usleep(100000);
	assert_int_equal(live_logged(l, "/nonexistent/libnvml.so"), 1);
}

/* Without MemoryProgram a job that is suspended keeps its memory, and nobody waits for its kernels first. */
static void suspension_needs_the_program(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	struct gs_msg msg;
	uint32_t job;
	int own, client, admin;
	char conf[128];

	snprintf(conf, sizeof(conf), "SuspendMemory=checkpoint\nMemoryProgram=/nonexistent/mem\nSlurmUser=%u\n",
		 (unsigned)geteuid());
	reload(l, conf);
	assert_int_equal(live_logged(l, "memory cannot be taken back: MemoryProgram /nonexistent/mem"), 1);
	own = live_local(l, 40, 0, "low", &job);
	client = live_hello(l, job, &page, NULL);
	live_launch(client, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	live_move(page, 0, GS_K_TORUN, GS_K_RUNNING);
	admin = live_connect(l);
	gs_msg_init(&msg, GS_MSG_SUSPEND, 1);
	msg.suspend.job_id = job;
	live_send(admin, &msg, -1);
	live_expect(admin, &msg, GS_MSG_REFUSED, NULL);
	assert_non_null(strstr(msg.refused.reason, "/nonexistent/mem cannot be run"));
	assert_int_equal(gs_page_load(page->stub[0].kstate), GS_K_RUNNING);
	gs_page_unmap(page);
	close(admin);
	close(client);
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(reserves_by_priority),
		LIVE(fcfs_admits_at_once),
		LIVE(wakes_by_policy),
		LIVE(waiting_is_bounded),
		LIVE(a_restart_keeps_the_order),
		LIVE(waiters_may_go),
		LIVE(leases_are_taken_back),
		LIVE(lying_leases_hurt_nobody),
		LIVE(death_returns_memory),
		LIVE(the_driver_is_compared),
		LIVE(what_others_have_is_missed),
		LIVE(no_nvml_is_said_once),
		LIVE(suspension_needs_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
