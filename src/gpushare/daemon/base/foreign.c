/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors that users pass, and how to get rid of them; see foreign.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/proto/page.h"

/* So many sockets wait at most for the next sweep. */
#define BATCH 64
/* Processes that end at once, but for those that close what a user's FUSE file system holds. */
#define CLOSING_MAX 16
/* Processes that look have a copy of the descriptor, and the kernel asks its file system when they
 * end: they are held for as long as that does not answer. A user has so many that are held. */
#define INSPECTING_MAX 256
#define HELD_PER_USER 4
/* How long the kernel may take to answer what does not wait for anybody. */
#define VERDICT_MS 1000
/* What the wait for a verdict counts at most: longer takes a busy node, and the programs of a user
 * who has many come back together when the daemon is started anew. */
#define VERDICT_COUNTS_NS (GS_NS_PER_MS / 2)

static struct {
	int *fd;
	size_t n, room;
} waiting;

struct child {
	pid_t pid;  /* 0: none */
	uid_t user; /* of one that looks: whom it counts to while it has not ended; 0: nobody */
};
static struct child closing[CLOSING_MAX], inspecting[INSPECTING_MAX];

/* To close a connection takes two for a moment. */
#define SPARES 2
static int spare[SPARES] = { -1, -1 };

void gs_foreign_keep_spares(void)
{
	for (size_t i = 0; i < SPARES; i++)
		if (spare[i] < 0)
			spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* After a call failed: 1 if it may succeed now, since there was no descriptor left. */
static int use_spares(void)
{
	if (errno != EMFILE)
		return 0;
	for (size_t i = 0; i < SPARES; i++) {
		if (spare[i] >= 0)
			close(spare[i]);
		spare[i] = -1;
	}
	return 1;
}

static int make_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) < 0 && (!use_spares() || pipe2(ends, O_CLOEXEC) < 0) ? -1 : 0;
}

int gs_foreign_comes(int sock, struct gs_msg_header *header)
{
	struct iovec iov = { .iov_base = header, .iov_len = sizeof(*header) };
	/* No room for descriptors: none is installed, and the message keeps its own. */
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	do
		n = recvmsg(sock, &mh, MSG_PEEK | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(*header))
		memset(header, 0, sizeof(*header));
	return n < 0 ? -1 : (mh.msg_flags & MSG_CTRUNC) != 0;
}

/* A free one of n places, those aside whose process has ended; NULL: all are taken. *held: how many
 * are the user's. */
static struct child *place(struct child *all, size_t n, uid_t user, unsigned *held)
{
	struct child *free_one = NULL;

	*held = 0;
	for (struct child *c = all; c < all + n; c++) {
		if (c->pid && waitpid(c->pid, NULL, WNOHANG) != 0)
			c->pid = 0;
		if (!c->pid)
			free_one = c;
		else
			*held += c->user == user;
	}
	return free_one;
}

/* ---- in a child: only what may be called after fork() of a process with threads */

/* Whatever holds this process up must not hold the daemon's lock and sockets.  kept ascends. */
static void keep_only(const int *kept, size_t n)
{
	int from = 0;

	for (size_t i = 0; i < n; i++) {
		gs_child_close(from, kept[i] - 1);
		from = kept[i] + 1;
	}
	gs_child_close(from, INT_MAX);
}

/* One descriptor alone, and one that may be a page: no file system of a user's has seals. */
static char is_one_page(int sock)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space) };
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &mh, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0 ||
	    mh.msg_flags & MSG_CTRUNC)
		return 0;
	c = CMSG_FIRSTHDR(&mh);
	/* There may be room for two, as the kernel rounds up. */
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return 0;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return (char)gs_page_is_sealed(fd);
}

/* ---- in the daemon */

/* Forks a child, with a pipe's end, that has the place from then on: 1 in the child. */
static int begin_child(struct child *at, uid_t user, int ends[2])
{
	pid_t pid;

	if (make_pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		return 1;
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		gs_foreign_keep_spares();
		return -1;
	}
	*at = (struct child) { pid, user };
	return 0;
}

/* What the child says; 0, too, if it says nothing in time, however many signals come meanwhile. */
static char verdict_from(int from)
{
	uint64_t until = gs_clock_ns() + VERDICT_MS * GS_NS_PER_MS;
	struct pollfd p = { .fd = from, .events = POLLIN };
	char verdict;
	ssize_t n;
	int rc;

	do {
		uint64_t now = gs_clock_ns();

		rc = poll(&p, 1, now < until ? (int)((until - now) / GS_NS_PER_MS) + 1 : 0);
	} while (rc < 0 && errno == EINTR);
	if (rc != 1)
		return 0;
	do
		n = read(from, &verdict, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? verdict : 0;
}

/* Forks the process that looks. Returns its place, or NULL. In the child it does not return. */
static struct child *begin_inspection(int sock, uid_t user, int ends[2])
{
	unsigned held;
	struct child *at = place(inspecting, INSPECTING_MAX, user, &held);
	int rc;

	if (!at || (user && held >= HELD_PER_USER))
		return NULL;
	rc = begin_child(at, user, ends);
	if (rc == 1) {
		int kept[2] = { sock < ends[1] ? sock : ends[1], sock < ends[1] ? ends[1] : sock };
		char verdict;

		keep_only(kept, 2);
		verdict = is_one_page(sock);
		_exit(write(ends[1], &verdict, 1) == 1 ? 0 : 1);
	}
	return rc < 0 ? NULL : at;
}

int gs_foreign_is_page(int sock, uid_t user)
{
	uint64_t begun, took;
	char verdict;
	int ends[2];
	struct child *at = begin_inspection(sock, user, ends);

	if (!at) {
		gs_complain(
			"cannot look at the page that a client brings%s",
			user ? ": what its user's programs passed before holds up the processes "
			       "that looked at it" :
			       "");
		return 0;
	}
	close(ends[1]);
	begun = gs_clock_ns();
	verdict = verdict_from(ends[0]);
	took = gs_clock_ns() - begun;
	close(ends[0]);
	/* Nothing holds one that has seen a page, and many of a user's programs may come back. */
	if (verdict)
		at->user = 0;
	gs_foreign_keep_spares();
	gs_user_waited(took < VERDICT_COUNTS_NS ? took : VERDICT_COUNTS_NS);
	return verdict;
}

/* Descriptors in the socket's queue; -1: this kernel, before 5.9, does not tell. */
static int held_in(int sock)
{
	char path[64], line[128];
	int n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", sock);
	f = fopen(path, "re");
	if (!f && use_spares())
		f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "scm_fds: %d", &n) == 1)
			break;
	if (f)
		fclose(f);
	gs_foreign_keep_spares(); /* before others are accepted */
	return n;
}

void gs_foreign_close(int sock)
{
	/* From here on nothing more is sent to it. */
	shutdown(sock, SHUT_RDWR);
	if (held_in(sock) == 0) {
		close(sock);
		return;
	}
	if (waiting.n + 1 >= waiting.room) { /* and one more: see until_alone() */
		size_t room = waiting.room ? 2 * waiting.room : BATCH;
		int *more = realloc(waiting.fd, room * sizeof(*more));

		if (!more) {
			close(sock);
			return;
		}
		waiting.fd = more;
		waiting.room = room;
	}
	waiting.fd[waiting.n++] = sock;
	if (waiting.n >= BATCH)
		gs_foreign_sweep();
}

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* In a child: stay until nobody else has the sockets, then end, which closes them. */
static void until_alone(int ends[2])
{
	size_t at = waiting.n;
	char c;

	for (; at && waiting.fd[at - 1] > ends[0]; at--)
		waiting.fd[at] = waiting.fd[at - 1];
	waiting.fd[at] = ends[0];
	keep_only(waiting.fd, waiting.n + 1);
	while (read(ends[0], &c, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

void gs_foreign_sweep(void)
{
	struct child *at;
	unsigned held;
	int ends[2], rc;

	/* those that have ended are to be gone */
	place(inspecting, INSPECTING_MAX, 0, &held);
	at = place(closing, CLOSING_MAX, 0, &held);
	if (!waiting.n)
		return;
	qsort(waiting.fd, waiting.n, sizeof(*waiting.fd), ascending);
	rc = at ? begin_child(at, 0, ends) : -1;
	if (rc == 1)
		until_alone(ends);
	if (rc < 0) {
		gs_complain("%zu connections cannot be closed: what their users passed holds up "
			    "the processes that would",
			    waiting.n);
		return;
	}
	close(ends[0]);
	for (size_t i = 0; i < waiting.n; i++)
		close(waiting.fd[i]);
	waiting.n = 0;
	close(ends[1]);
	gs_foreign_keep_spares();
}
