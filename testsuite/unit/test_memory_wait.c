/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of the page that a program brings while its step waits for memory. What
 * memory_wait.c asks of the rest of the daemon is answered here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/memory/memory.h"

#define FEW 64

static int sent, refused;

int gs_connection_send(struct gs_connection *conn, const struct gs_msg *msg, int fd)
{
	(void)conn;
	(void)fd;
	sent = msg->header.type;
	return 0;
}

int gs_connection_refuse(struct gs_connection *conn, uint32_t tag, enum gs_refusal code,
			 const char *fmt, ...)
{
	(void)conn;
	(void)code;
	(void)fmt;
	refused = (int)tag;
	return -1;
}

void gs_connection_close(struct gs_connection *conn)
{
	gs_memory_wait_end(conn);
}

void gs_connection_watch_process(struct gs_connection *conn)
{
	(void)conn;
}

uid_t gs_connection_who_pays(const struct gs_connection *conn)
{
	return conn->uid;
}

void gs_user_log(uid_t uid, const char *fmt, ...)
{
	(void)uid;
	(void)fmt;
}

void gs_memory_why(const struct gs_alloc *alloc, char *buf, size_t size)
{
	(void)alloc;
	(void)size;
	buf[0] = '\0';
}

int gs_memory_poll(const struct gs_alloc *alloc, struct gs_rbdm_view *view)
{
	(void)alloc;
	(void)view;
	return 0;
}

uint64_t gs_memory_available(const struct gs_device *device)
{
	(void)device;
	return 0;
}

void gs_memory_step_soon(struct gs_daemon *d)
{
	(void)d;
}

static int brought;

static int begin(struct gs_connection *conn, const struct gs_msg *hello, int page)
{
	(void)conn;
	assert_int_equal(hello->header.tag, 7);
	assert_true(fcntl(page, F_GETFD) & FD_CLOEXEC);
	brought = page;
	return 0;
}

/* One connection of a step that waits for its memory. */
struct rig {
	struct gs_config config;
	struct gs_daemon d;
	struct gs_alloc alloc;
	struct gs_step step;
	struct gs_connection conn;
};

/* A program brings a page while its step waits for memory. 0: its connection waits, too; -1: it was
 * refused. */
static int waits(struct rig *r)
{
	struct gs_msg hello;

	*r = (struct rig) { .alloc.bytes = 1, .step.alloc = &r->alloc };
	r->d.config = &r->config;
	r->conn = (struct gs_connection) { .d = &r->d, .step = &r->step };
	LIST_INSERT_HEAD(&r->d.conns, &r->conn, link);
	sent = refused = 0;
	brought = -1;
	gs_msg_init(&hello, GS_MSG_HELLO, 7);
	return gs_memory_wait(&r->conn, &hello, STDIN_FILENO, begin);
}

static void test_it_is_kept_until_there_is_memory(void **unused)
{
	struct rig r;

	(void)unused;
	assert_int_equal(waits(&r), 0);
	assert_int_equal(sent, GS_MSG_WAIT);
	gs_memory_welcome(&r.d, &r.alloc);
	assert_true(brought > STDERR_FILENO);
	assert_int_equal(fcntl(brought, F_GETFD), -1);
	assert_null(r.conn.waiter);
}

/* With another page it would go on with the one that it has, and that nobody reads. */
static void test_one_that_cannot_be_kept_is_refused(void **unused)
{
	struct rlimit before, few;
	int more[FEW], n = 0;
	struct rig r;

	(void)unused;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit) { FEW, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < FEW && (more[n] = dup(STDIN_FILENO)) >= 0)
		n++;
	assert_int_equal(errno, EMFILE);
	assert_int_equal(waits(&r), -1);
	while (n--)
		close(more[n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(refused, 7);
	assert_int_equal(sent, 0);
	assert_null(r.conn.waiter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_kept_until_there_is_memory),
		cmocka_unit_test(test_one_that_cannot_be_kept_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
