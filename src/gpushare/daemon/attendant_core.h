/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An attendant's inside, shared by attendant.c and lookout.c. */
#ifndef GPUSHARE_DAEMON_ATTENDANT_CORE_H
#define GPUSHARE_DAEMON_ATTENDANT_CORE_H

#include <sched.h>
#include <sys/queue.h>

#include "gpushare/daemon/attendant.h"

struct gs_attendant {
	LIST_ENTRY(gs_attendant) link; /* under the lock */
	struct gs_peer *peer; /* NULL: end; under the lock */
	_Atomic int over;     /* the same */
	uid_t uid;
	struct gs_page *page;
	pid_t pid;
	uint32_t cpu;         /* that it was last bound to, or may not be */
	int near;             /* it was bound to it */
	int prompt;           /* RealTime= */
	cpu_set_t home;       /* where the daemon may be */
	int lookout;          /* it has no thread, the lookout's is there: */
	struct gs_attendant *next;
	uint32_t seen;        /* what the client had asked */
	int asks;
};

LIST_HEAD(gs_attendants, gs_attendant);

/* All that there are; under the lock. */
extern struct gs_attendants gs_attendants;

/* The client has asked: its page is looked at in its GPU's next turn; with the lock held.  0: the peer is gone. */
int gs_attendant_hear(struct gs_attendant *attendant);

/* Its page goes, and it; with the lock held. */
void gs_attendant_free(struct gs_attendant *attendant);

#endif
