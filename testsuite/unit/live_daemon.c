/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared for the tests; see live_daemon.h. */
#define _GNU_SOURCE
#include "live_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"

/* Only what hangs is given up: the machine may be busy. */
#define PATIENCE_S 20
#define PATIENCE_NS (PATIENCE_S * GS_NS_PER_S)

static const char *program(void)
{
	const char *path = getenv("GPUSHARED");

	return path ? path : "./gpushared";
}

void live_begin(struct live *l)
{
	const char *tmp = getenv("TMPDIR");

	memset(l, 0, sizeof(*l));
	/* Short, whatever TMPDIR is: a socket's path has 107 bytes. */
	snprintf(l->dir, sizeof(l->dir), "%s/gpushared-XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(l->dir));
	assert_int_equal(chmod(l->dir, 0755), 0);
	snprintf(l->socket, sizeof(l->socket), "%s/g.sock", l->dir);
	snprintf(l->conf, sizeof(l->conf), "%s/g.conf", l->dir);
	snprintf(l->log, sizeof(l->log), "%s/g.log", l->dir);
	snprintf(l->pid_file, sizeof(l->pid_file), "%s/g.pid", l->dir);
	/* The daemon leaves its parent: it becomes our child again. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	live_configure(l, "");
	live_start(l);
}

void live_end(struct live *l)
{
	static const char *const files[] = {
		"g.conf",        "g.log",       "g.sock.state",
		"g.sock",        "g.sock.lock", "g.sock.key",
		"g.mounts/plan", "g.pid",       "g.sock.state.corrupt"
	};
	char path[128];

	if (l->pid)
		live_stop(l, SIGTERM);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", l->dir, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/g.mounts/job", l->dir);
	rmdir(path); /* there if the machine has a driver */
	snprintf(path, sizeof(path), "%s/g.mounts", l->dir);
	rmdir(path);
	assert_int_equal(rmdir(l->dir), 0);
}

void live_configure(const struct live *l, const char *extra)
{
	FILE *f = fopen(l->conf, "w");

	assert_non_null(f);
	fprintf(f,
		"Socket=%s\nPidFile=%s\nLogFile=%s\nReportToSlurm=no\nAllowLocal=yes\n"
		"EvictDeadline=30s\nGpu=0 Memory=1000M\nPartition=high Priority=10\n%s%s%s",
		l->socket, l->pid_file, l->log,
		strstr(extra, "PolicyParameters=") ? "" : "PolicyParameters=leave_within=1s\n",
		extra, strstr(extra, "VariantMin=") ? "" : "VariantMin=0\n");
	assert_int_equal(fclose(f), 0);
}

int live_run(const char *conf, char *said, size_t size)
{
	int ends[2], status;
	ssize_t n, len = 0;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program(), "gpushared", "--config", conf, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while (len < (ssize_t)size - 1 &&
	       (n = read(ends[0], said + len, size - 1 - (size_t)len)) > 0)
		len += n;
	said[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void live_start(struct live *l)
{
	char said[512];
	FILE *f;
	int rc = live_run(l->conf, said, sizeof(said));

	if (rc != 0)
		print_message("gpushared: status %d: %s\n", rc, said);
	assert_int_equal(rc, 0);
	f = fopen(l->pid_file, "r"); /* written before it is ready */
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &l->pid), 1);
	fclose(f);
}

int live_stop(struct live *l, int sig)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;
	int status = 0;
	pid_t got;

	assert_int_equal(kill(l->pid, sig), 0);
	while ((got = waitpid(l->pid, &status, WNOHANG)) == 0 && gs_clock_ns() < until)
		usleep(2000);
	assert_int_equal(got, l->pid);
	l->pid = 0;
	return status;
}

unsigned live_logged(const struct live *l, const char *text)
{
	return live_lines(l->log, text);
}

unsigned live_lines(const char *path, const char *text)
{
	char line[2048];
	unsigned n = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

int live_connect(const struct live *l)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval tv = { PATIENCE_S, 0 };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(sock >= 0);
	memcpy(addr.sun_path, l->socket, strlen(l->socket));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	assert_int_equal(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

void live_send(int sock, const struct gs_msg *msg, int fd)
{
	assert_int_equal(gs_msg_send(sock, msg, fd), 0);
}

void live_expect(int sock, struct gs_msg *msg, enum gs_msg_type type, int *fd)
{
	struct gs_error err = { "closed" };
	int rc = gs_msg_recv(sock, msg, GS_FROM_DAEMON, fd, &err);

	/* A step that reserves is on its way: what it waits for comes next. */
	if (rc == 1 && msg->header.type == GS_MSG_WAIT && type != GS_MSG_WAIT)
		rc = gs_msg_recv(sock, msg, GS_FROM_DAEMON, fd, &err);
	if (rc != 1)
		print_message("no answer: %s\n", err.text);
	assert_int_equal(rc, 1);
	if (msg->header.type != type && msg->header.type == GS_MSG_REFUSED)
		print_message("refused: %s\n", msg->refused.reason);
	assert_string_equal(gs_msg_name(msg->header.type), gs_msg_name(type));
}

void live_expect_closed(int sock)
{
	char buf[16384];
	ssize_t n;

	while ((n = recv(sock, buf, sizeof(buf), 0)) > 0)
		;
	assert_true(n == 0 || errno == ECONNRESET);
	close(sock);
}

int live_local(const struct live *l, uint32_t shares, uint64_t memory, const char *partition,
	       uint32_t *job)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = shares;
	msg.local.memory = memory;
	gs_msg_str(msg.local.partition, sizeof(msg.local.partition), partition);
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_REGISTERED, NULL);
	*job = msg.registered.job_id;
	return sock;
}

static void hello(int sock, uint32_t job)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello.job_id = job;
	msg.hello.step_id = 0xffffffffu;
	msg.hello.copies = 1;
	gs_msg_str(msg.hello.program, sizeof(msg.hello.program), "test");
	live_send(sock, &msg, -1);
}

int live_hello(const struct live *l, uint32_t job, struct gs_page **page, int *page_fd)
{
	int sock = live_connect(l), fd;
	struct gs_error err;
	struct gs_msg msg;

	hello(sock, job);
	live_expect(sock, &msg, GS_MSG_WELCOME, &fd);
	assert_true(fd >= 0);
	assert_int_equal(gs_page_map(fd, page, &err), 0);
	if (page_fd)
		*page_fd = fd;
	else
		close(fd);
	return sock;
}

uint32_t live_hello_refused(const struct live *l, uint32_t job)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	hello(sock, job);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	live_expect_closed(sock);
	return msg.refused.code;
}

void live_doorbell(int sock)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_DOORBELL, 0);
	live_send(sock, &msg, -1);
}

struct gs_msg_allocated live_alloc(int sock, uint64_t bytes)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_ALLOC, 77);
	msg.alloc.bytes = bytes;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_ALLOCATED, NULL);
	assert_int_equal(msg.header.tag, 77);
	return msg.allocated;
}

char *live_query(const struct live *l, enum gs_query what, uint32_t job)
{
	int sock = live_connect(l);
	char *text = calloc(1, 1), *grown;
	size_t len = 0;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_QUERY, 3);
	msg.query.what = what;
	msg.query.job_id = job;
	msg.query.json = 1;
	live_send(sock, &msg, -1);
	do {
		live_expect(sock, &msg, GS_MSG_TEXT, NULL);
		assert_true(msg.text.length <= sizeof(msg.text.text));
		grown = realloc(text, len + msg.text.length + 1);
		assert_non_null(grown);
		text = grown;
		memcpy(text + len, msg.text.text, msg.text.length);
		len += msg.text.length;
		text[len] = '\0';
	} while (msg.text.more);
	close(sock);
	return text;
}

void live_move(struct gs_page *page, unsigned i, uint32_t from, uint32_t to)
{
	assert_true(gs_launch_state_writers(from, to) & (GS_BY_CLIENT | GS_BY_GPU));
	assert_true(gs_slot_move(&page->slot[i], from, to));
}

void live_launch(int sock, struct gs_page *page, unsigned i, uint64_t seq)
{
	struct gs_slot *s = &page->slot[i];

	gs_page_store(s->started, 0);
	gs_page_store(s->flags, GS_SLOT_EVICTABLE);
	gs_page_store(s->nt, 1000);
	gs_page_store(s->done, 0);
	gs_page_store(s->alone_ns, 50 * GS_NS_PER_MS);
	gs_page_store(s->leave_ns, 500 * GS_NS_PER_MS); /* the next client waits for that */
	gs_page_store(s->seq, seq);
	if (gs_page_load(page->grant)) {
		live_move(page, i, GS_K_PREP, GS_K_RUNNING);
		gs_page_store(s->started, 1);
		return;
	}
	live_move(page, i, GS_K_PREP, GS_K_READY);
	live_doorbell(sock);
}

void live_await(struct gs_page *page, unsigned i, uint32_t state)
{
	uint64_t until = gs_clock_ns() + PATIENCE_NS;

	while (gs_page_load(page->slot[i].state) != state && gs_clock_ns() < until) {
		uint32_t doorbell = gs_page_load(page->doorbell);

		gs_page_store(page->heard, doorbell);
		gs_page_wait(page, doorbell, GS_NS_PER_MS);
	}
	assert_string_equal(gs_launch_state_name(gs_page_load(page->slot[i].state)),
			    gs_launch_state_name(state));
}
