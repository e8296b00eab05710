/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel took in one job is known to the next: KERNEL, TIME and a launch, over raw sockets.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/client/client.h"
#include "live_daemon.h"

#define SHARES 10
#define CONTENT UINT64_C(0x1234567890abcdef)
/* The daemon looks within 20 ms, if it has a processor. */
#define PATIENCE_NS (20 * GS_NS_PER_S)

/* Its name is the kernel's number 3, of the module with that content. */
static void announce(int sock, uint64_t content)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_KERNEL, 0);
	msg.kernel.number = 3;
	msg.kernel.transform = 1;
	msg.kernel.content = content;
	gs_msg_str(msg.kernel.name, sizeof(msg.kernel.name), "reduce");
	live_send(sock, &msg, -1);
}

static uint64_t time_of(int sock, uint32_t number, uint32_t dims)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_TIME, 77);
	msg.time.number = number;
	msg.time.dims = dims;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_TIMED, NULL);
	assert_int_equal(msg.header.tag, 77);
	return msg.timed.tpt_ps;
}

/*
 * The only launch of a process, of 1,000 block-tasks in 2 ms, 2 us each: what it takes
 * is not known before, and is told as it is over.  As with the shim, the daemon has
 * answered since it was told of the kernel: the page is looked at by another thread
 * than the one that reads messages, and may be looked at first.
 */
static void run(int sock, struct gs_page *page, uint32_t dims)
{
	struct gs_slot *s = &page->slot[0];

	gs_page_store(s->kernel, 3);
	gs_page_store(s->nt, 1000);
	gs_page_store(s->flags, dims << GS_SLOT_DIMS_SHIFT);
	live_move(page, 0, GS_K_PREP, GS_K_READY);
	live_doorbell(sock);
	live_await(page, 0, GS_K_TORUN);
	live_move(page, 0, GS_K_TORUN, GS_K_RUNNING);
	gs_page_store(s->done, 1000);
	live_move(page, 0, GS_K_RUNNING, GS_K_DONE);
	gs_page_store(s->alone_ns, 2000000);
	gs_page_store(s->flags, gs_page_load(s->flags) | GS_SLOT_TIMED);
	live_move(page, 0, GS_K_DONE, GS_K_PREP);
}

static void as_the_shim_requests(const struct live *l, uint32_t job, uint32_t dims)
{
	struct gs_client_options options = {
		.socket = l->socket, .job_id = job, .step_id = UINT32_MAX, .program = "test"
	};
	struct gs_client *client = gs_client_create(&options);

	assert_non_null(client);
	assert_int_equal(gs_client_connect(client, 0, 5000, NULL, NULL), 0);
	gs_client_kernel(client, 3, 1, 0, 0, CONTENT, "reduce");
	assert_int_equal(gs_client_time(client, 3, dims), 2000000);
	assert_int_equal(gs_client_time(client, 4, dims), 0);
	gs_client_destroy(client);
}

static void the_next_job_knows(void **state)
{
	uint32_t wide = gs_slot_dims(256, 1, 1, 0), square = gs_slot_dims(16, 16, 1, 0), job[2];
	struct gs_page *page, *other;
	struct live l;
	int sock, next, owner[2];

	(void)state;
	live_begin(&l);
	owner[0] = live_local(&l, SHARES, 0, "low", &job[0]);
	sock = live_hello(&l, job[0], &page, NULL);
	announce(sock, CONTENT);
	assert_int_equal(time_of(sock, 3, wide), 0);
	run(sock, page, wide);
	close(sock);

	owner[1] = live_local(&l, SHARES, 0, "low", &job[1]);
	next = live_hello(&l, job[1], &other, NULL);
	announce(next, CONTENT);
	assert_int_equal(time_of(next, 3, wide), 2000000);
	assert_int_equal(time_of(next, 3, square), 0);
	assert_int_equal(time_of(next, 4, wide), 0);
	assert_int_equal(time_of(next, UINT32_MAX, wide), 0);
	as_the_shim_requests(&l, job[1], wide);
	/* Another module's kernel of that name is another kernel. */
	announce(next, CONTENT + 1);
	assert_int_equal(time_of(next, 3, wide), 0);
	close(next);
	close(owner[0]);
	close(owner[1]);
	gs_page_unmap(page);
	gs_page_unmap(other);
	live_end(&l);
}

/* What one daemon learned, the next one knows by its history's file. */
static void the_next_daemon_knows(void **state)
{
	uint32_t wide = gs_slot_dims(256, 1, 1, 0), square = gs_slot_dims(16, 16, 1, 0), job;
	uint64_t until, known = 0;
	struct gs_page *page;
	char line[160], path[128];
	struct live l;
	int sock, owner;

	(void)state;
	live_begin(&l);
	snprintf(path, sizeof(path), "%s/h.db", l.dir);
	snprintf(line, sizeof(line), "HistoryFile=%s\n", path);
	live_configure(&l, line);
	live_stop(&l, SIGTERM);
	live_start(&l);
	if (live_logged(&l, "without SQLite")) {
		print_message("the history's file: not tried, built without SQLite\n");
		live_end(&l);
		return;
	}
	owner = live_local(&l, SHARES, 0, "low", &job);
	sock = live_hello(&l, job, &page, NULL);
	announce(sock, CONTENT);
	assert_int_equal(time_of(sock, 3, wide), 0);
	run(sock, page, wide);
	/* With its next look at the page. */
	until = gs_clock_ns() + PATIENCE_NS;
	while (!time_of(sock, 3, wide) && gs_clock_ns() < until)
		usleep(1000);
	assert_int_equal(time_of(sock, 3, wide), 2000000);
	close(sock);
	close(owner);
	gs_page_unmap(page);
	until = gs_clock_ns() + PATIENCE_NS;
	while (!live_logged(&l, ": over: ") && gs_clock_ns() < until)
		usleep(1000);

	live_stop(&l, SIGTERM);
	live_start(&l);
	owner = live_local(&l, SHARES, 0, "low", &job);
	sock = live_hello(&l, job, &page, NULL);
	announce(sock, CONTENT);
	/* The helper sends what the file has as soon as it has opened it. */
	until = gs_clock_ns() + PATIENCE_NS;
	while (!known && gs_clock_ns() < until) {
		known = time_of(sock, 3, wide);
		usleep(1000);
	}
	assert_int_equal(known, 2000000);
	assert_int_equal(time_of(sock, 3, square), 0);
	announce(sock, CONTENT + 1);
	assert_int_equal(time_of(sock, 3, wide), 0);
	close(sock);
	close(owner);
	gs_page_unmap(page);
	live_stop(&l, SIGTERM);
	unlink(path);
	live_end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_job_knows),
		cmocka_unit_test(the_next_daemon_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
