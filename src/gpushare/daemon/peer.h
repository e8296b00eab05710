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

#include "gpushare/daemon/daemon.h"
#include "gpushare/proto/msg.h"

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

	/* A client: */
	struct gs_step *step;
	struct gs_device *device;
	struct gs_page *page;
	struct gs_tenant *tenant;  /* the arbiter's; NULL: it is not on the GPU */
	uint64_t counted;          /* its launches that are in the step's figures, as those were last */
	int stopped;               /* its process, as the arbiter was told */
	struct gs_kernel_map *kernels;
	char program[64];
	unsigned kernels_ignored;
	int wished;                /* it wants a priority of its own (wish.c): */
	int32_t wish;
	struct gs_memory_waiter *waiter; /* its HELLO waits for memory (memory.c) */
	uint64_t driver_bytes;     /* that the driver says it has (memory_check.c) */
	uint64_t driver_more;      /* the difference that the log has told */
	int driver_known;
	uint64_t terminated_ns;    /* when MPS was last told to end it; 0: never */
	uint64_t killed_ns;        /* when its process was last killed; 0: never */
	int pidfd;                 /* -1: only its socket tells when it ends */
	struct event *ended;

	/* The owner of a LOCAL step: */
	struct gs_step *own;

	/* An UNREGISTER that waits for its report: */
	uint32_t awaited;          /* report's ticket; 0: none */
	uint32_t awaited_tag;

	/* A SUSPEND that waits until the memory is on the host (hold.c): */
	uint32_t hold_job;         /* 0: none */
	uint32_t hold_tag;
	char hold_failed[192];     /* why it is not to be had, "" */

	/* A HISTORY that waits for its answer: */
	uint32_t history;          /* ticket; 0: none */
	uint32_t history_tag;

	/* An answer of several packets: */
	char *text;
	size_t text_len, text_sent;
	uint32_t text_tag;
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

/* Close a client whose page holds a state that there is not. */
void gs_peer_drop_bad(struct gs_peer *peer, uint32_t kstate);

/* Connections of that user. */
unsigned gs_peers_of(const struct gs_daemon *d, uid_t uid);

/*
 * A handler gets a message of its type, checked, and the descriptor that
 * came along or -1 (the caller closes it).  0: go on; -1: close the peer (the
 * handler has logged why, if it is worth a line).
 */
typedef int gs_handler(struct gs_peer *peer, struct gs_msg *msg, int fd);

gs_handler gs_on_hello, gs_on_alloc, gs_on_free, gs_on_kernel, gs_on_time, gs_on_rode, gs_on_bell; /* clients.c */
gs_handler gs_on_wish;                                                      /* wish.c */
gs_handler gs_on_register, gs_on_unregister, gs_on_local;                   /* register.c */
gs_handler gs_on_query, gs_on_history;                                      /* query.c */
gs_handler gs_on_policy, gs_on_class_policy, gs_on_priority, gs_on_suspend; /* admin.c */

/* A HELLO whose step has its memory: page, turn, WELCOME.  page: the descriptor it brought, or -1. */
int gs_client_begin(struct gs_peer *peer, const struct gs_msg *hello, int page);

/* A client whose memory is on the host: it has no turn, and keeps its page. */
void gs_client_park(struct gs_peer *peer);
/* It goes on, holding so many bytes that are not in the ledger.  -1: close it. */
int gs_client_return(struct gs_peer *peer, uint64_t bytes);

/* The client is gone: its page, its memory, its task. */
void gs_client_gone(struct gs_peer *peer);

/* The peer's socket takes data again. */
int gs_query_continue(struct gs_peer *peer);

#endif
