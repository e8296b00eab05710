/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The readiness pipe and the pid file; see daemonize.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/daemonize.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The first byte on the pipe; after a failure the reason follows. */
#define READY 'r'
#define FAILED 'f'

static void parent(int fd)
{
	char text[GS_ERROR_TEXT_MAX + 1];
	ssize_t n, len = 0;

	while (len < (ssize_t)sizeof(text) - 1) {
		n = read(fd, text + len, sizeof(text) - 1 - (size_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += n;
	}
	text[len] = '\0';
	if (len >= 1 && text[0] == READY)
		_exit(0);
	fprintf(stderr, "gpushared: %s\n", len > 1 ? text + 1 : "died before it could serve");
	_exit(1);
}

int gs_daemonize(struct gs_error *err)
{
	int ends[2], null;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return gs_fail_errno(err, "cannot make a pipe");
	pid = fork();
	if (pid < 0)
		return gs_fail_errno(err, "cannot fork");
	if (pid > 0) {
		close(ends[1]);
		parent(ends[0]);
	}
	close(ends[0]);
	setsid();
	/* Standard error stays open until the daemon is ready, since it may be the log. */
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (null > STDERR_FILENO)
			close(null);
	}
	if (chdir("/") < 0)
		return gs_fail_errno(err, "cannot change to /");
	return ends[1];
}

static void say(int fd, char what, const char *text)
{
	char word[GS_ERROR_TEXT_MAX + 1];
	int n = snprintf(word, sizeof(word), "%c%s", what, text);

	if (n >= (int)sizeof(word))
		n = (int)sizeof(word) - 1;
	if (write(fd, word, (size_t)n) < 0) { /* the parent does not wait any more */
	}
	close(fd);
}

/* As sd_notify(3) describes: one datagram, to a path or to an abstract name after a @. */
static void notify_manager(void)
{
	static const char word[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t length = path ? strlen(path) : 0;
	int sock;

	if (length < 2 || length >= sizeof(addr.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(addr.sun_path, path, length);
	if (*path == '@')
		addr.sun_path[0] = '\0';
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return;
	if (sendto(sock, word, strlen(word), MSG_NOSIGNAL, (struct sockaddr *)&addr,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		fprintf(stderr, "gpushared: cannot tell %s: %s\n", path, strerror(errno));
	close(sock);
}

void gs_daemon_ready(int ready_fd)
{
	if (ready_fd >= 0)
		say(ready_fd, READY, "");
	else
		notify_manager();
}

void gs_daemon_failed(int ready_fd, const char *reason)
{
	if (ready_fd >= 0)
		say(ready_fd, FAILED, reason);
	else
		fprintf(stderr, "gpushared: %s\n", reason);
}

int gs_pid_file_write(const char *path, struct gs_error *err)
{
	FILE *f;
	int fd;

	if (!*path)
		return 0;
	unlink(path); /* left by a dead daemon: the lock shows that no other is alive */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return gs_fail_errno(err, "cannot write %s", path);
	fprintf(f, "%d\n", (int)getpid());
	if (fclose(f) != 0)
		return gs_fail_errno(err, "cannot write %s", path);
	return 0;
}

void gs_pid_file_remove(const char *path)
{
	if (*path)
		unlink(path);
}
