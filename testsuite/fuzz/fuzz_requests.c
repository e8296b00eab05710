/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: sequences of messages of three connections to gpushared, which runs in a thread of
 * this process, so that what it does guides the fuzzer. The first connection is root's and the
 * others are a user's. Behind each sequence the daemon has to answer somebody else, and in the end
 * all connections are closed.
 *
 * The input are records (records.h); their flags say which connection sends it, what comes along,
 * and whether the answers are read first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpushare/proto/page.h"

#include "records.h"

#define PATIENCE_MS 60000 /* of a busy machine, and of a user who has had its part of the time */
#define ANSWER_MS 2       /* so long a sequence stops for an answer, which need not come */
#define CONNECTIONS 3
/* gpushared remembers 64 users, and lets one who asks too much wait; so there are more of them. */
#define FIRST_USER 60000
#define USERS 200

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int gpushared_main(int argc, char **argv);

static char folder[90], config[100], where[100];
static uint32_t job; /* of the newest step */

static void must(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	abort();
}

static void remove_folder(void)
{
	static const char *const ends[] = { "conf", "sock", "sock.key", "sock.lock", "sock.state" };
	char path[128];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, ends[i]);
		unlink(path);
	}
	rmdir(folder);
}

static void *daemon_thread(void *arg)
{
	char *argv[] = { "gpushared", "--foreground", "--config", config, NULL };

	(void)arg;
	/* It ends when the fuzzer is told to end. */
	_exit(gpushared_main(4, argv));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *tmp = getenv("TMPDIR");
	pthread_t thread;
	FILE *f;

	(void)argc;
	(void)argv;
	snprintf(folder, sizeof(folder), "%.70s/gsfuzz.XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(folder) && chmod(folder, 0755) == 0, "folder");
	snprintf(config, sizeof(config), "%s/conf", folder);
	snprintf(where, sizeof(where), "%s/sock", folder);
	f = fopen(config, "w");
	must(f != NULL, config);
	fprintf(f,
		"Socket=%s\nLogFile=/dev/null\nReportToSlurm=no\nAllowLocal=yes\nRealTime=no\n"
		"Arbiter=sleep\nMountShim=no\nJobNvml=yes\nMemoryQueue=node\n"
		"Gpu=0 Memory=1G\nGpu=1 Memory=1G\n"
		"Partition=low Priority=1\nPartition=high Priority=9\n",
		where);
	fclose(f);
	atexit(remove_folder);
	must(pthread_create(&thread, NULL, daemon_thread, NULL) == 0, "thread");
	for (int i = 0; access(where, F_OK) < 0; i++) {
		must(i < PATIENCE_MS, "gpushared does not start");
		usleep(1000);
	}
	return 0;
}

static int connect_as(uid_t uid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	gs_msg_str(address.sun_path, sizeof(address.sun_path), where);
	/* The call of the kernel is this thread's alone. */
	if (geteuid() == 0)
		must(syscall(SYS_setresuid, -1, uid, -1) == 0, "user");
	must(sock >= 0 && connect(sock, (struct sockaddr *)&address, sizeof(address)) == 0, where);
	if (uid)
		syscall(SYS_setresuid, -1, 0, -1);
	return sock;
}

/* Reads until the answer of that tag (0: none), until nothing comes for so long, or until the end.
 */
static void drain(int sock, int wait_ms, uint32_t tag)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct gs_msg msg;
	int fd, ready;

	/* The fuzzer's own clock interrupts it. */
	while ((ready = poll(&p, 1, wait_ms)) > 0 || (ready < 0 && errno == EINTR)) {
		if (ready < 0)
			continue;
		if (gs_msg_recv(sock, &msg, GS_FROM_DAEMON, &fd, NULL) != 1)
			return;
		if (fd >= 0)
			close(fd);
		if (msg.header.type == GS_MSG_REGISTERED)
			job = msg.registered.job_id;
		if (tag && msg.header.tag == tag)
			return;
	}
	must(wait_ms < PATIENCE_MS, "gpushared does not answer");
}

static int brought_along(unsigned what)
{
	struct gs_page *page;
	int fd = -1;

	if (what == 1) {
		fd = gs_page_create(&page, GS_PAGE_SIZE, NULL);
		if (fd >= 0)
			gs_page_unmap(page);
	} else if (what == 2) {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	return fd;
}

static void send_record(int sock, struct record *r)
{
	int fd = brought_along(r->flags >> 2 & 3);

	if (r->msg.header.type == GS_MSG_HELLO && !r->msg.hello.job_id)
		r->msg.hello.job_id = job; /* no fuzzer guesses it */
	if (record_send(sock, r, fd) < 0 && errno == EAGAIN) {
		drain(sock, 0, 0);
		record_send(sock, r, fd);
	}
	if (fd >= 0)
		close(fd);
	if ((r->flags & 0x30) == 0x10)
		drain(sock, ANSWER_MS, r->msg.header.tag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned turn;
	struct records all = { data, size, GS_TO_DAEMON };
	uid_t user = FIRST_USER + turn++ % USERS;
	int sock[CONNECTIONS];
	struct gs_msg msg;
	struct record r;

	for (int i = 0; i < CONNECTIONS; i++)
		sock[i] = connect_as(i ? user : 0);
	while (records_next(&all, &r))
		send_record(sock[(r.flags & 3) % CONNECTIONS], &r);
	/* Each is answered, or is closed. */
	gs_msg_init(&msg, GS_MSG_WHERE, 0x80000000u);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct record last = { msg, sizeof(msg.header) + msg.header.length, 0 };

		drain(sock[i], 0, 0);
		if (record_send(sock[i], &last, -1) == 0)
			drain(sock[i], PATIENCE_MS, msg.header.tag);
		close(sock[i]);
	}
	return 0;
}
