/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to gpushared on a connection of their own; see daemon.h. */
#define _GNU_SOURCE
#include "plugins/spank/daemon.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/proto/auth.h"

#define RETRY_NS (100 * 1000 * 1000L)

/* How long is left until the deadline; 0 when it has passed. */
static uint64_t time_left(uint64_t deadline)
{
	uint64_t now = gs_clock_ns();

	return now < deadline ? deadline - now : 0;
}

/* A daemon that is just being restarted is worth the wait. */
static int connect_until(const char *path, uint64_t deadline, struct gs_error *err)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };

	for (int tried = 0;; tried = 1) {
		uint64_t left = time_left(deadline);
		int sock;

		if (!left && tried)
			return -1; /* a pause was longer than it should be: the last reason is the
				      better one */
		if (!left)
			return gs_fail(err, "no answer in time");
		sock = gs_msg_connect(path, left, err);
		if (sock >= 0)
			return sock;
		if (gs_clock_ns() + RETRY_NS >= deadline)
			return -1;
		nanosleep(&pause, NULL);
	}
}

/* Send and wait for the answer, whatever it is. */
static int exchange(int sock, const struct gs_msg *query, struct gs_msg *answer, uint64_t deadline,
		    struct gs_error *err)
{
	uint64_t left = time_left(deadline);
	int rc;

	if (!left)
		return gs_fail(err, "no answer in time");
	if (gs_msg_limit(sock, left, err) < 0)
		return -1;
	if (gs_msg_send(sock, query, -1) < 0)
		return gs_fail_errno(err, "cannot send to gpushared");
	rc = gs_msg_recv(sock, answer, GS_FROM_DAEMON, NULL, err);
	if (rc == 0)
		return gs_fail(err, "gpushared closed the connection");
	if (rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return gs_fail(err, "gpushared took the request and did not answer in time");
	return rc < 0 ? -1 : 0;
}

static enum gs_answer request(const struct gs_spank_args *args, struct gs_msg *query,
			      enum gs_msg_type wanted, struct gs_msg *answer, uint64_t deadline,
			      struct gs_error *err)
{
	int sock = connect_until(args->socket, deadline, err);
	int rc;

	if (sock < 0)
		return GS_ANSWER_ABSENT;
	rc = exchange(sock, query, answer, deadline, err);
	close(sock);
	if (rc < 0)
		return GS_ANSWER_ABSENT;
	if (answer->header.type == wanted)
		return GS_ANSWER_YES;
	if (answer->header.type == GS_MSG_REFUSED)
		gs_fail(err, "%s", answer->refused.reason);
	else
		gs_fail(err, "gpushared answered with %s", gs_msg_name(answer->header.type));
	return GS_ANSWER_REFUSED;
}

enum gs_answer gs_daemon_register(const struct gs_spank_args *args, const struct gs_msg_step *step,
				  struct gs_msg_registered *granted, struct gs_error *err)
{
	uint64_t deadline = gs_clock_ns() + args->timeout_ms * GS_NS_PER_MS;
	struct gs_msg query, answer;
	enum gs_answer got;

	gs_msg_init(&query, GS_MSG_REGISTER, 1);
	if (gs_auth_seal(step, 0, args->munge_socket, query.registration.cred,
			 sizeof(query.registration.cred), err) < 0)
		return GS_ANSWER_ABSENT;
	got = request(args, &query, GS_MSG_REGISTERED, &answer, deadline, err);
	if (got == GS_ANSWER_YES)
		*granted = answer.registered;
	return got;
}

enum gs_answer gs_daemon_unregister(const struct gs_spank_args *args,
				    const struct gs_msg_step *step, uint32_t timeout_ms,
				    struct gs_error *err)
{
	uint64_t deadline = gs_clock_ns() + timeout_ms * GS_NS_PER_MS;
	struct gs_msg query, answer;

	gs_msg_init(&query, GS_MSG_UNREGISTER, 1);
	if (gs_auth_seal(step, 0, args->munge_socket, query.unregister.cred,
			 sizeof(query.unregister.cred), err) < 0)
		return GS_ANSWER_ABSENT;
	return request(args, &query, GS_MSG_OK, &answer, deadline, err);
}
