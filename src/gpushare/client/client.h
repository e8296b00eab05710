/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job process's connection to the node's daemon. Thread-safe: requests with an answer take turns
 * on an internal lock; the others do not wait. The page outlives the connection: a client without a
 * daemon has a page of its own, and passes it to a daemon once one answers.
 */
#ifndef GPUSHARE_CLIENT_CLIENT_H
#define GPUSHARE_CLIENT_CLIENT_H

#include <stdint.h>

#include "common/error.h"
#include "gpushare/proto/msg.h"
#include "gpushare/proto/page.h"

struct gs_client;

struct gs_client_options {
	const char *socket; /* path of the daemon's socket */
	uint32_t job_id;
	uint32_t step_id; /* 0xffffffff: any step of the job that this process belongs to */
	uint32_t gpu;
	const char *program; /* for the log and the reports */
	void (*on_wait)(uint64_t bytes,
			const char *why); /* called after a wait of 1 s for memory; may be NULL */
};

/* What the daemon said about the step. */
struct gs_client_grant {
	uint64_t reservation;    /* bytes of device memory; 0: not known yet */
	uint64_t context_memory; /* bytes that a CUDA context is charged with */
	uint32_t absent;         /* enum gs_absent: what to do while no daemon answers */
	uint32_t gpu;
	uint32_t signal;         /* enum gs_signal: how a kernel is to be told to leave */
	uint32_t untracked;      /* 1: the daemon takes gs_client_untracked() */
	uint32_t variants;       /* 1: and gs_client_variant() */
	uint32_t variant_min_us; /* a longer kernel is worth a variant; 0: any, at once */
	/* enum gs_machine_code: which kernels get a variant made from machine code */
	uint32_t machine_code;
	uint32_t one_context; /* 1: all clients of the GPU share one context (MPS) */
};

/* Closes the descriptors and leaves the rest, the page included, as it is; do nothing else with the
 * client afterwards. In a forked child the copies of the parent's would make the daemon believe
 * that the parent is alive. */
void gs_client_leave(struct gs_client *client);

/* Makes a client without a connection and a page; the caller destroys it. NULL: no memory. */
struct gs_client *gs_client_create(const struct gs_client_options *options);
void gs_client_destroy(struct gs_client *client); /* NULL is fine */

/* *refused: the step waits for its memory, and this process has a page. */
#define GS_CLIENT_WAITS 2

/*
 * Connects and sends HELLO, waiting at most timeout_ms. If the client has a page, it is passed
 * along and kept; otherwise it gets the daemon's. used_bytes: device memory that this process holds
 * already. If the step does not have its memory yet, a client without a page waits for it, however
 * long; one with a page is told to come again. Returns 0; -1 with the reason, and *refused (may be
 * NULL) is 1 if the daemon itself refused, or GS_CLIENT_WAITS.
 */
int gs_client_connect(struct gs_client *client, uint64_t used_bytes, int timeout_ms, int *refused,
		      struct gs_error *err);

/* Returns 1 if the last connect was told to wait and the daemon went away meanwhile. */
int gs_client_waits(struct gs_client *client);

/* Gives the client a page of its own while no daemon answers. Returns 0, or -1 with the reason. */
int gs_client_own_page(struct gs_client *client, struct gs_error *err);

/* The page, valid until gs_client_destroy(); NULL before gs_client_connect() or
 * gs_client_own_page() has succeeded. */
struct gs_page *gs_client_page(struct gs_client *client);
struct gs_client_grant gs_client_grant(struct gs_client *client);

/* Returns 1 while connected. Notices the daemon's death without waiting. */
int gs_client_alive(struct gs_client *client);

/* Asks for device memory. Returns 1: granted; 0: beyond the reservation; -1: no daemon. bytes 0
 * only queries. *used and *reservation (may be NULL) are the step's, in bytes. */
int gs_client_alloc(struct gs_client *client, uint64_t bytes, uint64_t *used,
		    uint64_t *reservation);

/* Announces a kernel; see GS_MSG_KERNEL. content: hash of its module's content, 0: not known. */
void gs_client_kernel(struct gs_client *client, uint32_t number, uint32_t transform,
		      uint32_t reason, uint32_t registers, uint64_t content, const char *name);

/* The time per block-task of an announced kernel in earlier jobs, with these gs_slot_dims(): ps of
 * the whole GPU; 0: not known, or no daemon. */
uint64_t gs_client_time(struct gs_client *client, uint32_t number, uint32_t dims);

/* Requests a priority for this process (enum gs_priority_request), and gets the step's state (may
 * be NULL). Returns 1, or -1: no daemon. */
int gs_client_request_priority(struct gs_client *client, uint32_t kind, uint32_t priority,
			       struct gs_msg_usage *usage);

/*
 * Reports launches without a slot, of at most GS_UNTRACKED_MAX kernels. launched: how many launches
 * this client has made in all. Never waits. Returns 0; -1: not sent, since there is no daemon, it
 * has much to read or to answer, or it does not know this message.
 */
int gs_client_untracked(struct gs_client *client, uint64_t launched,
			const struct gs_untracked *untracked, uint32_t count);

/* Reports what is known of an announced kernel's variant; see GS_MSG_VARIANT. Returns as above. */
int gs_client_variant(struct gs_client *client, const struct gs_msg_variant *variant);

/* Makes a request: a slot wants the GPU. Never waits for an answer. */
void gs_client_doorbell(struct gs_client *client);

#endif
