/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the live daemon share; see live_util.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "live_util.h"

int live_setup(void **state)
{
	struct live *l = malloc(sizeof(*l));

	live_begin(l);
	*state = l;
	return 0;
}

int live_teardown(void **state)
{
	live_end(*state);
	free(*state);
	return 0;
}

double live_figure(const struct live *l, uint32_t job, const char *key)
{
	char *text = live_query(l, GS_QUERY_REPORT, job);
	json_t *rows = json_loads(text, 0, NULL);
	double v;

	assert_int_equal(json_array_size(rows), 1);
	assert_non_null(json_object_get(json_array_get(rows, 0), key));
	v = json_number_value(json_object_get(json_array_get(rows, 0), key));
	json_decref(rows);
	free(text);
	return v;
}

FILE *live_open_state(const struct live *l, const char *mode)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s.state", l->socket);
	f = fopen(path, mode);
	assert_non_null(f);
	return f;
}

void live_status_gpu(const struct live *l, const char *key, char *buf, size_t size)
{
	char *text = live_query(l, GS_QUERY_STATUS, 0);
	json_t *s = json_loads(text, 0, NULL), *v;

	v = json_object_get(json_array_get(json_object_get(s, "gpus"), 0), key);
	assert_non_null(v);
	if (json_is_string(v))
		snprintf(buf, size, "%s", json_string_value(v));
	else
		snprintf(buf, size, "%lld", (long long)json_integer_value(v));
	json_decref(s);
	free(text);
}

void live_serves(const struct live *l)
{
	free(live_query(l, GS_QUERY_STATUS, 0));
}

void live_await_log(const struct live *l, const char *text)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	while (!live_logged(l, text) && gs_clock_ns() < until)
		usleep(5000);
	assert_int_equal(live_logged(l, text), 1);
}

void live_run_slot(struct gs_page *page, unsigned i)
{
	live_move(page, i, GS_K_TORUN, GS_K_RUNNING);
	gs_page_store(page->slot[i].started, 1);
}

void live_end_slot(struct gs_page *page, unsigned i, uint32_t from)
{
	gs_page_store(page->slot[i].done, gs_page_load(page->slot[i].nt));
	live_move(page, i, from, GS_K_DONE);
}

pid_t live_fork_user(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0 && geteuid() == 0 && (setgid(LIVE_SOMEBODY) < 0 || setuid(LIVE_SOMEBODY) < 0))
		_exit(1);
	return pid;
}

int live_has_failed(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int live_announce(const struct live *l, uint32_t *job)
{
	struct gs_page *page;
	struct gs_msg msg;
	int sock;

	live_local(l, 20, UINT64_C(1) << 20, "low", job);
	sock = live_hello(l, *job, &page, NULL);
	for (uint32_t i = 0; i < LIVE_KERNELS; i++) {
		gs_msg_init(&msg, GS_MSG_KERNEL, 0);
		msg.kernel.number = i;
		snprintf(msg.kernel.name, sizeof(msg.kernel.name), "%0100u", i);
		live_send(sock, &msg, -1);
	}
	live_alloc(sock, 0); /* all are heard */
	return sock;
}

int live_ask(const struct live *l, enum gs_msg_type type, enum gs_query what)
{
	int sock = live_connect(l);

	live_ask_again(sock, type, what);
	return sock;
}

void live_ask_again(int sock, enum gs_msg_type type, enum gs_query what)
{
	struct gs_msg msg;

	gs_msg_init(&msg, type, 1);
	if (type == GS_MSG_QUERY)
		msg.query.what = what;
	live_send(sock, &msg, -1);
}

void live_ask_for_ever(const struct live *l, int reads)
{
	int sock[100];
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	for (int i = 0; i < 100; i++)
		sock[i] = live_connect(l);
	for (;;)
		for (int i = 0; i < 100; i++) {
			char answer[4096];

			while (reads && recv(sock[i], answer, sizeof(answer), MSG_DONTWAIT) > 0)
				;
			for (int j = 0; j < 32; j++)
				if (send(sock[i], &msg, sizeof(msg.header) + msg.header.length,
					 MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
				    errno == EPIPE) {
					/* closed, as its answers were not read in time */
					close(sock[i]);
					sock[i] = live_connect(l);
				}
		}
}
