/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job process's connection to the node's daemon.  Thread-safe: requests
 * with an answer take turns on an internal lock, the others do not wait.
 *
 * The page outlives the connection: a client without a daemon has a page of
 * its own, and hands it over when a daemon answers.
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
			const char *why); /* has waited 1 s for memory; may be NULL */
};

/* What the daemon said of the step. */
struct gs_client_grant {
	uint64_t reservation;    /* bytes of device memory; 0: not known yet */
	uint64_t context_memory; /* what a CUDA context is charged with */
	uint32_t absent;         /* enum gs_absent: what to do while no daemon answers */
	uint32_t gpu;
	uint32_t signal;         /* enum gs_signal: how a kernel is to be told to leave */
	uint32_t untracked;      /* 1: the daemon takes gs_client_untracked() */
	uint32_t variants;       /* 1: and gs_client_variant() */
	uint32_t variant_min_us; /* a longer kernel is worth a variant; 0: any, at once */
	uint32_t machine_code;   /* enum gs_machine_code: which get one made of machine code */
	uint32_t one_context;    /* 1: all clients of the GPU share one context (MPS) */
};

/*
 * In a forked child: give up the copies of the parent's descriptors, which
 * would make the daemon believe that the parent lives on.  Nothing else may be
 * done with the client there.
 */
void gs_client_forked(struct gs_client *client);

/* Not connected yet, no page yet.  NULL: no memory. */
struct gs_client *gs_client_create(const struct gs_client_options *options);
void gs_client_destroy(struct gs_client *client); /* NULL is fine */

/*
 * Connect and say HELLO, waiting at most timeout_ms.  The page that the
 * client has is passed along and kept; without one it gets the daemon's.
 * used_bytes: device memory that this process already holds.
 * A step that has not got its memory yet: a client without a page waits for it,
 * however long; one that has a page is refused.
 * Returns 0; -1 with the reason, and *refused (may be NULL) = 1 if it was the
 * daemon that said no.
 */
int gs_client_connect(struct gs_client *client, uint64_t used_bytes, int timeout_ms, int *refused,
		      struct gs_error *err);

/* 1 if the last connect was told to wait and the daemon went away meanwhile. */
int gs_client_waits(struct gs_client *client);

/* Give the client a page of its own, when no daemon answers.  0 or -1. */
int gs_client_own_page(struct gs_client *client, struct gs_error *err);

/* The page, valid until destroy; NULL before connect or own_page. */
struct gs_page *gs_client_page(struct gs_client *client);
struct gs_client_grant gs_client_grant(struct gs_client *client);

/* 1 while connected.  Notices the daemon's death without waiting for anything. */
int gs_client_alive(struct gs_client *client);

/*
 * Ask for device memory: 1 granted, 0 beyond the reservation, -1 no daemon.
 * bytes 0 only asks.  *used and *reservation (may be NULL) are the step's.
 */
int gs_client_alloc(struct gs_client *client, uint64_t bytes, uint64_t *used,
		    uint64_t *reservation);

/* Announce a kernel; see GS_MSG_KERNEL.  content: hash of its module's text, 0: not known. */
void gs_client_kernel(struct gs_client *client, uint32_t number, uint32_t transform,
		      uint32_t reason, uint32_t registers, uint64_t content, const char *name);

/*
 * What an announced kernel took per block-task in earlier jobs, in blocks of
 * that gs_slot_dims(): picoseconds of the whole GPU; 0: nobody knows, no daemon.
 */
uint64_t gs_client_time(struct gs_client *client, uint32_t number, uint32_t dims);

/*
 * A request for this process's priority (enum gs_priority_request), and how its step stands
 * (may be NULL).  1, or -1: no daemon.
 */
int gs_client_request_priority(struct gs_client *client, uint32_t kind, uint32_t priority,
			       struct gs_msg_usage *usage);

/*
 * Launches without a slot, of GS_UNTRACKED_MAX kernels at most; with all others this client has
 * made `launched` by now. Never waits.  -1: not sent, as there is no daemon, one that has much to
 * read or to answer, or one that does not know of these.
 */
int gs_client_untracked(struct gs_client *client, uint64_t launched,
			const struct gs_untracked *untracked, uint32_t count);

/* What is known by now of an announced kernel's variant; see GS_MSG_VARIANT.  As above. */
int gs_client_variant(struct gs_client *client, const struct gs_msg_variant *variant);

/* A slot wants the GPU. */
void gs_client_doorbell(struct gs_client *client);

#endif
