/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What it costs to look at a descriptor that a user passes is the user's. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/base/foreign.h"
#include "gpushare/daemon/base/users.h"

/* 1: looking at it was counted as all the time that it took. */
static int is_counted(int sock)
{
	uint64_t counted = gs_user_clock_ns(), begun = gs_clock_ns(), took;

	assert_false(gs_foreign_is_page(sock));
	took = gs_clock_ns() - begun;
	return gs_user_clock_ns() - counted >= took;
}

static void test_looking_at_a_page_is_counted(void **unused)
{
	int file = memfd_create("no-page", MFD_CLOEXEC), ends[2], counted = 0;
	struct gs_msg msg;

	(void)unused;
	assert_true(file >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	assert_int_equal(gs_msg_send(ends[0], &msg, file), 0);
	/* Somebody else may have the processor just before it is begun, or after. */
	for (int i = 0; i < 10 && !counted; i++)
		counted = is_counted(ends[1]);
	assert_true(counted);
	close(ends[0]);
	close(ends[1]);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looking_at_a_page_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
