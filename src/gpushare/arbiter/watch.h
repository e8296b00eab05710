/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a client's page and finds out what happened since the last poll. Pure: writes nothing to
 * the page. Times are ns of the monotonic clock.
 *
 * The page is shared with a user's process. So every word is read once, clamped, and never used
 * unchecked as an index. A client that writes nonsense spoils only its own figures. A value that is
 * no launch state is reported (`bad`) and ends the connection.
 */
#ifndef GPUSHARE_ARBITER_WATCH_H
#define GPUSHARE_ARBITER_WATCH_H

#include <stdint.h>

#include "gpushare/proto/page.h"

/* Upper bounds for what a page may claim. */
#define GS_WATCH_NT_MAX (UINT64_C(1) << 40)
#define GS_WATCH_STAYING_NS UINT64_C(500000000)           /* for a launch whose time is not known */
#define GS_WATCH_ALONE_MAX (UINT64_C(86400) * 1000000000) /* a day, ns */

/* Events of one slot in one poll at most: one launch ended, another came and may have ended as
 * well; or a launch continued and left. */
#define GS_WATCH_SLOT_EVENTS 5
/* The time of a running launch is booked in portions of this size. */
#define GS_WATCH_BOOK_NS UINT64_C(1000000)
#define GS_WATCH_WAITS_NS UINT64_C(2000000) /* gs_found.waiting */

/* The order to leave that a slot's launch was last given. */
struct gs_leave_order {
	uint64_t number;     /* number of the launch that was told to leave */
	uint64_t given_ns;   /* when */
	uint64_t done;       /* block-tasks that it had finished then */
	uint8_t stands;      /* the launch has not left since */
	uint8_t had_started; /* the launch was on the GPU then */
};

/* What the last polls found in a slot. */
struct gs_seen {
	uint64_t number; /* number of the launch that was last seen in the slot, from 1; 0: none */
	uint64_t nt, done, alone_ns;
	uint64_t since_ns;      /* when that launch was first seen */
	uint64_t not_before_ns; /* when the last poll was that did not see the launch yet */
	/*
	 * since when the launch, which is out, has been in the way of another client; 0: it is not
	 */
	uint64_t requested_ns;
	uint64_t on_gpu_ns; /* when the last poll found it on the GPU; 0: it did not */
	uint64_t ran_ns;    /* time on the GPU, summed up from poll to poll */
	uint64_t booked_ns; /* time on the GPU that events have reported */
	struct gs_leave_order order;
	uint32_t kernel;
	uint32_t dims;
	uint8_t evictable;
	uint8_t cut;     /* it has left the GPU with block-tasks remaining */
	uint8_t adopted; /* it was there before the first poll, so part of it was not seen */
	uint8_t live;    /* it was READY, TORUN, RUNNING or TOEVICT */
	uint8_t timed;   /* its measured time has been seen */
};

struct gs_watch {
	struct gs_seen seen[GS_PAGE_SLOTS];
	uint64_t last_number; /* highest launch number seen */
	uint64_t past_nt;     /* block-tasks of the launches of this busy period that are DONE */
	uint64_t past_alone_ns;
	/* when the last poll was, and the one before it; 0: there was none */
	uint64_t polled_ns, polled_before_ns;
	uint8_t was_live; /* it found a live launch */
	/* how much of the time that has passed no prediction has claimed yet (slot_events.h) */
	uint64_t unclaimed_ns;
	/*
	 * time per block-task in ps by kernel number, for launches that report no time; NULL: none
	 */
	const uint64_t *tpt_ps;
	uint32_t kernels; /* entries of tpt_ps */
	/* a launch that takes longer to leave counts as one that cannot leave; ns */
	uint64_t leave_most_ns;
};

/*
 * RAN: the launch continues, and its time so far is to be booked. LEFT: the launch was on the GPU
 * when it was told to leave, and has left. TIMED: its own time has been measured since it was first
 * seen.
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
	/* FINISHED: from when it was first seen until now; LEFT: from the order until now */
	uint64_t ns;
	uint64_t alone_ns; /* reported by the client, or learned earlier */
	uint64_t ran_ns;   /* RAN, FINISHED: time on the GPU beyond what was booked before */
	uint64_t whole_ns; /* FINISHED: whole time on the GPU; 0: not known */
	uint64_t nt;       /* LAUNCHED, FINISHED: block-tasks */
	/* LAUNCHED, TIMED: time per block-task as the client reported it; 0: it did not. FINISHED:
	 * as the polls saw it; 0: nothing new */
	uint64_t tpt_ps;
	/* LAUNCHED, TIMED, FINISHED: gs_slot_dims() of its blocks; 0: not reported */
	uint32_t dims;
	uint32_t why;      /* LAUNCHED: enum ptx_reason why it is not evictable; 0: not reported */
	uint8_t evictable; /* LAUNCHED, RAN, FINISHED */
};

/* Which of a client's launches wait for the GPU, and which are on it. */
struct gs_found {
	uint32_t queued;     /* READY or TORUN */
	uint32_t live;       /* READY, TORUN, RUNNING or TOEVICT */
	uint32_t on_gpu;     /* RUNNING or TOEVICT, and started */
	uint32_t off_gpu;    /* RUNNING or TOEVICT, not started */
	uint32_t staying;    /* those of on_gpu that cannot be told to leave */
	uint64_t staying_ns; /* the time alone of the longest of `staying`, as far as is known */
	/* live launches that cannot leave within leave_most_ns: not evictable, slower, or of
	 * unknown speed */
	uint32_t staying_live;
	/* those of staying_live that an equal does not wait for either: not evictable, or not gone
	 * within several times leave_most_ns */
	uint32_t lasting_live;
	uint32_t staying_out; /* those of staying_live that are RUNNING or TOEVICT */
	/* those of staying_out with GS_SLOT_FEW that have been on the GPU for more than
	 * GS_WATCH_WAITS_NS: a collective's kernel that waits for another GPU, say */
	uint32_t waiting;
	/* the time alone of the longest live launch; UINT64_MAX: that of one is not known */
	uint64_t longest_ns;
	uint64_t longest_wide_ns; /* the same, of those without GS_SLOT_FEW */
	uint32_t undivided;       /* live launches without GS_SLOT_DIVIDES */
	/* READY, but with other work of the client queued behind it: evicted, or pre-enqueued */
	uint32_t put_back;
	/* the earliest gs_seen.requested_ns of the launches on the GPU; 0: none */
	uint64_t requested_ns;
	/* the slots of on_gpu and off_gpu, one bit each */
	uint64_t out[(GS_PAGE_SLOTS + 63) / 64];
};

/* What one poll found. */
struct gs_poll {
	struct gs_found found;
	uint32_t ready, torun, running, toevict; /* slots in each state */
	/* number of slots whose state is no launch state */
	uint32_t bad;
	uint32_t bad_state; /* one of these values */
	/* of the busy period: launches that are DONE and live ones */
	uint64_t nt, done, alone_ns;
	uint64_t launches; /* new launches, by the client's numbering */
	/* alone time of the block-tasks that were found done since the last poll. The GPU says of a
	 * launch how many are when it leaves or ends. */
	uint64_t worked_ns;
	/* alone time of launches that came and ended between two polls, and of those without a
	 * slot, which a later launch reports */
	uint64_t unseen_ns;
	uint64_t untracked_ns; /* the part of it that is of launches without a slot */
	/* time on the GPU of the launches that have ended since the last poll, without what the
	 * polls saw of it before */
	uint64_t ended_ns;
	uint8_t goes_on; /* a launch was live at the last poll, and is */
	uint32_t preemptions;
	uint32_t nevents;
	struct gs_slot_event event[GS_WATCH_SLOT_EVENTS * GS_PAGE_SLOTS];
};

/*
 * Begins with a page that was in use: launches in it that have ended are not reported. The count of
 * launches still begins at the client's first, since the saved usage of an earlier daemon
 * (saved_usage.h) does not include this client's.
 */
void gs_watch_adopt(struct gs_watch *watch, const struct gs_page *page);

/* Polls the page: fills in *polled with what happened since the last poll. now: ns of the monotonic
 * clock. */
void gs_watch_poll(struct gs_watch *watch, const struct gs_page *page, uint64_t now,
		   struct gs_poll *polled);

/* The last poll of a client that is gone: a slot in PREP had a launch that ended before anybody
 * polled it. */
void gs_watch_last_poll(struct gs_watch *watch, const struct gs_page *page, uint64_t now,
			struct gs_poll *polled);

/* The client's busy period has ended. */
void gs_watch_period_end(struct gs_watch *watch);

/* Slot i is on the GPU and in the way of the next client; since `now`, if it was not before. */
void gs_watch_requested(struct gs_watch *watch, unsigned i, uint64_t now);

/* Slot i has just been told to leave, at `now`. */
void gs_watch_evicting(struct gs_watch *watch, const struct gs_page *page, unsigned i,
		       uint64_t now);

#endif
