/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device memory of one GPU: what each job step has reserved and what its
 * clients hold of it (RBDM, section 4, without the waiting queue).
 * Pure code.  Steps and clients are named by the caller's ids.
 *
 * Invariants: the reservations never exceed the capacity; a step's clients
 * together never hold more than its reservation.
 */
#ifndef GPUSHARE_MEMORY_LEDGER_H
#define GPUSHARE_MEMORY_LEDGER_H

#include <stdint.h>

#include "common/error.h"

struct gs_ledger;

struct gs_ledger *gs_ledger_create(uint64_t capacity); /* bytes; NULL: no memory */
void gs_ledger_destroy(struct gs_ledger *ledger);      /* NULL is fine */

/* Reserve for a new step; -1 with the reason when it does not fit or the id is taken. */
int gs_ledger_reserve(struct gs_ledger *ledger, uint64_t step, uint64_t bytes,
		      struct gs_error *err);
/* The step is gone: its reservation and all that its clients held return. */
void gs_ledger_release(struct gs_ledger *ledger, uint64_t step);

/* A client asks for memory: 1 granted, 0 beyond the step's reservation, -1 unknown step. */
int gs_ledger_alloc(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);
/* It gives some back (never more than it holds: the rest is ignored). */
void gs_ledger_free(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);
/*
 * Grant bytes that the client may or may not come to use: they count as used, not
 * in the peak.  1 granted, 0 beyond the reservation, -1 unknown step.
 */
int gs_ledger_lease(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);
/* The client's leases end; it has not used so much of what it holds. */
void gs_ledger_unlease(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t unused);
/* The step's clients have held as much at once: the peak is no smaller. */
void gs_ledger_note_peak(struct gs_ledger *ledger, uint64_t step, uint64_t bytes);
/* Bytes granted to the client, leases included. */
uint64_t gs_ledger_held(const struct gs_ledger *ledger, uint64_t step, uint64_t client);
/* It is gone: all that it held returns to the step. */
void gs_ledger_client_gone(struct gs_ledger *ledger, uint64_t step, uint64_t client);
/* An adopted client already holds this much, granted even beyond the reservation (it is there). */
int gs_ledger_adopt(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);

/* Bytes; 0 for an unknown step. */
uint64_t gs_ledger_reservation(const struct gs_ledger *ledger, uint64_t step);
uint64_t gs_ledger_used(const struct gs_ledger *ledger, uint64_t step);
uint64_t gs_ledger_peak(const struct gs_ledger *ledger, uint64_t step);
uint64_t gs_ledger_reserved(const struct gs_ledger *ledger); /* sum over all steps */
uint64_t gs_ledger_capacity(const struct gs_ledger *ledger);

#endif
