/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page that one client, the daemon and the GPU share.
 *
 * A sealed memfd of GS_PAGE_SIZE bytes (a client of an earlier version has one of
 * GS_PAGE_SIZE_BEFORE), made by the daemon and passed over the socket; a client that finds a new
 * daemon passes its page back.  The client registers it with the driver, so the GPU writes to it as
 * well. Fixed-width fields, native byte order (one host); every access that another party can see
 * goes through the helpers below.  The daemon treats every word as hostile input: it never uses one
 * as an index or a size without a check.
 */
#ifndef GPUSHARE_PROTO_PAGE_H
#define GPUSHARE_PROTO_PAGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "gpushare/proto/launch_state.h"

#define GS_PAGE_MAGIC 0x47505347u /* "GPSG" */
#define GS_PAGE_VERSION 2u
#define GS_PAGE_SIZE 12288u
#define GS_PAGE_SIZE_BEFORE 8192u /* of earlier versions: all but the copies */
#define GS_PAGE_SLOTS 126u

/* gs_slot.flags, written by the client before PREP is left. */
#define GS_SLOT_EVICTABLE \
	1u /* leaves at a block-task boundary when told to; the client may take it back \
	      (shim/channels.h) */
/* From this bit on, if it does not: why (enum ptx_reason; 0: not told). */
#define GS_SLOT_WHY_SHIFT 1
#define GS_SLOT_WHY_MAX 63u
/*
 * DONE, or PREP since: alone_ns is what it took.  Set after that, and gone before the next launch
 * writes the slot: if it is there before and after, what was read in between belongs together.
 */
#define GS_SLOT_TIMED 128u
/* What the launches without a slot took, as the client says, counts up to so many ns (slot.leave_ns
 * of one that is left as it is). */
#define GS_SLOT_UNTRACKED_NS_MAX UINT64_C(200000000)
/*
 * READY: the launch waits in its stream for the slot to be RUNNING, and whoever writes that lets it
 * go.  The client sets it once the driver has all of it; whoever moves the slot from READY to
 * RUNNING takes it away first.
 */
#define GS_SLOT_PREENQUEUED 256u
/* From this bit on (9 to 15 are free): gs_slot_dims() of the launch. */
#define GS_SLOT_DIMS_SHIFT 16

/* One launch of one kernel (EffiSha, section 6.1). */
struct gs_slot {
	/* These sixteen bytes the GPU writes at once, when the launch has left or is over. */
	_Atomic uint32_t state; /* enum gs_launch_state */
	_Atomic uint32_t
		started; /* GPU writes 1 when the launch begins; the client zeroes it before */
	_Atomic uint64_t
		done; /* N_t: block-tasks finished; the GPU writes it as the last block leaves */
	_Atomic uint32_t kernel;   /* number of the kernel, as announced by GS_MSG_KERNEL */
	_Atomic uint32_t flags;    /* GS_SLOT_* */
	_Atomic uint64_t nt;       /* NT: block-tasks of the launch */
	_Atomic uint64_t alone_ns; /* NT x tpt as the client has learned it, ns; 0: not known yet.
				      GS_SLOT_TIMED: as measured */
	_Atomic uint64_t seq;      /* launch number within the client, ascending from 0 */
	_Atomic uint64_t
		evictions; /* times that this launch has left with work remaining (client) */
	_Atomic uint64_t
		leave_ns; /* evictable: how long it takes to leave when told to, as the client has
			   * learned it; 0: not known.  Else: alone time of the client's launches
			   * since its last slot that have none of their own */
};

/* Who sees that `requested` has changed (gs_page_request). */
enum gs_attended {
	GS_ATTENDED_NOT,   /* nobody: the client sends DOORBELL */
	GS_ATTENDED,       /* who sleeps on it */
	GS_ATTENDED_AWAKE, /* who polls it and need not be woken */
};

/* What the others are to the client's launches. */
enum gs_contended {
	GS_CONTENDED_NOT,     /* nobody waits */
	GS_CONTENDED,         /* somebody waits for the GPU */
	GS_CONTENDED_TRACKED, /* nobody waits, but somebody should come at their end: none is to go
				 without a slot */
	GS_CONTENDED_QUEUE, /* nobody waits for their end, but little is to be in front of those who
			       launch at any moment */
	GS_CONTENDED_SPARSE, /* a less urgent client should come about when they end: only some of
				them need a slot */
};

/* May kernels of other clients be on the GPU at the same time as this client's? */
enum gs_beside {
	GS_BESIDE_NOBODY,
	GS_BESIDE_SLICED,   /* in contexts of their own: the driver switches between them */
	GS_BESIDE_TOGETHER, /* in one context (MPS): they run at once */
};

/* Which way a copy goes.  OTHER: between two places on GPUs, and small ones of which nobody asks.
 */
enum gs_copy_direction { GS_COPY_TO_DEVICE, GS_COPY_TO_HOST, GS_COPY_OTHER, GS_COPY_DIRECTIONS };

/* The client's copies in one direction since it began; it alone writes them. */
struct gs_copies_made {
	_Atomic uint64_t copies, bytes;
	_Atomic uint64_t host_ns; /* its threads were so long in copies that wait for their end */
	uint64_t unused;
};

/* The directions in which there is an engine that clients share: TO_DEVICE and TO_HOST. */
#define GS_COPY_ENGINES 2

/* What a client does with its next copy in a direction, but for small ones. */
enum gs_copy_rule {
	GS_COPY_FREE, /* as without us */
	GS_COPY_TELL, /* has a run, and has the daemon look: another client may be copying */
	GS_COPY_CUT,  /* the same; and a large one goes out in chunks, behind the copy barrier */
};

/*
 * A copy that is under way.  The client makes it and frees it once done is chunks; as the copy goes
 * on the GPU writes state and done, or the client where it copies chunk by chunk itself.
 */
enum gs_copy_state { GS_COPY_NONE, GS_COPY_ENQUEUED, GS_COPY_BEGUN };
struct gs_copy_run {
	_Atomic uint32_t state; /* enum gs_copy_state; written last */
	_Atomic uint32_t way;   /* enum gs_copy_direction, of those with an engine */
	_Atomic uint32_t chunks, done;
	_Atomic uint32_t chunk_kib; /* of one chunk */
	uint32_t unused[3];
};
#define GS_COPY_RUNS 32

/*
 * The client's copies.  The copy barrier of a direction is the word `open`: the GPU waits before
 * each chunk until it is 1.  The daemon closes it, for 20 ms at most; while `forced` is not 0 it
 * stays open.  So: daemon: open = 0, then look at forced; client: forced += 1, then open = 1;
 * both sequentially consistent.
 */
struct gs_copies {
	_Atomic uint32_t shared; /* 1: the client and the daemon see the same; 0: a page of an
				    earlier version, behind which each has zeros of its own */
	_Atomic uint32_t rule[GS_COPY_ENGINES];      /* daemon: enum gs_copy_rule */
	_Atomic uint32_t chunk_kib[GS_COPY_ENGINES]; /* daemon: what is larger than two of these is
							cut into such; 0: into one */
	uint32_t unused[11];
	_Atomic uint32_t open[GS_COPY_ENGINES];
	_Atomic uint32_t forced; /* client: calls that must not meet a closed barrier */
	uint32_t unused_too[13];
	struct gs_copies_made made[GS_COPY_DIRECTIONS];
	struct gs_copy_run run[GS_COPY_RUNS];
	uint8_t reserved[GS_PAGE_SIZE - GS_PAGE_SIZE_BEFORE - 224 - 32 * GS_COPY_RUNS];
};

/* What kind of page it is: whoever maps one looks at this first. */
struct gs_page_head {
	_Atomic uint32_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t slots; /* GS_PAGE_SLOTS */
};

struct gs_page {
	struct gs_page_head head;
	_Atomic uint32_t grant;    /* daemon: 1 while the client may launch */
	_Atomic uint32_t doorbell; /* daemon: +1 and a futex wake when a state changed */
	_Atomic uint32_t heard;    /* client: the doorbell up to which its signals are on the GPU */
	_Atomic uint32_t contended; /* daemon: enum gs_contended */
	_Atomic uint32_t shared; /* daemon: 1 while another client waits for the GPU or has used it
				    of late */
	_Atomic uint64_t lease; /* bytes of device memory that the client may take without asking */
	_Atomic uint64_t peak;  /* client: the most device memory that it has held, bytes */
	_Atomic uint32_t unused[4];
	_Atomic uint32_t
		used; /* client: the slots from this one on were never in use; 0: it does not say */
	_Atomic uint32_t attended;  /* daemon: enum gs_attended */
	_Atomic uint32_t requested; /* client: +1, and a futex wake unless somebody is awake, when
				       the daemon should look */
	_Atomic uint32_t was_cpu;   /* clients of earlier versions write it; nobody reads it */
	_Atomic uint32_t awake; /* client: threads that look whether their launch may go, and need
				   not be woken */
	_Atomic uint32_t only;  /* daemon: 1 while no other client has come to the GPU */
	/* The eight bytes before it are written by clients of earlier versions, too. */
	_Alignas(32) _Atomic uint32_t
		preenqueue;      /* daemon: 1 where a launch that waits for its time slice had
		       better be in its stream (GS_SLOT_PREENQUEUED) */
	_Atomic uint32_t beside; /* daemon: enum gs_beside */
	_Atomic uint32_t reserved[6];
	struct gs_slot slot[GS_PAGE_SLOTS];
	struct gs_copies copies;
};

_Static_assert(sizeof(struct gs_slot) == 64, "a slot is one cache line");
_Static_assert(offsetof(struct gs_slot, started) == 4, "the GPU writes it");
_Static_assert(offsetof(struct gs_slot, done) == 8, "the GPU writes it");
_Static_assert(offsetof(struct gs_page, grant) == 12, "page layout");
_Static_assert(offsetof(struct gs_page, lease) == 32, "page layout");
_Static_assert(offsetof(struct gs_page, used) == 64, "page layout");
_Static_assert(offsetof(struct gs_page, preenqueue) == 96, "page layout");
_Static_assert(offsetof(struct gs_page, slot) == 128, "page layout");
_Static_assert(offsetof(struct gs_page, copies) == GS_PAGE_SIZE_BEFORE, "page layout");
_Static_assert(sizeof(struct gs_page) == GS_PAGE_SIZE, "page layout");

/* Acquire load, release store, and compare-and-swap of a page's word. */
#define gs_page_load(field) atomic_load_explicit(&(field), memory_order_acquire)
#define gs_page_store(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/* Store it if it is another: the other side reads the line all the time. */
#define gs_page_tell(field, value) \
	do { \
		if (gs_page_load(field) != (uint32_t)(value)) \
			gs_page_store(field, (uint32_t)(value)); \
	} while (0)

static inline int gs_page_waited_for(const struct gs_page *page)
{
	return gs_page_load(page->contended) == GS_CONTENDED;
}

/*
 * Where to stop looking for slots in use.  Each is a cache line that another
 * processor or the GPU may have written, and most programs use few of them.
 */
static inline uint32_t gs_page_slots(const struct gs_page *page)
{
	uint32_t used = gs_page_load(page->used);

	return used && used < GS_PAGE_SLOTS ? used : GS_PAGE_SLOTS;
}

/*
 * A block's shape and the size of the grid (the client's classes of it, from 0 on) in 16 bits, 0
 * for none: one in tens of thousands of pairs of shapes looks the same, and a wrong time per
 * block-task is only a prediction.
 */
static inline uint32_t gs_slot_dims(uint32_t x, uint32_t y, uint32_t z, uint32_t size)
{
	uint32_t h = ((x * 2654435761u ^ y) * 2654435761u ^ (size << 16 | z)) * 2654435761u;

	return x ? (h >> 16 ? h >> 16 : 1) : 0;
}

/* Move a slot from -> to; 1 if this call did it, 0 if the state was another. */
static inline int gs_slot_move(struct gs_slot *slot, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&slot->state, &from, to);
}

/*
 * Make a fresh sealed page of that size, one of the two above.  Returns its descriptor
 * (close-on-exec, owned by the caller) and the mapping in *page, or -1 with the reason.
 */
int gs_page_create(struct gs_page **page, uint32_t size, struct gs_error *err);

/*
 * Map a descriptor that somebody else passed.  Refuses anything but a memfd
 * of the right size that is sealed against shrinking and growing and holds a
 * page of this version.  The descriptor stays the caller's.
 */
int gs_page_map(int fd, struct gs_page **page, struct gs_error *err);

/* So many bytes of a mapped page are the same for both sides. */
static inline uint32_t gs_page_shared(const struct gs_page *page)
{
	return gs_page_load(page->copies.shared) ? GS_PAGE_SIZE : GS_PAGE_SIZE_BEFORE;
}

/* Unmap; NULL is fine. */
void gs_page_unmap(struct gs_page *page);

/* Daemon: doorbell += 1 and wake whoever sleeps on it. */
void gs_page_doorbell(struct gs_page *page);

/*
 * Daemon: the same for so many launches that may go now; nobody is woken if as
 * many threads are awake and look for themselves.
 */
void gs_page_doorbell_for(struct gs_page *page, unsigned launches);

/*
 * Client: sleep until the doorbell differs from `seen` or timeout_ns has passed
 * (0: only look).  Returns the doorbell's value.
 */
uint32_t gs_page_wait(struct gs_page *page, uint32_t seen, uint64_t timeout_ns);

/*
 * Client: have the daemon look at the page.  For a page with `attended` only; whoever sleeps on the
 * word is woken before this returns.
 */
void gs_page_request(struct gs_page *page);

#endif
