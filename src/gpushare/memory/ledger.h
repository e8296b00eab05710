/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of one GPU's device memory: what each job step has reserved and what its clients hold
 * of it (RBDM, section 4, without the waiting queue). Pure code; not thread-safe. Steps and clients
 * are identified by the caller's ids; all amounts are bytes.
 *
 * Invariants: the reservations never exceed the capacity; a step's clients together never hold more
 * than its reservation, except for adopted ones.
 */
#ifndef GPUSHARE_MEMORY_LEDGER_H
#define GPUSHARE_MEMORY_LEDGER_H

#include <stdint.h>

#include "common/error.h"

struct gs_ledger;

struct gs_ledger *gs_ledger_create(uint64_t capacity); /* NULL: no memory; the caller destroys it */
void gs_ledger_destroy(struct gs_ledger *ledger);      /* NULL is fine */

/* Reserves memory for a new step. Returns 0; -1 with the reason if it does not fit or the id is
 * taken. */
int gs_ledger_reserve(struct gs_ledger *ledger, uint64_t step, uint64_t bytes,
		      struct gs_error *err);
/* Ends a step: returns its reservation and all that its clients hold. */
void gs_ledger_release(struct gs_ledger *ledger, uint64_t step);

/*
 * A client asks for memory. Returns 1: granted; 0: beyond the step's reservation; -1: unknown step.
 */
int gs_ledger_alloc(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);
/* A client returns memory; more than it holds is ignored. */
void gs_ledger_free(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);
/* Grants bytes that the client may or may not use later: they count as used, but not in the peak.
 * Returns 1: granted; 0: beyond the reservation; -1: unknown step. */
int gs_ledger_lease(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);
/* Ends the client's leases, of which it has not used `unused` bytes. */
void gs_ledger_unlease(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t unused);
/* The step's clients have held this much at once, so the peak is at least that. */
void gs_ledger_note_peak(struct gs_ledger *ledger, uint64_t step, uint64_t bytes);
/* Bytes granted to the client, leases included. */
uint64_t gs_ledger_held(const struct gs_ledger *ledger, uint64_t step, uint64_t client);
/* The client is gone: all that it held returns to the step. */
void gs_ledger_client_gone(struct gs_ledger *ledger, uint64_t step, uint64_t client);
/* An adopted client holds this much already, which is granted even beyond the reservation, but the
 * step's clients together not beyond the capacity. Returns 0; -1: unknown step or no memory. */
int gs_ledger_adopt(struct gs_ledger *ledger, uint64_t step, uint64_t client, uint64_t bytes);

/* Bytes; 0 for an unknown step. */
uint64_t gs_ledger_reservation(const struct gs_ledger *ledger, uint64_t step);
uint64_t gs_ledger_used(const struct gs_ledger *ledger, uint64_t step);
uint64_t gs_ledger_peak(const struct gs_ledger *ledger, uint64_t step);
uint64_t gs_ledger_reserved(const struct gs_ledger *ledger); /* sum over all steps */
uint64_t gs_ledger_capacity(const struct gs_ledger *ledger);

/* MiB of what is wanted, as messages say it beside MiB of what there is: rounded up, or a byte too
 * many would read as just as many. */
static inline uint64_t gs_mib_wanted(uint64_t bytes)
{
	return (bytes >> 20) + (bytes % (UINT64_C(1) << 20) != 0);
}

#endif
