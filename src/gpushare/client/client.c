/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket side of a job's process; see client.h. */
#define _GNU_SOURCE
#include "gpushare/client/client.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

#define REPLY_TIMEOUT_NS (10 * GS_NS_PER_S)

/* Who waits for memory no longer than that need not hear of it. */
#define WAIT_UNTOLD_NS GS_NS_PER_S

/* So much that the daemon has not read, bytes as the kernel counts them, and it is told of nothing
 * that can wait: a send would, in the end. */
#define UNREAD_MAX 65536

struct gs_client {
	pthread_mutex_t request; /* one question and its answer at a time */
	_Atomic int sock;        /* -1: no daemon */
	uint32_t tag;            /* under ask */
	int page_fd;
	struct gs_page *page;
	struct gs_client_grant grant;
	struct gs_msg_hello hello;
	char *socket; /* its path */
	void (*on_wait)(uint64_t bytes, const char *why);
	int waits; /* told to wait, not answered */
};

struct gs_client *gs_client_create(const struct gs_client_options *options)
{
	struct gs_client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->socket = strdup(options->socket);
	if (!c->socket) {
		free(c);
		return NULL;
	}
	pthread_mutex_init(&c->request, NULL);
	atomic_init(&c->sock, -1);
	c->page_fd = -1;
	c->hello.job_id = options->job_id;
	c->hello.step_id = options->step_id;
	c->hello.gpu = options->gpu;
	c->hello.copies = 1;
	c->on_wait = options->on_wait;
	gs_msg_str(c->hello.program, sizeof(c->hello.program), options->program);
	return c;
}

void gs_client_destroy(struct gs_client *c)
{
	if (!c)
		return;
	if (c->sock >= 0)
		close(c->sock);
	gs_page_unmap(c->page);
	if (c->page_fd >= 0)
		close(c->page_fd);
	pthread_mutex_destroy(&c->request);
	free(c->socket);
	free(c);
}

void gs_client_leave(struct gs_client *c)
{
	if (c->sock >= 0)
		close(c->sock);
	if (c->page_fd >= 0)
		close(c->page_fd);
}

/* The daemon is gone.  The descriptor stays open (another thread may be in
 * it) until the next connect replaces it; shutdown ends every use of it. */
static void lost(struct gs_client *c)
{
	if (c->sock >= 0)
		shutdown(c->sock, SHUT_RDWR);
}

/* Take the WELCOME's page unless the client already has one. */
static int take_page(struct gs_client *c, int fd, struct gs_error *err)
{
	if (c->page) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (fd < 0)
		return gs_fail(err, "gpushared sent no page");
	if (gs_page_map(fd, &c->page, err) < 0) {
		close(fd);
		return -1;
	}
	c->page_fd = fd;
	return 0;
}

/* Nothing has come from the daemon for so long. */
static int silent_for(int sock, uint64_t ns)
{
	uint64_t until = gs_clock_ns() + ns, now;
	struct pollfd p = { .fd = sock, .events = POLLIN | POLLRDHUP };
	int ready = 0;

	while (ready <= 0 && (now = gs_clock_ns()) < until)
		ready = poll(&p, 1, (int)((until - now) / GS_NS_PER_MS) + 1);
	return ready <= 0;
}

/* What came along is not wanted. */
static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The daemon's first word on our HELLO; a WAIT is waited out.  1, 0 or -1 as gs_msg_recv. */
static int hear(struct gs_client *c, int sock, struct gs_msg *msg, int *fd, struct gs_error *err)
{
	int rc = gs_msg_recv(sock, msg, GS_FROM_DAEMON, fd, err);

	c->waits = rc == 1 && msg->header.type == GS_MSG_WAIT && !c->page;
	if (!c->waits)
		return rc;
	if (c->on_wait && silent_for(sock, WAIT_UNTOLD_NS))
		c->on_wait(msg->wait.bytes, msg->wait.reason);
	gs_msg_limit(sock, 0, NULL);
	do {
		drop(fd);
		rc = gs_msg_recv(sock, msg, GS_FROM_DAEMON, fd, err);
	} while (rc == 1 && msg->header.type == GS_MSG_WAIT);
	c->waits = rc != 1;
	return rc;
}

int gs_client_waits(struct gs_client *c)
{
	return c->waits;
}

int gs_client_connect(struct gs_client *c, uint64_t used_bytes, int timeout_ms, int *refused,
		      struct gs_error *err)
{
	struct gs_msg msg;
	int sock, fd = -1, old;

	if (refused)
		*refused = 0;
	sock = gs_msg_connect(c->socket, (uint64_t)timeout_ms * GS_NS_PER_MS, err);
	if (sock < 0)
		return -1;
	gs_msg_init(&msg, GS_MSG_HELLO, 1);
	msg.hello = c->hello;
	msg.hello.used_bytes = used_bytes;
	if (gs_msg_send(sock, &msg, c->page_fd) < 0) {
		gs_fail_errno(err, "cannot greet gpushared");
		goto fail;
	}
	switch (hear(c, sock, &msg, &fd, err)) {
	case 0:
		gs_fail(err, "gpushared closed the connection");
		goto fail;
	case -1:
		goto fail;
	}
	if (msg.header.type == GS_MSG_REFUSED) {
		if (refused)
			*refused = 1;
		gs_fail(err, "gpushared: %s", msg.refused.reason);
		goto fail;
	}
	if (msg.header.type == GS_MSG_WAIT) {
		if (refused)
			*refused = GS_CLIENT_WAITS;
		gs_fail(err, "gpushared: the step waits for memory: %s", msg.wait.reason);
		goto fail;
	}
	if (msg.header.type != GS_MSG_WELCOME) {
		gs_fail(err, "gpushared answered %s", gs_msg_name(msg.header.type));
		goto fail;
	}
	if (take_page(c, fd, err) < 0) {
		fd = -1;
		goto fail;
	}
	c->grant = (struct gs_client_grant) {
		msg.welcome.reservation, msg.welcome.context_memory, msg.welcome.absent,
		msg.welcome.gpu,         msg.welcome.signal,         msg.welcome.untracked,
		msg.welcome.variants,    msg.welcome.variant_min_us, msg.welcome.machine_code,
		msg.welcome.one_context,
	};
	gs_msg_limit(sock, REPLY_TIMEOUT_NS, NULL);
	pthread_mutex_lock(&c->request);
	old = atomic_exchange(&c->sock, sock);
	if (old >= 0)
		close(old);
	pthread_mutex_unlock(&c->request);
	return 0;
fail:
	if (fd >= 0)
		close(fd);
	close(sock);
	return -1;
}

int gs_client_own_page(struct gs_client *c, struct gs_error *err)
{
	int fd;

	if (c->page)
		return 0;
	fd = gs_page_create(&c->page, GS_PAGE_SIZE, err);
	if (fd < 0)
		return -1;
	c->page_fd = fd;
	return 0;
}

struct gs_page *gs_client_page(struct gs_client *c)
{
	return c->page;
}

struct gs_client_grant gs_client_grant(struct gs_client *c)
{
	return c->grant;
}

int gs_client_alive(struct gs_client *c)
{
	struct pollfd p = { .fd = c->sock, .events = POLLRDHUP };

	if (p.fd < 0)
		return 0;
	return poll(&p, 1, 0) <= 0 || !(p.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL));
}

/* A thread that is cancelled meanwhile ends later: with the lock it would take the daemon from all
 * others. */
static int begin_request(struct gs_client *c)
{
	int cancels;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&c->request);
	return cancels;
}

static void end_request(struct gs_client *c, int cancels)
{
	pthread_mutex_unlock(&c->request);
	pthread_setcancelstate(cancels, NULL);
}

/* Send a question and read until its answer comes.  1, or -1: no daemon. */
static int request(struct gs_client *c, struct gs_msg *msg)
{
	int ok = -1, cancels = begin_request(c);
	uint32_t tag;

	tag = msg->header.tag = ++c->tag ? c->tag : ++c->tag;
	if (c->sock >= 0 && gs_msg_send(c->sock, msg, -1) == 0) {
		do
			ok = gs_msg_recv(c->sock, msg, GS_FROM_DAEMON, NULL, NULL);
		while (ok == 1 && msg->header.tag != tag);
		if (ok != 1) {
			lost(c);
			ok = -1;
		}
	}
	end_request(c, cancels);
	return ok;
}

int gs_client_alloc(struct gs_client *c, uint64_t bytes, uint64_t *used, uint64_t *reservation)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_ALLOC, 0);
	msg.alloc.bytes = bytes;
	if (request(c, &msg) < 0 || msg.header.type != GS_MSG_ALLOCATED)
		return -1;
	if (used)
		*used = msg.allocated.used;
	if (reservation)
		*reservation = msg.allocated.reservation;
	return msg.allocated.granted ? 1 : 0;
}

static void tell(struct gs_client *c, const struct gs_msg *msg)
{
	/* Under the lock, so that connect cannot close the descriptor meanwhile. */
	int cancels = begin_request(c);

	if (c->sock >= 0 && gs_msg_send(c->sock, msg, -1) < 0)
		lost(c);
	end_request(c, cancels);
}

void gs_client_kernel(struct gs_client *c, uint32_t number, uint32_t transform, uint32_t reason,
		      uint32_t registers, uint64_t content, const char *name)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_KERNEL, 0);
	msg.kernel.number = number;
	msg.kernel.transform = transform;
	msg.kernel.reason = reason;
	msg.kernel.registers = registers;
	msg.kernel.content = content;
	gs_msg_str(msg.kernel.name, sizeof(msg.kernel.name), name);
	tell(c, &msg);
}

uint64_t gs_client_time(struct gs_client *c, uint32_t number, uint32_t dims)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_TIME, 0);
	msg.time.number = number;
	msg.time.dims = dims;
	return request(c, &msg) == 1 && msg.header.type == GS_MSG_TIMED ? msg.timed.tpt_ps : 0;
}

int gs_client_request_priority(struct gs_client *c, uint32_t kind, uint32_t priority,
			       struct gs_msg_usage *usage)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_PRIORITY_REQUEST, 0);
	msg.priority_request.kind = kind;
	msg.priority_request.priority = priority;
	if (request(c, &msg) < 0 || msg.header.type != GS_MSG_USAGE)
		return -1;
	if (usage)
		*usage = msg.usage;
	return 1;
}

/* Only to a daemon that knows of it and keeps up with reading.  Never waits.  -1: not sent. */
static int tell_if_read(struct gs_client *c, const struct gs_msg *msg, const uint32_t *known)
{
	int unread, rc = -1;

	if (pthread_mutex_trylock(&c->request) != 0)
		return -1; /* it has been asked, and not answered yet */
	if (c->sock >= 0 && *known && ioctl(c->sock, SIOCOUTQ, &unread) == 0 && unread < UNREAD_MAX)
		rc = gs_msg_send(c->sock, msg, -1);
	pthread_mutex_unlock(&c->request);
	return rc;
}

int gs_client_untracked(struct gs_client *c, uint64_t launched,
			const struct gs_untracked *untracked, uint32_t count)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_UNTRACKED, 0);
	msg.untracked.launched = launched;
	msg.untracked.count = count;
	memcpy(msg.untracked.kernel, untracked, count * sizeof(*untracked));
	return tell_if_read(c, &msg, &c->grant.untracked);
}

int gs_client_variant(struct gs_client *c, const struct gs_msg_variant *variant)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_VARIANT, 0);
	msg.variant = *variant;
	return tell_if_read(c, &msg, &c->grant.variants);
}

void gs_client_doorbell(struct gs_client *c)
{
	struct gs_msg msg;

	if (c->page && gs_page_load(c->page->attended)) {
		gs_page_request(c->page);
		return;
	}
	gs_msg_init(&msg, GS_MSG_DOORBELL, 0);
	tell(c, &msg);
}
