/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection.  A peer is nobody in particular until a message says what
 * it wants: HELLO makes it a client, REGISTER a slurmstepd, LOCAL the owner
 * of a step of its own, QUERY somebody who asks.  Who it is comes from
 * SO_PEERCRED, never from what it says.
 */
#ifndef GPUSHARE_DAEMON_PEER_H
#define GPUSHARE_DAEMON_PEER_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "gpushare/daemon/base/daemon.h"
#include "gpushare/proto/msg.h"

/* What is known of a client, a connection that has said HELLO. */
struct gs_registration {
	struct gs_kernel_map *kernels;
	unsigned kernels_ignored;
	char program[64];
	uint64_t counted;          /* its launches that are in the step's figures, as those were last */
	int stopped;               /* its process, as the arbiter was told */
	int wished;                /* it wants a priority of its own (wish.h): */
	int32_t wish;
	struct gs_driver_use *driver; /* what the driver says it has (memory_check.h); NULL: not known */
	uint64_t terminated_ns;    /* when MPS was last told to end it; 0: never */
	uint64_t killed_ns;        /* when its process was last killed; 0: never */
};

struct gs_peer {
	LIST_ENTRY(gs_peer) link;
	struct gs_daemon *d;
	int fd;
	struct event *readable, *writable;
	uint64_t id;
	uid_t uid;
	pid_t pid;
	uint64_t start;            /* of that process; 0: it is gone already */
	char who[96];              /* "job 12.0 uid 1000 pid 4711" */
	int pidfd;                 /* -1: only its socket tells when it ends */
	struct event *ended;
	struct gs_peer_text *text; /* an answer of several packets that is being sent; NULL */

	/* A client: */
	struct gs_step *step;
	struct gs_device *device;
	struct gs_page *page;
	struct gs_tenant *tenant;  /* the arbiter's; NULL: it is not on the GPU */
	struct gs_memory_waiter *waiter; /* its HELLO waits for memory (memory.c) */
	struct gs_registration registration;

	/* The owner of a LOCAL step: */
	struct gs_step *own;
};

/* Take over an accepted socket.  NULL when there is no memory (fd is closed). */
struct gs_peer *gs_peer_new(struct gs_daemon *d, int fd, uid_t uid, pid_t pid);

/* End a connection and all that hung on it. */
void gs_peer_close(struct gs_peer *peer);

/*
 * Close the peer when its process ends.  Its socket alone does not tell: a
 * child that it forked may hold a copy.
 */
void gs_peer_watch_process(struct gs_peer *peer);

/* Send, or return -1: the peer does not read and must be closed. */
int gs_peer_send(struct gs_peer *peer, const struct gs_msg *msg, int fd);

/* Send REFUSED with the reason, and log it.  -1 always. */
int gs_peer_refuse(struct gs_peer *peer, uint32_t tag, enum gs_refusal code,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Connections of that user; of everybody. */
unsigned gs_peers_of(const struct gs_daemon *d, uid_t uid);
unsigned gs_peers_count(const struct gs_daemon *d);

/*
 * A handler gets a message of its type, checked, and the descriptor that
 * came along or -1 (the caller closes it).  0: go on; -1: close the peer (the
 * handler has logged why, if it is worth a line).
 */
typedef int gs_handler(struct gs_peer *peer, struct gs_msg *msg, int fd);

/*
 * What the daemon listens to: a handler for each type of message (GS_MSG_COUNT
 * of them), NULL for those that close the connection.  Before any peer is
 * there; the caller keeps the table.
 */
void gs_peers_serve(gs_handler *const *handlers);

/*
 * Who must know that a connection is being closed, called while all of it is
 * still there, in the order in which they were registered (at the start).
 */
typedef void gs_peer_listener(struct gs_peer *peer);
void gs_peers_on_gone(gs_peer_listener *listener);

/* Send these bytes, which are freed then, as TEXT messages, the rest as the peer reads.  -1: close it. */
int gs_peer_send_text(struct gs_peer *peer, uint32_t tag, char *bytes, size_t size);
/* Is such an answer on its way? */
int gs_peer_sends_text(const struct gs_peer *peer);

#endif
