/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches without a slot, told of by UNTRACKED over raw sockets: what the daemon counts, and whom
 * it believes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "live_util.h"

#define SHARES 10
#define KERNELS 300

struct client {
	struct gs_page *page;
	uint32_t job;
	int own, sock;
};

static void come(const struct live *l, struct client *c)
{
	c->own = live_local(l, SHARES, 0, "low", &c->job);
	c->sock = live_hello(l, c->job, &c->page, NULL);
}

static void go_away(struct client *c)
{
	gs_page_unmap(c->page);
	close(c->sock);
	close(c->own);
}

static void announce(const struct client *c, uint32_t number)
{
	struct gs_msg msg;
	char name[32];

	snprintf(name, sizeof(name), "k%" PRIu32, number);
	gs_msg_init(&msg, GS_MSG_KERNEL, 0);
	msg.kernel.number = number;
	gs_msg_str(msg.kernel.name, sizeof(msg.kernel.name), name);
	live_send(c->sock, &msg, -1);
}

/* `each` launches of each of the kernels from `first` on; `launched`: of all, by now. */
static void tell(int sock, uint32_t first, uint32_t count, uint32_t each, uint64_t launched)
{
	struct gs_msg msg;
	struct gs_untracked untracked[GS_UNTRACKED_MAX];

	gs_msg_init(&msg, GS_MSG_UNTRACKED, 0);
	msg.untracked.launched = launched;
	msg.untracked.count = count;
	for (uint32_t i = 0; i < GS_UNTRACKED_MAX; i++)
		untracked[i] = (struct gs_untracked) { .kernel = first + i, .launches = each };
	memcpy(msg.untracked.kernel, untracked, sizeof(untracked));
	live_send(sock, &msg, -1);
}

/* It answers in turn: what was sent before has been read. */
static void until_read(const struct client *c)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_TIME, 77);
	live_send(c->sock, &msg, -1);
	live_expect(c->sock, &msg, GS_MSG_TIMED, NULL);
}

/* Of the job's kernels: how many have been launched just so often. */
static unsigned kernels_with(const struct live *l, uint32_t job, json_int_t launches)
{
	char *text = live_query(l, GS_QUERY_KERNELS, job);
	json_t *rows = json_loads(text, 0, NULL), *row;
	unsigned n = 0;
	size_t i;

	assert_non_null(rows);
	json_array_foreach (json_object_get(rows, "kernels"), i, row)
		n += json_integer_value(json_object_get(row, "launches")) == launches;
	json_decref(rows);
	free(text);
	return n;
}

static void each_is_counted_once(void **state)
{
	struct live *l = *state;
	struct client c;

	come(l, &c);
	for (uint32_t i = 0; i < KERNELS; i++)
		announce(&c, i);
	/* More kernels than a message has room for: two, which say the same of all. */
	tell(c.sock, 0, GS_UNTRACKED_MAX, 7, KERNELS * 7);
	tell(c.sock, GS_UNTRACKED_MAX, KERNELS - GS_UNTRACKED_MAX, 7, KERNELS * 7);
	until_read(&c);
	assert_true(live_figure(l, c.job, "kernels") == KERNELS * 7);
	assert_int_equal(kernels_with(l, c.job, 7), KERNELS);
	/* Of nothing new: as a shim does for a daemon that it has come back to. */
	tell(c.sock, 0, 0, 0, KERNELS * 7);
	tell(c.sock, 0, 1, 3, KERNELS * 7 + 3);
	until_read(&c);
	assert_true(live_figure(l, c.job, "kernels") == KERNELS * 7 + 3);
	assert_int_equal(kernels_with(l, c.job, 7), KERNELS - 1);
	assert_int_equal(kernels_with(l, c.job, 10), 1);
	go_away(&c);
}

/* Numbers that are nobody's, more entries than there are, more launches than can be, and fewer than
 * before. */
static void what_cannot_be_is_not_believed(void **state)
{
	struct live *l = *state;
	struct client c, other;

	come(l, &c);
	come(l, &other);
	announce(&c, 1);
	announce(&other, 1);
	tell(c.sock, 1, 1, 5, 5);
	tell(c.sock, 100000, GS_UNTRACKED_MAX, 9, 5);
	tell(c.sock, UINT32_MAX - GS_UNTRACKED_MAX, UINT32_MAX, 9, UINT64_MAX);
	tell(c.sock, 1, 0, 9, 2);
	until_read(&c);
	assert_true(live_figure(l, c.job, "kernels") == 5);
	assert_int_equal(kernels_with(l, c.job, 5), 1);
	assert_true(live_figure(l, other.job, "kernels") == 0);
	assert_true(live_figure(l, c.job, "active_ms") == 0);
	go_away(&c);
	go_away(&other);
}

static void nobody_untracked_before_hello(void **state)
{
	struct live *l = *state;
	int sock = live_connect(l);

	tell(sock, 0, 1, 1, 1);
	live_expect_closed(sock);
	assert_true(live_logged(l, "UNTRACKED before HELLO") > 0);
	close(sock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(each_is_counted_once),
		LIVE(what_cannot_be_is_not_believed),
		LIVE(nobody_untracked_before_hello),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
