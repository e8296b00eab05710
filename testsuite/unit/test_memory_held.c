/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device memory that jobs hold, in a real gpushared: leases and their end, deaths, what the driver
 * says of it. */
#define _GNU_SOURCE
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

#include "common/clock.h"
#include "live_memory.h"

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

/* How long it takes until what a process held is back that is killed, though its child has the
 * socket, ns. */
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

/* kill -9: what it held is back within 100 ms.  One of them may fall into a moment in which nobody
 * has a processor. */
static void death_returns_memory(void **state)
{
	uint64_t back[DEATHS];
	uint32_t job;
	int own = live_local(*state, 40, 0, "low", &job);

	for (int i = 0; i < DEATHS; i++)
		back[i] = memory_is_back(*state, job);
	qsort(back, DEATHS, sizeof(back[0]), by_size);
	print_message("memory back %.2f to %.2f ms after a death\n", (double)back[0] / 1e6,
		      (double)back[DEATHS - 1] / 1e6);
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
	snprintf(conf, sizeof(conf), "MemoryParameters=check=20ms,nvml=%s/.libs/fake_nvml.so\n",
		 where);
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
	/* Its context is gone, and so is what it had. */
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	while (memory_figure(l, job, "driver_mb") != 0) { /* null */
		assert_true(gs_clock_ns() < until);
		usleep(10000);
	}
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
	snprintf(conf, sizeof(conf), "MemoryParameters=check=3600s,nvml=%s/.libs/fake_nvml.so\n",
		 where);
	live_configure(l, conf);
	live_start(l);
	own = live_local(l, 40, 0, "low", &job);
	while (!live_logged(l, "gpu 0: 400 MiB are reserved, but 700 of 1000 MiB are in use "
			       "outside gpushare: 100 MiB of the reservations are not available")) {
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

	memory_reload(l, "MemoryParameters=check=5ms,nvml=/nonexistent/libnvml.so\n");
	while (!live_logged(l, "/nonexistent/libnvml.so")) {
		assert_true(gs_clock_ns() < until);
		usleep(5000);
	}
	usleep(100000);
	assert_int_equal(live_logged(l, "/nonexistent/libnvml.so"), 1);
}

/* Without gpushare-mem a job that is suspended keeps its memory, and nobody waits for its kernels
 * first. */
static void suspension_needs_the_program(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	struct gs_msg msg;
	uint32_t job;
	int own, client, admin;
	char conf[128];

	snprintf(
		conf, sizeof(conf),
		"SuspendMemory=checkpoint\nMemoryParameters=program=/nonexistent/mem\nSlurmUser=%u\n",
		(unsigned)geteuid());
	memory_reload(l, conf);
	assert_int_equal(
		live_logged(l, "memory cannot be taken back: /nonexistent/mem cannot be run"), 1);
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
	assert_int_equal(gs_page_load(page->slot[0].state), GS_K_RUNNING);
	gs_page_unmap(page);
	close(admin);
	close(client);
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(leases_are_taken_back),        LIVE(lying_leases_hurt_nobody),
		LIVE(death_returns_memory),         LIVE(the_driver_is_compared),
		LIVE(what_others_have_is_missed),   LIVE(no_nvml_is_said_once),
		LIVE(suspension_needs_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
