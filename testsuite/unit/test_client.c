/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client library against answers that gpushared does not give. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/client/client.h"
#include "gpushare/client/job_folder.h"

static _Atomic int asked, may_answer; /* of is_late() */
static char folder[] = "/tmp/test_client.XXXXXX", path[64];

struct answer {
	enum gs_msg_type type;
	int with_page; /* otherwise something else comes along */
};

struct daemon {
	int listens;
	const struct answer *answer; /* the last has type GS_MSG_NONE */
};

/* Answers a HELLO with all of them, and waits for the client to go. */
static void *answers(void *arg)
{
	const struct daemon *d = arg;
	int sock = accept(d->listens, NULL, NULL);
	struct gs_page *page;
	struct gs_msg msg;

	if (gs_msg_recv(sock, &msg, GS_TO_DAEMON, NULL, NULL) != 1)
		abort();
	for (const struct answer *a = d->answer; a->type != GS_MSG_NONE; a++) {
		int fd = a->with_page ? gs_page_create(&page, GS_PAGE_SIZE, NULL) :
					open("/dev/null", O_RDWR | O_CLOEXEC);

		gs_msg_init(&msg, a->type, 1);
		if (fd < 0 || gs_msg_send(sock, &msg, fd) < 0)
			abort();
		close(fd);
		if (a->with_page)
			gs_page_unmap(page);
	}
	shutdown(sock, SHUT_WR);
	while (recv(sock, &msg, sizeof(msg), 0) > 0)
		continue;
	close(sock);
	return NULL;
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int listen_at_path(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(gs_msg_str(address.sun_path, sizeof(address.sun_path), path), 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(sock, 1), 0);
	return sock;
}

/* Returns what the client said to these answers; whatever comes along, no descriptor is left. */
static int connected(const struct answer *answer)
{
	const struct gs_client_options options = { .socket = path, .program = "test" };
	struct daemon d = { .answer = answer };
	unsigned before = open_descriptors();
	struct gs_client *client;
	pthread_t thread;
	int rc;

	d.listens = listen_at_path();
	assert_int_equal(pthread_create(&thread, NULL, answers, &d), 0);
	client = gs_client_create(&options);
	rc = gs_client_connect(client, 0, 20000, NULL, NULL);
	gs_client_destroy(client);
	pthread_join(thread, NULL);
	close(d.listens);
	unlink(path);
	assert_int_equal(open_descriptors(), before);
	return rc;
}

static void test_no_descriptor_is_left(void **state)
{
	static const struct answer waits[] = {
		{ GS_MSG_WAIT, 0 }, { GS_MSG_WAIT, 1 }, { GS_MSG_WELCOME, 1 }, { GS_MSG_NONE, 0 }
	};
	static const struct answer ends[] = { { GS_MSG_WAIT, 1 }, { GS_MSG_NONE, 0 } };
	static const struct answer refused[] = { { GS_MSG_REFUSED, 1 }, { GS_MSG_NONE, 0 } };
	static const struct answer no_page[] = { { GS_MSG_WELCOME, 0 }, { GS_MSG_NONE, 0 } };

	(void)state;
	assert_int_equal(connected(waits), 0);
	assert_int_equal(connected(ends), -1);
	assert_int_equal(connected(refused), -1);
	assert_int_equal(connected(no_page), -1);
}

/* Answers an ALLOC only once another thread has been told to end, and another one at once. */
static void *is_late(void *arg)
{
	const struct daemon *d = arg;
	int sock = accept(d->listens, NULL, NULL), fd;
	struct gs_page *page;
	struct gs_msg msg;

	if (gs_msg_recv(sock, &msg, GS_TO_DAEMON, NULL, NULL) != 1)
		abort();
	fd = gs_page_create(&page, GS_PAGE_SIZE, NULL);
	gs_msg_init(&msg, GS_MSG_WELCOME, 1);
	if (fd < 0 || gs_msg_send(sock, &msg, fd) < 0)
		abort();
	while (gs_msg_recv(sock, &msg, GS_TO_DAEMON, NULL, NULL) == 1) {
		uint32_t tag = msg.header.tag;

		atomic_fetch_add(&asked, 1);
		while (!atomic_load(&may_answer))
			usleep(1000);
		gs_msg_init(&msg, GS_MSG_ALLOCATED, tag);
		msg.allocated.granted = 1;
		if (gs_msg_send(sock, &msg, -1) < 0)
			abort();
	}
	gs_page_unmap(page);
	close(fd);
	close(sock);
	return NULL;
}

static void *asks(void *client)
{
	gs_client_alloc(client, 1, NULL, NULL);
	pthread_testcancel();
	return NULL;
}

/* pthread_cancel() while its question is under way: others can ask after it. */
static void test_a_thread_that_is_cancelled(void **state)
{
	const struct gs_client_options options = { .socket = path, .program = "test" };
	struct daemon d;
	struct gs_client *client = gs_client_create(&options);
	pthread_t daemon, thread;
	void *result;

	(void)state;
	d.listens = listen_at_path();
	assert_int_equal(pthread_create(&daemon, NULL, is_late, &d), 0);
	assert_int_equal(gs_client_connect(client, 0, 20000, NULL, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, asks, client), 0);
	while (!atomic_load(&asked))
		usleep(1000);
	assert_int_equal(pthread_cancel(thread), 0);
	usleep(100 * 1000);
	atomic_store(&may_answer, 1);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	alarm(20);
	assert_int_equal(gs_client_alloc(client, 1, NULL, NULL), 1);
	alarm(0);
	gs_client_destroy(client);
	pthread_join(daemon, NULL);
	close(d.listens);
	unlink(path);
}

/* A job's user may have written anything into a file of the user's own: a process of another user
 * does not read it. (Whether it has more rights than its caller the campaign's F8 tries.) */
static void test_a_job_users_file_is_for_that_user(void **unused)
{
	char place[] = "/tmp/test_client.XXXXXX", file[64];
	FILE *f;

	(void)unused;
	assert_non_null(mkdtemp(place));
	snprintf(file, sizeof(file), "%s/environment", place);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	f = gs_job_folder_open_own(place, "environment");
	assert_non_null(f);
	fclose(f);
	if (geteuid() == 0) {
		assert_int_equal(chown(file, 65534, (gid_t)-1), 0);
		assert_null(gs_job_folder_open_own(place, "environment"));
	}
	assert_null(gs_job_folder_open_own(place, "nosuch"));
	assert_null(gs_job_folder_open_own("", "environment"));
	unlink(file);
	rmdir(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_descriptor_is_left),
		cmocka_unit_test(test_a_thread_that_is_cancelled),
		cmocka_unit_test(test_a_job_users_file_is_for_that_user),
	};
	int rc;

	if (!mkdtemp(folder))
		return 99;
	snprintf(path, sizeof(path), "%s/sock", folder);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return rc;
}
