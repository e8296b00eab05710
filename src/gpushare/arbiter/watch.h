/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a client's page: from one look to the next, what happened?  Pure:
 * reads the page, writes nothing to it.
 *
 * The page's other side is a user's process, so every word is taken once, as
 * a snapshot, clamped, and never used as an index unchecked.  A client that
 * writes nonsense only spoils its own figures; a state that does not exist
 * is reported (`bad`) and ends the connection.
 */
#ifndef GPUSHARE_ARBITER_WATCH_H
#define GPUSHARE_ARBITER_WATCH_H

#include <stdint.h>

#include "gpushare/proto/page.h"

/* Clamps on what a page may claim. */
#define GS_WATCH_NT_MAX (UINT64_C(1) << 40)
#define GS_WATCH_STAYING_NS UINT64_C(500000000)           /* of a launch whose time nobody knows */
#define GS_WATCH_ALONE_MAX (UINT64_C(86400) * 1000000000) /* a day, ns */

/* One launch over, another come and maybe gone; or one that goes on, left. */
#define GS_WATCH_SLOT_EVENTS 5
/* The time of a launch that goes on is booked in portions of this. */
#define GS_WATCH_BOOK_NS UINT64_C(1000000)

/* The order to leave that a slot was given last. */
struct gs_leave_order {
	uint64_t number;     /* launch that was told to leave */
	uint64_t given_ns;   /* when */
	uint64_t done;       /* its N_t then */
	uint8_t stands;      /* it has not left since */
	uint8_t had_started; /* it was on the GPU then */
};

/* What is remembered of a slot. */
struct gs_seen {
	uint64_t number; /* launch that was last seen in it, from 1; 0: none */
	uint64_t nt, done, alone_ns;
	uint64_t since_ns;     /* when that launch was first seen */
	uint64_t requested_ns; /* when it was first in the way of another client, while it is out;
				  0: not yet */
	uint64_t on_gpu_ns; /* when it was last seen on the GPU; 0: it was not at the last look */
	uint64_t ran_ns;    /* from look to look, so long on the GPU */
	uint64_t booked_ns; /* of its time on the GPU, what events have told */
	struct gs_leave_order order;
	uint32_t kernel;
	uint32_t dims;
	uint8_t evictable;
	uint8_t cut;     /* it has left the GPU with block-tasks remaining */
	uint8_t adopted; /* it was there before the first look: not all of it was seen */
	uint8_t live;    /* it was READY, TORUN, RUNNING or TOEVICT */
	uint8_t timed;   /* its measured time has been seen */
};

struct gs_watch {
	struct gs_seen seen[GS_PAGE_SLOTS];
	uint64_t last_number; /* highest launch number so far */
	uint64_t past_nt;     /* of this busy period: launches that are DONE */
	uint64_t past_alone_ns;
	const uint64_t
		*tpt_ps;  /* learned, by kernel number, for launches that do not tell; NULL: none */
	uint32_t kernels; /* numbers that it has */
	uint64_t leave_most_ns; /* what takes longer to leave counts as if it could not */
};

/*
 * RAN: it goes on, and its time so far is to be booked.  LEFT: it was on the GPU when it was told
 * to leave it, and has. TIMED: what it took has been measured since it was first seen.
 */
enum gs_event_kind {
	GS_EV_LAUNCHED,
	GS_EV_RAN,
	GS_EV_LEFT,
	GS_EV_PREEMPTED,
	GS_EV_FINISHED,
	GS_EV_TIMED
};

struct gs_slot_event {
	enum gs_event_kind kind;
	uint32_t kernel;
	uint64_t ns;       /* FINISHED: from first seen until now; LEFT: from the order until now */
	uint64_t alone_ns; /* told by the client, or learned before */
	uint64_t ran_ns;   /* RAN, FINISHED: on the GPU, beyond what was booked before */
	uint64_t whole_ns; /* FINISHED: on the GPU in all */
	uint64_t nt;       /* LAUNCHED, FINISHED: block-tasks */
	uint64_t tpt_ps;   /* LAUNCHED, TIMED: per block-task, as the client told; 0: it did not.
			      FINISHED: as seen; 0: no news */
	uint32_t dims; /* LAUNCHED, TIMED, FINISHED: gs_slot_dims() of its blocks; 0: not told */
	uint32_t why;  /* LAUNCHED: not evictable, for this reason; 0: not told */
	uint8_t evictable; /* LAUNCHED, RAN, FINISHED */
};

/* What of a client's launches waits for the GPU, and what is on it. */
struct gs_found {
	uint32_t queued;       /* READY or TORUN */
	uint32_t live;         /* those, RUNNING and TOEVICT */
	uint32_t on_gpu;       /* RUNNING or TOEVICT, and started */
	uint32_t off_gpu;      /* RUNNING or TOEVICT, not started */
	uint32_t staying;      /* of those on the GPU, the ones that nobody can tell to leave */
	uint64_t staying_ns;   /* how long the longest of these takes alone, as far as is known */
	uint32_t staying_live; /* of the live ones, those that cannot leave the GPU within
				  leave_most_ns: left as it is, or slower, or not known */
	uint32_t staying_out;  /* of these, the ones that are RUNNING or TOEVICT */
	uint64_t longest_ns;   /* what the longest of the live ones takes alone; UINT64_MAX: nobody
				  knows of one */
	uint32_t put_back;     /* READY, and in the way of what is behind it: evicted, or
				  pre-enqueued */
	uint64_t requested_ns; /* when the first of those on the GPU was first in the way of another
				  client; 0: none was */
	uint64_t out[(GS_PAGE_SLOTS + 63) /
		     64]; /* the slots of on_gpu and off_gpu, a bit for each */
};

/* What one look found. */
struct gs_poll {
	struct gs_found found;
	uint32_t ready, torun, running, toevict; /* slots in each state */
	uint32_t bad;                            /* slots with a value that is no state */
	uint32_t bad_state;                      /* one of these values */
	uint64_t nt, done, alone_ns;             /* the busy period: DONE launches and live ones */
	uint64_t launches;                       /* new ones, by the client's numbering */
	uint64_t unseen_ns; /* alone time of launches that came and went between two looks */
	uint32_t preemptions;
	uint32_t nevents;
	struct gs_slot_event event[GS_WATCH_SLOT_EVENTS * GS_PAGE_SLOTS];
};

/*
 * Begin with a page that was in use: what is over in it is no news.  The count
 * of launches begins at the client's first all the same: what an earlier daemon has
 * passed on (saved_usage.h) is without them.
 */
void gs_watch_adopt(struct gs_watch *watch, const struct gs_page *page);

/* Compare the page with what was seen before.  now: ns of the monotonic clock. */
void gs_watch_poll(struct gs_watch *watch, const struct gs_page *page, uint64_t now,
		   struct gs_poll *polled);

/* The client is gone, so what is in PREP was launched, and over before anybody looked. */
void gs_watch_last_poll(struct gs_watch *watch, const struct gs_page *page, uint64_t now,
			struct gs_poll *polled);

/* The busy period is over. */
void gs_watch_period_end(struct gs_watch *watch);

/* Slot i is on the GPU, and in the way of the next client since `now`, unless it was before. */
void gs_watch_requested(struct gs_watch *watch, unsigned i, uint64_t now);

/* Slot i is about to be told to leave. */
void gs_watch_evicting(struct gs_watch *watch, const struct gs_page *page, unsigned i,
		       uint64_t now);

#endif
