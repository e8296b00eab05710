/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection.  A connection is nobody in particular until a message says what
 * it wants: HELLO makes it a client, REGISTER a slurmstepd, LOCAL the owner
 * of a step of its own, QUERY somebody who asks.  Who it is comes from
 * SO_PEERCRED, never from what it says.
 */
#ifndef GPUSHARE_DAEMON_CONN_H
#define GPUSHARE_DAEMON_CONN_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/arbiter/step_usage.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/proto/msg.h"

/* What is known of a client, a connection that has said HELLO. */
struct gs_registration {
	struct gs_kernel_map *kernels;
	unsigned kernels_ignored;
	char program[64];
	struct gs_counted counted; /* what of its page is in the step's figures, as those were last
				    */
	int stopped;               /* its process, as the arbiter was told */
	int has_priority_request;  /* it wants a priority of its own (priority_request.h): */
	int32_t priority_request;
	struct gs_driver_use
		*driver;        /* what the driver says it has (memory_check.h); NULL: not known */
	uint64_t terminated_ns; /* when MPS was last told to end it; 0: never */
	uint64_t killed_ns;     /* when its process was last killed; 0: never */
};

struct gs_connection {
	LIST_ENTRY(gs_connection) link;
	struct gs_daemon *d;
	int fd;
	struct event *readable, *writable;
	uint64_t id;
	uid_t uid;
	pid_t pid;
	uint64_t start; /* of that process; 0: it is gone already */
	char who[96];   /* "job 12.0 uid 1000 pid 4711" */
	int pidfd;      /* -1: only its socket tells when it ends */
	struct event *ended;
	struct gs_connection_text *text; /* an answer of several packets that is being sent; NULL */

	/* A client: */
	struct gs_step *step;
	struct gs_device *device;
	struct gs_page *page;
	struct gs_gpu_client *client;    /* the arbiter's; NULL: it is not on the GPU */
	struct gs_memory_waiter *waiter; /* its HELLO waits for memory (memory.c) */
	struct gs_registration registration;

	/* The owner of a LOCAL step: */
	struct gs_step *own;
};

/* Take over an accepted socket.  NULL when there is no memory (fd is closed). */
struct gs_connection *gs_connection_new(struct gs_daemon *d, int fd, uid_t uid, pid_t pid);

/* End a connection and all that hung on it. */
void gs_connection_close(struct gs_connection *conn);

/*
 * Close the connection when its process ends.  Its socket alone does not tell: a
 * child that it forked may hold a copy.
 */
void gs_connection_watch_process(struct gs_connection *conn);

/* Send, or return -1: the connection does not read and must be closed. */
int gs_connection_send(struct gs_connection *conn, const struct gs_msg *msg, int fd);

/* Send REFUSED with the reason, and log it.  -1 always. */
int gs_connection_refuse(struct gs_connection *conn, uint32_t tag, enum gs_refusal code,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Connections of that user; of everybody. */
unsigned gs_connections_of(const struct gs_daemon *d, uid_t uid);
unsigned gs_connections_count(const struct gs_daemon *d);

/*
 * A handler gets a message of its type, checked, and the descriptor that
 * came along or -1 (the caller closes it).  0: go on; -1: close the connection (the
 * handler has logged why, if it is worth a line).
 */
typedef int gs_handler(struct gs_connection *conn, struct gs_msg *msg, int fd);

/*
 * What the daemon listens to: a handler for each type of message (GS_MSG_COUNT
 * of them), NULL for those that close the connection.  Before any connection is
 * there; the caller keeps the table.
 */
void gs_connections_serve(gs_handler *const *handlers);

/*
 * Who must know that a connection is being closed, called while all of it is
 * still there, in the order in which they were registered (at the start).
 */
typedef void gs_connection_listener(struct gs_connection *conn);
void gs_connections_on_gone(gs_connection_listener *listener);

/* Before a message that only a client may send: 0, or -1 and a complaint, where there was no HELLO.
 */
int gs_connection_is_client(struct gs_connection *conn, const struct gs_msg *msg);

/* Send these bytes, which are freed then, as TEXT messages, the rest as the connection reads.  -1:
 * close it. */
int gs_connection_send_text(struct gs_connection *conn, uint32_t tag, char *bytes, size_t size);
/* Is such an answer on its way? */
int gs_connection_sends_text(const struct gs_connection *conn);

#endif
