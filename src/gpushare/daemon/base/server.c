/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening and accepting; see server.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/foreign.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/users.h"

#define CLIENTS_MAX 1024
#define CLIENTS_PER_UID 128 /* root, who registers the steps, is not limited */
/* A user who has fewer connections than this is served even when others have CLIENTS_MAX. */
#define CLIENTS_FOR_EACH 16
/* From then on only users who have a step here get more: one person may have 65,536 other user
 * numbers for user namespaces (/etc/subuid), each of which has CLIENTS_FOR_EACH. */
#define CLIENTS_OF_STRANGERS 4096
#define BACKLOG 128
/* What others than root may have of the loop's time for connecting: a sixth, and 1 ms at once.
 * Who connects then waits in the backlog, root as well, so the pauses are short. */
#define ACCEPT_PART 6
#define ACCEPT_AT_ONCE_NS GS_NS_PER_MS
#define ACCEPTS_PER_STEP 16
/* How long another daemon may take to end, and how often to check for that. */
#define LOCK_PATIENCE_NS (500 * GS_NS_PER_MS)
#define LOCK_PAUSE_NS (10 * GS_NS_PER_MS)

struct gs_server {
	int lock_fd; /* held while this daemon owns the socket */
	int listen_fd;
	int abstract_fd; /* the same path as an abstract address, for other mount namespaces */
	struct event *accept, *accept_abstract;
	struct event *accept_again; /* ends a pause */
	/* what connecting has had of the loop's time, but for what is forgiven, as of then */
	uint64_t connecting_ns, since_ns;
};

static int lock_path(const struct gs_daemon *d, char *path, size_t size)
{
	return snprintf(path, size, "%s.lock", d->config->socket) < (int)size ? 0 : -1;
}

/* Makes the socket's folder, since /run is empty after a boot. */
static void make_folder(const char *socket)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", socket);
	slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = '\0';
		if (mkdir(folder, 0755) == 0)
			gs_log(GS_LOG_INFO, "made the folder %s", folder);
	}
}

/* Is the locked file still at that path? A daemon that is ending may have removed it, and then the
 * lock is worthless. */
static int still_there(int fd, const char *path)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
}

/*
 * Waits for a daemon that was killed a moment ago to end, or for a helper that it had just forked.
 */
static int lock_soon(int fd)
{
	const struct timespec pause = { 0, LOCK_PAUSE_NS };
	uint64_t until = gs_clock_ns() + LOCK_PATIENCE_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || gs_clock_ns() > until)
			return -1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int take_lock(struct gs_daemon *d, struct gs_error *err)
{
	char path[512];
	int fd;

	if (lock_path(d, path, sizeof(path)) < 0)
		return gs_fail(err, "the socket's path is too long");
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return gs_fail_errno(err, "cannot open %s", path);
		if (lock_soon(fd) < 0)
			break;
		if (still_there(fd, path)) {
			d->server->lock_fd = fd;
			return 0;
		}
		close(fd);
	}
	if (errno == EWOULDBLOCK)
		gs_fail(err, "another gpushared serves %s", d->config->socket);
	else
		gs_fail_errno(err, "cannot lock %s", path);
	close(fd);
	return -1;
}

static int bind_socket(struct gs_daemon *d, struct gs_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = d->config->socket;
	struct stat st;
	mode_t mask;
	int rc;

	if (strlen(path) >= sizeof(addr.sun_path))
		return gs_fail(err, "the socket's path is longer than %zu bytes: %s",
			       sizeof(addr.sun_path) - 1, path);
	strcpy(addr.sun_path, path);
	/* This daemon has the lock, so an existing socket belongs to a dead daemon. */
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return gs_fail(
				err,
				"%s exists and is not a socket; remove it or change Socket=", path);
		if (unlink(path) < 0)
			return gs_fail_errno(err, "cannot remove the old %s", path);
	}
	d->server->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->server->listen_fd < 0)
		return gs_fail_errno(err, "cannot make a socket");
	mask = umask(0111); /* mode 0666: the jobs of every user connect */
	rc = bind(d->server->listen_fd, (struct sockaddr *)&addr, sizeof(addr));
	umask(mask);
	if (rc < 0 || listen(d->server->listen_fd, BACKLOG) < 0) {
		gs_fail_errno(err, "cannot listen at %s", path);
		close(d->server->listen_fd);
		d->server->listen_fd = -1;
		return -1;
	}
	return 0;
}

/*
 * A container does not share the daemon's folder, but it shares the network namespace, where the
 * path is known as an abstract address. If somebody else has taken that address, programs in
 * containers refuse to run, so log it.
 */
static void bind_abstract(struct gs_daemon *d)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = d->config->socket;
	socklen_t size = gs_msg_abstract(&addr, path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && size && bind(fd, (struct sockaddr *)&addr, size) == 0 &&
	    listen(fd, BACKLOG) == 0) {
		d->server->abstract_fd = fd;
		return;
	}
	gs_log(GS_LOG_ERROR,
	       "cannot listen at the abstract address @%s, programs in containers are not served: %s",
	       path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Who starts the daemon by hand mostly has 1,024. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= GS_DESCRIPTORS_MOST)
		return;
	limit.rlim_cur =
		limit.rlim_max < GS_DESCRIPTORS_MOST ? limit.rlim_max : GS_DESCRIPTORS_MOST;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int gs_server_listen(struct gs_daemon *d, struct gs_error *err)
{
	d->server = calloc(1, sizeof(*d->server));
	if (!d->server)
		return gs_fail(err, "no memory");
	d->server->lock_fd = d->server->listen_fd = d->server->abstract_fd = -1;
	allow_descriptors();
	gs_foreign_keep_spares();
	make_folder(d->config->socket);
	if (take_lock(d, err) < 0)
		return -1;
	if (bind_socket(d, err) < 0)
		return -1;
	bind_abstract(d);
	return 0;
}

/* Has the user, among so many connections of all, as many as it may have? */
static int has_all(const struct gs_daemon *d, uid_t uid, unsigned all)
{
	return (all >= CLIENTS_MAX && gs_connections_of(d, uid) >= CLIENTS_FOR_EACH) ||
	       (all >= CLIENTS_OF_STRANGERS && !gs_user_has_step(d, uid));
}

/* Closes the socket, or makes it a connection. Returns its user. */
static uid_t admit(struct gs_daemon *d, int fd)
{
	unsigned all = gs_connections_count(d);
	struct ucred cred = { .uid = 0 };
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		gs_foreign_close(fd);
	} else if (cred.uid != 0 && has_all(d, cred.uid, all)) {
		gs_complain("uid %u pid %d: closed: there are %u connections", cred.uid, cred.pid,
			    all);
		gs_foreign_close(fd);
	} else if (cred.uid != 0 && gs_connections_of(d, cred.uid) >= CLIENTS_PER_UID) {
		gs_complain("uid %u pid %d: closed: the user has %u connections", cred.uid,
			    cred.pid, CLIENTS_PER_UID);
		gs_foreign_close(fd);
	} else {
		gs_connection_new(d, fd, cred.uid, cred.pid);
	}
	return cred.uid;
}

/* Closes or takes over the socket. Returns how long that took, ns; 0 for root's. */
static uint64_t connect_one(struct gs_daemon *d, int fd)
{
	uint64_t begun = gs_user_clock_ns();
	uid_t uid = admit(d, fd);

	if (uid == 0)
		return 0;
	begun = gs_user_clock_ns() - begun;
	gs_user_connected(d, uid, begun);
	return begun;
}

/* Who connects and closes without end would have all of the loop's time otherwise: what it is
 * charged with does not keep it from connecting. */
static void pause_if_many(struct gs_server *s, uint64_t took)
{
	uint64_t now = gs_clock_ns(), less = (now - s->since_ns) / ACCEPT_PART, us;
	struct timeval pause;

	s->connecting_ns -= less < s->connecting_ns ? less : s->connecting_ns;
	s->connecting_ns += took;
	s->since_ns = now;
	if (s->connecting_ns < ACCEPT_AT_ONCE_NS)
		return;
	/* A processor that a virtual machine was without counts as well, and is nobody's fault. */
	if (s->connecting_ns > 2 * ACCEPT_AT_ONCE_NS)
		s->connecting_ns = 2 * ACCEPT_AT_ONCE_NS;
	us = s->connecting_ns * ACCEPT_PART / GS_NS_PER_US;
	pause = (struct timeval) { (time_t)(us / 1000000), (suseconds_t)(us % 1000000) };
	if (event_add(s->accept_again, &pause) < 0)
		return;
	event_del(s->accept);
	if (s->accept_abstract)
		event_del(s->accept_abstract);
}

static void on_accept_again(evutil_socket_t sock, short what, void *arg)
{
	static const struct timeval retry = { 0, 100000 };
	struct gs_server *s = arg;

	(void)sock;
	(void)what;
	if (event_add(s->accept, NULL) < 0 ||
	    (s->accept_abstract && event_add(s->accept_abstract, NULL) < 0))
		event_add(s->accept_again, &retry);
}

static void on_accept(evutil_socket_t sock, short what, void *arg)
{
	struct gs_daemon *d = arg;
	uint64_t took = 0;

	(void)what;
	for (int i = 0; i < ACCEPTS_PER_STEP; i++) {
		int fd = accept4(sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			took += connect_one(d, fd);
			continue;
		}
		if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			gs_complain("cannot accept: %s", strerror(errno));
		break;
	}
	pause_if_many(d->server, took);
}

/* An event that accepts; NULL: no memory. root's connections go first, so accepting does. */
static struct event *accept_at(struct gs_daemon *d, int sock)
{
	struct event *e = gs_event_new(d->base, sock, EV_READ | EV_PERSIST, on_accept, d);

	if (!e)
		return NULL;
	event_priority_set(e, GS_EVENT_ROOT);
	if (event_add(e, NULL) == 0)
		return e;
	gs_event_free(e);
	return NULL;
}

int gs_server_start(struct gs_daemon *d, struct gs_error *err)
{
	d->server->accept_again = gs_event_new(d->base, -1, 0, on_accept_again, d->server);
	d->server->accept = accept_at(d, d->server->listen_fd);
	if (!d->server->accept || !d->server->accept_again)
		return gs_fail(err, "cannot watch the socket");
	event_priority_set(d->server->accept_again, GS_EVENT_ROOT);
	if (d->server->abstract_fd < 0)
		return 0;
	d->server->accept_abstract = accept_at(d, d->server->abstract_fd);
	if (!d->server->accept_abstract)
		return gs_fail(err, "cannot watch the abstract socket");
	return 0;
}

void gs_server_fini(struct gs_daemon *d)
{
	struct gs_connection *conn;
	char path[512];

	if (!d->server)
		return;
	gs_event_free(d->server->accept);
	gs_event_free(d->server->accept_abstract);
	gs_event_free(d->server->accept_again);
	if (d->server->abstract_fd >= 0)
		gs_foreign_close(d->server->abstract_fd);
	while ((conn = LIST_FIRST(&d->conns))) {
		conn->own = NULL; /* keep the step: it continues under the next daemon */
		gs_connection_close(conn);
	}
	gs_connections_fini();
	if (d->server->listen_fd >= 0) {
		unlink(d->config->socket);
		gs_foreign_close(d->server->listen_fd);
	}
	gs_foreign_sweep();
	/* Remove the file while the lock is held; see still_there(). */
	if (d->server->lock_fd >= 0) {
		if (lock_path(d, path, sizeof(path)) == 0)
			unlink(path);
		close(d->server->lock_fd);
	}
	free(d->server);
	d->server = NULL;
}
