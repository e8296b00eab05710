/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches without a slot, and kernels' variants, told of by UNTRACKED and VARIANT over raw
 * sockets: what the daemon counts and reports, and whom it believes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/client/client.h"
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

/* WELCOME says that it takes VARIANT, which an older daemon would close the connection for. */
static void welcome_says_so(void **state)
{
	struct live *l = *state;
	struct gs_client_options options = { .socket = l->socket,
					     .step_id = UINT32_MAX,
					     .program = "welcomed" };
	struct gs_client *client;
	struct gs_error err;
	int own = live_local(l, SHARES, 0, "low", &options.job_id);

	client = gs_client_create(&options);
	assert_int_equal(gs_client_connect(client, 0, 5000, NULL, &err), 0);
	assert_int_equal(gs_client_grant(client).variants, 1);
	gs_client_destroy(client);
	close(own);
}

/* ---- a daemon of an earlier version, or of this one ---- */

struct older {
	int listening;
	uint32_t variants; /* what its WELCOME says */
	uint32_t got;      /* the type of what came first after HELLO */
};

static void *serve_one(void *arg)
{
	struct older *o = arg;
	int sock = accept(o->listening, NULL, NULL), fd = -1;
	struct gs_page *shared = NULL;
	struct gs_msg msg;

	if (gs_msg_recv(sock, &msg, GS_TO_DAEMON, NULL, NULL) == 1) {
		gs_msg_init(&msg, GS_MSG_WELCOME, msg.header.tag);
		msg.welcome.variants = o->variants;
		msg.welcome.untracked = 1;
		fd = gs_page_create(&shared, GS_PAGE_SIZE, NULL);
		gs_msg_send(sock, &msg, fd);
		if (gs_msg_recv(sock, &msg, GS_TO_DAEMON, NULL, NULL) == 1)
			o->got = msg.header.type;
		gs_page_unmap(shared);
		close(fd);
	}
	close(sock);
	return NULL;
}

/* A daemon gets VARIANT only if it has said that it takes it. */
static void an_older_daemon_gets_none(void **unused)
{
	(void)unused;
	for (uint32_t variants = 0; variants < 2; variants++) {
		struct older o = { socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), variants, 0 };
		struct sockaddr_un at = { .sun_family = AF_UNIX };
		struct gs_client_options options = { .socket = at.sun_path, .program = "newer" };
		struct gs_msg_variant is = { .number = 1 };
		struct gs_untracked none = { 0 };
		struct gs_client *client;
		struct gs_error err;
		pthread_t thread;

		snprintf(at.sun_path, sizeof(at.sun_path), "gpushare-older.%d", (int)getpid());
		unlink(at.sun_path);
		assert_int_equal(bind(o.listening, (struct sockaddr *)&at, sizeof(at)), 0);
		assert_int_equal(listen(o.listening, 1), 0);
		assert_int_equal(pthread_create(&thread, NULL, serve_one, &o), 0);
		client = gs_client_create(&options);
		assert_int_equal(gs_client_connect(client, 0, 5000, NULL, &err), 0);
		assert_int_equal(gs_client_variant(client, &is), variants ? 0 : -1);
		/* The newer one has its message by now, and may have closed the connection. */
		if (!variants)
			assert_int_equal(gs_client_untracked(client, 0, &none, 0), 0);
		pthread_join(thread, NULL);
		assert_int_equal(o.got, variants ? GS_MSG_VARIANT : GS_MSG_UNTRACKED);
		gs_client_destroy(client);
		close(o.listening);
		unlink(at.sun_path);
	}
}

static const struct gs_msg_variant variant = { .number = 1,
					       .made_of = GS_MADE_OF_MACHINE_CODE,
					       .since = 1700000000,
					       .written_ps = 4000,
					       .variant_ps = 4100,
					       .blocks = 330,
					       .block_ns = 12500,
					       .at_once = 132 };

static void tell_variant(int sock, const struct gs_msg_variant *is)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_VARIANT, 0);
	msg.variant = *is;
	live_send(sock, &msg, -1);
}

static void a_variant_is_reported(void **state)
{
	struct live *l = *state;
	struct gs_msg_variant of_nobody = variant;
	struct client c;
	json_t *rows, *row;
	char *text;

	come(l, &c);
	announce(&c, 1);
	tell_variant(c.sock, &variant);
	for (uint32_t i = 0; i < 3; i++) {
		of_nobody.number = ((const uint32_t[]) { 2, 4096, UINT32_MAX })[i];
		tell_variant(c.sock, &of_nobody);
	}
	until_read(&c);
	text = live_query(l, GS_QUERY_KERNELS, c.job);
	rows = json_loads(text, 0, NULL);
	free(text);
	assert_int_equal(json_array_size(json_object_get(rows, "kernels")), 1);
	row = json_array_get(json_object_get(rows, "kernels"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "made_of")), "machine code");
	assert_int_equal(json_integer_value(json_object_get(row, "since")), 1700000000);
	assert_true(json_number_value(json_object_get(row, "cost")) == 1.025);
	assert_true(json_number_value(json_object_get(row, "block_us")) == 12.5);
	assert_true(json_number_value(json_object_get(row, "waves")) == 2.5);
	json_decref(rows);
	go_away(&c);
}

static void variants_that_cannot_be(void **state)
{
	struct live *l = *state;
	int sock = live_connect(l);
	struct client c;

	tell_variant(sock, &variant);
	live_expect_closed(sock);
	assert_true(live_logged(l, "VARIANT before HELLO") > 0);
	close(sock);
	for (int i = 0; i < 2; i++) {
		struct gs_msg_variant is = variant;

		if (i)
			is.since = GS_SINCE_MAX + 1;
		else
			is.made_of = GS_MADE_OF_COUNT;
		come(l, &c);
		announce(&c, 1);
		tell_variant(c.sock, &is);
		live_expect_closed(c.sock);
		go_away(&c);
	}
	live_serves(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(each_is_counted_once),
		LIVE(what_cannot_be_is_not_believed),
		LIVE(nobody_untracked_before_hello),
		LIVE(welcome_says_so),
		cmocka_unit_test(an_older_daemon_gets_none),
		LIVE(a_variant_is_reported),
		LIVE(variants_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
