/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose copies wait while several clients copy in one direction: each has a barrier, which is open
 * or closed.  Pure: time is a parameter (ns, monotonic).
 *
 * PRIORITY: a client's barrier is closed while a more urgent one has a copy under way; equals are
 * fair.  FAIR: all are equals.  Equals: a client is held back that has copied GS_COPY_LEAD_BYTES
 * more than its part by shares, until the others have caught up.  Nobody is held back for longer
 * than GS_COPY_CLOSED_MOST_NS at a time, and then not for GS_COPY_OPEN_LEAST_NS.
 */
#ifndef GPUSHARE_ARBITER_COPY_POLICY_H
#define GPUSHARE_ARBITER_COPY_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"

enum gs_copy_policy { GS_COPY_POLICY_NO, GS_COPY_POLICY_PRIORITY, GS_COPY_POLICY_FAIR };

#define GS_COPY_LEAD_BYTES (UINT64_C(16) << 20)
#define GS_COPY_CLOSED_MOST_NS (20 * GS_NS_PER_MS)
#define GS_COPY_OPEN_LEAST_NS (1 * GS_NS_PER_MS)
/* A pause of less is none: who comes back from one goes on where it was. */
#define GS_COPY_PAUSE_NS (3 * GS_NS_PER_MS)

/* A client's copies in one direction.  All zero: nothing is known of it yet, and it is open. */
struct gs_copier {
	/* The caller's, brought up to date before each decision. */
	uint32_t rank;   /* a greater one is more urgent; the same: equals */
	uint32_t shares; /* above 0 */
	uint8_t wants;   /* a copy of it has begun and is not over */
	uint64_t bytes;  /* copied so far */
	/* What was decided. */
	uint8_t closed;
	uint64_t waited_ns; /* so long in all it was closed and wanted to copy */
	/* The policy's own. */
	uint8_t leads, joined; /* it is held back for equals; used is compared with theirs */
	uint8_t reopened;      /* it is open since it was closed for too long */
	double used;           /* bytes per share */
	uint64_t counted;      /* of the bytes, those that are in it */
	uint64_t wanted_ns;    /* when it last did */
	uint64_t changed_ns;   /* when its barrier last was opened or closed */
	uint64_t decided_ns;
};

/* Decide of all that copy in one direction. */
void gs_copy_decide(enum gs_copy_policy policy, struct gs_copier *copier[], size_t n, uint64_t now);

#endif
