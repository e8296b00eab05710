/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection. Its role is set by its first message: HELLO makes it a client, REGISTER a
 * slurmstepd, LOCAL the owner of a step of its own, and QUERY a tool that asks for information. Its
 * user and process come from SO_PEERCRED, never from what it says.
 *
 * All functions need the loop's lock (event.h).
 */
#ifndef GPUSHARE_DAEMON_CONN_H
#define GPUSHARE_DAEMON_CONN_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/period.h"
#include "gpushare/arbiter/step_usage.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/proto/msg.h"

/* What is known of a client, which is a connection that has sent HELLO; of one that will own a
 * step, what it has said of that. */
struct gs_registration {
	struct gs_period period; /* of the LOCAL step to come (PERIODIC) */
	struct gs_kernel_map *kernels;
	unsigned kernels_ignored;
	char program[64];
	/* what of its page the step's figures included when those were last copied */
	struct gs_counted counted;
	int stopped;              /* its process is stopped, as the arbiter was last told */
	int has_priority_request; /* it has requested a priority of its own (priority_request.h): */
	int32_t priority_request;
	/* memory that the driver says it has (memory_check.h); NULL: not known */
	struct gs_driver_use *driver;
	uint64_t terminated_ns; /* when MPS was last told to end it; 0: never */
	uint64_t killed_ns;     /* when its process was last killed; 0: never */
	/* IdleReclaim: its driver calls as they were last looked at (page.h), and since when they
	 * are as many and none is under way; 0: it calls, or does not count. */
	uint32_t calls;
	uint64_t quiet_ns;
};

struct gs_connection {
	LIST_ENTRY(gs_connection) link;
	struct gs_daemon *d;
	int fd;
	struct event *readable, *writable;
	uint64_t id;
	uid_t uid;
	pid_t pid;
	uint64_t start; /* start time of that process (proc.h); 0: it had already ended */
	char who[96];   /* "job 12.0 uid 1000 pid 4711" */
	int pidfd;      /* -1: only the end of its socket tells that it has ended */
	struct event *ended;
	/* an answer of several packets that is being sent; NULL: none */
	struct gs_connection_text *text;

	/* A client: */
	struct gs_step *step;
	struct gs_device *device;
	struct gs_page *page;
	struct gs_gpu_client *client;    /* the arbiter's client; NULL: it is not on the GPU */
	struct gs_memory_waiter *waiter; /* its HELLO waits for memory (memory.c) */
	struct gs_registration registration;

	/* The owner of a LOCAL step: */
	struct gs_step *own;
};

/* Takes over an accepted socket. NULL: no memory, and then fd is closed. */
struct gs_connection *gs_connection_new(struct gs_daemon *d, int fd, uid_t uid, pid_t pid);

/* Frees what all connections share; to be called when none is left. */
void gs_connections_fini(void);

/*
 * Closes a connection, calls the listeners and frees everything that belongs to it. If this happens
 * while a message of the same connection is being handled, the struct itself stays until the
 * handler returns: the handler may still use its fields, but its step and its client are gone.
 */
void gs_connection_close(struct gs_connection *conn);

/* Closes the connection when its process ends. The socket alone does not tell, since a child that
 * the process forked may hold a copy. */
void gs_connection_watch_process(struct gs_connection *conn);

/* Sends a message, with a descriptor unless fd is -1. Returns 0; -1: the peer does not read, and
 * the caller must close the connection. */
int gs_connection_send(struct gs_connection *conn, const struct gs_msg *msg, int fd);

/* Sends REFUSED with the reason, and logs it. Always returns -1. */
int gs_connection_refuse(struct gs_connection *conn, uint32_t tag, enum gs_refusal code,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The number of connections of that user; of all users. */
unsigned gs_connections_of(const struct gs_daemon *d, uid_t uid);
unsigned gs_connections_count(const struct gs_daemon *d);

/*
 * A handler gets a message of its type, which has been checked, and the descriptor that came with
 * it or -1 (the caller closes it). Returns 0; -1: close the connection, and the handler has logged
 * why if that is worth a line.
 */
typedef int gs_handler(struct gs_connection *conn, struct gs_msg *msg, int fd);

/* Sets the handlers: one for each type of message (GS_MSG_COUNT of them); NULL: a message of that
 * type closes the connection. Call it before there are connections; the caller keeps the table. */
void gs_connections_serve(gs_handler *const *handlers);

/* Adds a listener that is called when a connection is being closed, while all of it still exists.
 * Listeners are called in the order in which they were added, at the daemon's start. */
typedef void gs_connection_listener(struct gs_connection *conn);
void gs_connections_on_gone(gs_connection_listener *listener);

/* Call first for a message that only a client may send. Returns 0; -1 if there was no HELLO, which
 * is logged. */
int gs_connection_is_client(struct gs_connection *conn, const struct gs_msg *msg);

/* Is it a client whose memory is on the host, or on its way back? It keeps its page, but it is off
 * the arbiter (clients.h), and nothing is read from it until it returns. */
int gs_connection_is_parked(const struct gs_connection *conn);

/*
 * Whose part the connection's messages take: that of root, of the owner of the step that it is a
 * client of, or of its user, who has a step here. All others have one part together, since one
 * person may be as many users as it likes (/etc/subuid).
 */
uid_t gs_connection_who_pays(const struct gs_connection *conn);

/* Sends these bytes, which the connection takes over and frees, as TEXT messages; the rest is sent
 * as the peer reads. -1: close the connection. */
int gs_connection_send_text(struct gs_connection *conn, uint32_t tag, char *bytes, size_t size);
/* Is such an answer still being sent? */
int gs_connection_sends_text(const struct gs_connection *conn);

#endif
