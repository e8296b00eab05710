/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client's attendant: a thread that waits for the client to ask, on the
 * processor on which it asks.
 *
 * Waking a thread on a processor that sleeps takes 26 to 50 us and 300 for one in
 * a hundred (a virtual one; a real one has idle states), on the one that the
 * waking thread runs on 2 to 15 and 80: there the attendant, which goes before it
 * (prompt.h), takes the client's place at once (doc/results/h200-wake.csv).  So
 * the loop does not have to be woken for a decision: the attendant takes the
 * GPU's turn itself, under the daemon's lock, and the client goes on when it
 * sleeps again.  Where it may not go before others it is not bound to a processor: it
 * would wait there for a client that waits for it.
 */
#ifndef GPUSHARE_DAEMON_ATTENDANT_H
#define GPUSHARE_DAEMON_ATTENDANT_H

#include "gpushare/daemon/peer.h"

struct gs_attendant;

/*
 * Attend the peer, which has a page; with the lock held.  NULL: no thread is to be
 * had, or too many of its user's have not ended yet; the client sends BELL instead.
 */
struct gs_attendant *gs_attendant_start(struct gs_peer *peer);

/* The peer goes, its page becomes the attendant's, which unmaps it and ends; with the lock held. */
void gs_attendant_end(struct gs_attendant *attendant);

/* Wait, without the lock, until those that were told to end have done so, a second at most. */
void gs_attendants_wait(void);

#endif
