/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checking, sending and receiving messages; see msg.h. */
#define _GNU_SOURCE
#include "gpushare/proto/msg.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"

#define MAX_FDS 4
/* How a user namespace shows all users that it does not know (/proc/sys/kernel/overflowuid). */
#define OVERFLOW_UID 65534

static const struct {
	const char *name;
	uint16_t length;
	uint8_t direction;
} types[GS_MSG_COUNT] = {
	[GS_MSG_NONE] = { "?", 0, 0xff },
#define MSG(NAME, lower, dir, fields) \
	[GS_MSG_##NAME] = { #NAME, sizeof(struct gs_msg_##lower), GS_##dir },
#include "gpushare/proto/msg.def"
#undef MSG
};

const char *gs_msg_name(unsigned type)
{
	return type < GS_MSG_COUNT ? types[type].name : "?";
}

void gs_msg_init(struct gs_msg *msg, enum gs_msg_type type, uint32_t tag)
{
	memset(msg, 0, sizeof(*msg));
	msg->header.magic = GS_MSG_MAGIC;
	msg->header.version = GS_MSG_VERSION;
	msg->header.type = (uint16_t)type;
	msg->header.length = types[type].length;
	msg->header.tag = tag;
}

/* Does every string field of the body end within its field? */
static int strings_terminated(const struct gs_msg *msg)
{
	int ok = 1;

	switch (msg->header.type) {
#define U32(f)
#define U64(f)
#define BLOB(f, n)
#define STR(f, n) ok = ok && memchr(body->f, 0, sizeof(body->f)) != NULL;
#define MSG(NAME, name, direction, fields) \
	case GS_MSG_##NAME: { \
		const struct gs_msg_##name *body = &msg->name; \
		(void)body; \
		fields break; \
	}
#include "gpushare/proto/msg.def"
#undef MSG
#undef U32
#undef U64
#undef STR
#undef BLOB
	}
	return ok;
}

int gs_msg_check(const struct gs_msg *msg, size_t bytes, enum gs_msg_direction direction,
		 struct gs_error *err)
{
	const struct gs_msg_header *h = &msg->header;

	if (bytes < sizeof(*h))
		return gs_fail(err, "a packet of %zu bytes is too short", bytes);
	if (h->magic != GS_MSG_MAGIC)
		return gs_fail(err, "wrong magic 0x%04x", h->magic);
	if (h->version != GS_MSG_VERSION)
		return gs_fail(err, "protocol version %u, this is %u", h->version, GS_MSG_VERSION);
	if (h->type == GS_MSG_NONE || h->type >= GS_MSG_COUNT)
		return gs_fail(err, "unknown message type %u", h->type);
	if (types[h->type].direction != direction)
		return gs_fail(err, "%s does not travel this way", gs_msg_name(h->type));
	if (h->length != types[h->type].length || bytes != sizeof(*h) + h->length)
		return gs_fail(err, "%s with %zu bytes", gs_msg_name(h->type), bytes);
	if (!strings_terminated(msg))
		return gs_fail(err, "%s with an unterminated string", gs_msg_name(h->type));
	return 0;
}

int gs_msg_limit(int sock, uint64_t timeout_ns, struct gs_error *err)
{
	uint64_t us = timeout_ns / GS_NS_PER_US + (timeout_ns % GS_NS_PER_US != 0);
	struct timeval limit = { .tv_sec = (time_t)(us / 1000000),
				 .tv_usec = (suseconds_t)(us % 1000000) };

	if (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return gs_fail_errno(err, "cannot limit the wait");
	return 0;
}

/*
 * After a call on the socket that began at `since` was interrupted: may it be made again? Each time
 * it is made its whole limit begins anew, so that with a program's timer it would never be over.
 */
static int may_go_on(int sock, int option, uint64_t since)
{
	struct timeval limit = { 0 };
	socklen_t size = sizeof(limit);
	uint64_t ns;

	if (errno != EINTR)
		return 0;
	getsockopt(sock, SOL_SOCKET, option, &limit, &size);
	ns = (uint64_t)limit.tv_sec * GS_NS_PER_S + (uint64_t)limit.tv_usec * GS_NS_PER_US;
	if (!ns || gs_clock_ns() - since < ns)
		return 1;
	errno = EAGAIN;
	return 0;
}

/* 0, or -1 with errno. */
static int connect_to(int sock, const struct sockaddr_un *address, socklen_t size)
{
	uint64_t since = gs_clock_ns();
	int rc;

	do
		rc = connect(sock, (const struct sockaddr *)address, size);
	while (rc < 0 && may_go_on(sock, SO_SNDTIMEO, since));
	return rc;
}

unsigned gs_msg_abstract(struct sockaddr_un *address, const char *path)
{
	size_t length = strlen(path);

	if (length >= sizeof(address->sun_path))
		return 0;
	address->sun_path[0] = '\0';
	memcpy(address->sun_path + 1, path, length);
	return (unsigned)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* In a user namespace root may look like nobody: then only the number tells. */
static int knows_key(int sock)
{
	const char *key = getenv(GS_KEY_ENV);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	return key && *key && gs_msg_send(sock, &msg, -1) == 0 &&
	       gs_msg_recv(sock, &msg, GS_FROM_DAEMON, NULL, NULL) == 1 &&
	       msg.header.type == GS_MSG_HERE && strtoull(key, NULL, 16) == msg.here.key;
}

static int is_trusted(int sock)
{
	struct ucred other;
	socklen_t size = sizeof(other);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &other, &size) < 0)
		return 0;
	if (other.uid == 0 || (other.uid == geteuid() && other.uid != OVERFLOW_UID))
		return 1;
	return knows_key(sock);
}

/* On the socket that the path did not connect; errno stays that of the path. */
static int connect_abstract(int sock, const char *path, struct gs_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = gs_msg_abstract(&address, path);
	int before = errno;

	if (!size || connect_to(sock, &address, size) < 0) {
		errno = before;
		if (before == EAGAIN)
			return gs_fail(err,
				       "gpushared does not answer at %s: it hangs, or is stopped",
				       path);
		return gs_fail_errno(err, "gpushared does not answer at %s", path);
	}
	if (is_trusted(sock))
		return 0;
	errno = EPERM;
	return gs_fail(
		err, "what answers at the abstract address @%s does not show that it is gpushared",
		path);
}

int gs_msg_connect(const char *path, uint64_t timeout_ns, struct gs_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock;

	if (gs_msg_str(address.sun_path, sizeof(address.sun_path), path) < 0)
		return gs_fail(err, "the socket's path is too long: %s", path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return gs_fail_errno(err, "cannot make a socket for %s", path);
	if (gs_msg_limit(sock, timeout_ns, err) < 0)
		goto fail;
	if (connect_to(sock, &address, sizeof(address)) == 0)
		return sock;
	if (connect_abstract(sock, path, err) == 0)
		return sock;
fail:
	close(sock);
	return -1;
}

int gs_msg_send(int sock, const struct gs_msg *msg, int fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = {
		.iov_base = (void *)(uintptr_t)msg,
		.iov_len = sizeof(msg->header) + msg->header.length,
	};
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	uint64_t since = gs_clock_ns();
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c;

		mh.msg_control = control.space;
		mh.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	do
		n = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (n < 0 && may_go_on(sock, SO_SNDTIMEO, since));
	return n < 0 ? -1 : 0;
}

/* Keep the first descriptor, close the others. */
static int take_fds(struct msghdr *mh)
{
	int kept = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	return kept;
}

int gs_msg_recv(int sock, struct gs_msg *msg, enum gs_msg_direction direction, int *fd,
		struct gs_error *err)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space) };
	uint64_t since = gs_clock_ns();
	int passed;
	ssize_t n;

	if (fd)
		*fd = -1;
	do
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && may_go_on(sock, SO_RCVTIMEO, since));
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return gs_fail(err, "no answer in time");
	if (n < 0)
		return gs_fail_errno(err, "cannot receive");
	passed = take_fds(&mh);
	if (n == 0 && passed < 0) {
		struct pollfd end = { .fd = sock, .events = POLLRDHUP };

		if (poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP)))
			return 0;
		/*
		 * recv() returns 0 for an empty packet as well as at the end of the connection.
		 * Here the connection is still there.
		 */
		gs_fail(err, "an empty packet");
		errno = EBADMSG;
		return -1;
	}
	if (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		gs_fail(err, "a packet longer than any message");
		goto malformed;
	}
	if (gs_msg_check(msg, (size_t)n, direction, err) < 0)
		goto malformed;
	if (fd)
		*fd = passed;
	else if (passed >= 0)
		close(passed);
	return 1;
malformed:
	if (passed >= 0)
		close(passed);
	errno = EBADMSG;
	return -1;
}

int gs_msg_str(char *field, size_t size, const char *text)
{
	size_t n = strlen(text);
	size_t fits = n < size ? n : size - 1;

	memcpy(field, text, fits);
	memset(field + fits, 0, size - fits);
	return n < size ? 0 : -1;
}
