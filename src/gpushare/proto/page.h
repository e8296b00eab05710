/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page that one client, the daemon and the GPU share.
 *
 * It is a sealed memfd of GS_PAGE_SIZE bytes, which the daemon makes and passes over the socket; a
 * client that finds a new daemon passes its page back. The client registers it with the driver, so
 * the GPU can write to it. Fields have fixed widths and native byte order, since all parties are on
 * one host. Every access that another party can see goes through the helpers below. The daemon
 * treats every word as hostile input: it never uses one as an index or a size without a check.
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
/* From this bit on, if the launch cannot leave: why (enum ptx_reason; 0: not reported). */
#define GS_SLOT_WHY_SHIFT 1
#define GS_SLOT_WHY_MAX 63u
/*
 * In DONE, or in PREP after it: alone_ns is the measured time. The flag is set after alone_ns, and
 * cleared before the next launch writes the slot. So if it is set both before and after a reader
 * reads the slot, what was read belongs to one launch.
 */
#define GS_SLOT_TIMED 128u
/* The time that a client reports for launches without a slot counts up to this many ns
 * (gs_slot.leave_ns of a launch that cannot leave). */
#define GS_SLOT_UNTRACKED_NS_MAX UINT64_C(200000000)
/*
 * In READY: the launch waits in its stream for the slot to become RUNNING, and whoever writes
 * RUNNING releases it. The client sets the flag once the driver has all of the launch; whoever
 * moves the slot from READY to RUNNING clears the flag first.
 */
#define GS_SLOT_PREENQUEUED 256u
/* The launch has at most half as many blocks as the GPU has multiprocessors. */
#define GS_SLOT_FEW 512u
/* The launch keeps to gs_priorities.part. */
#define GS_SLOT_DIVIDES 1024u
/* From this bit on: gs_slot_dims() of the launch. Bits 11 to 15 are free. */
#define GS_SLOT_DIMS_SHIFT 16

/* One launch of one kernel (EffiSha, section 6.1). */
struct gs_slot {
	/* The GPU writes these sixteen bytes at once when the launch has left or has ended. */
	_Atomic uint32_t state; /* enum gs_launch_state */
	/* the GPU writes 1 when the launch begins; the client zeroes it before */
	_Atomic uint32_t started;
	/* N_t: finished block-tasks; the GPU writes it when the last block leaves */
	_Atomic uint64_t done;
	_Atomic uint32_t kernel; /* the kernel's number, see GS_MSG_KERNEL */
	_Atomic uint32_t flags;  /* GS_SLOT_* */
	_Atomic uint64_t nt;     /* NT: block-tasks of the launch */
	/* NT x tpt as the client has learned it, ns; 0: not known yet. With GS_SLOT_TIMED: as
	 * measured */
	_Atomic uint64_t alone_ns;
	_Atomic uint64_t seq; /* launch number within the client, ascending from 0 */
	/* how often this launch has left with work remaining; the client writes it */
	_Atomic uint64_t evictions;
	/*
	 * Evictable: how long it takes to leave when told to, ns, as the client has learned it; 0:
	 * not known. Otherwise: alone time of the client's launches without a slot since its last
	 * launch of this kind, ns.
	 */
	_Atomic uint64_t leave_ns;
};

/* Who notices that `requested` has changed (gs_page_request). */
enum gs_attended {
	GS_ATTENDED_NOT,   /* nobody, so the client must send DOORBELL */
	GS_ATTENDED,       /* a thread that sleeps on it */
	GS_ATTENDED_AWAKE, /* a thread that polls it and need not be woken */
};

/* What other clients need of this client's launches. */
enum gs_contended {
	GS_CONTENDED_NOT, /* no other client waits */
	GS_CONTENDED,     /* another client waits for the GPU */
	/* no client waits, but another one should run as soon as they end: every launch needs a
	 * slot */
	GS_CONTENDED_TRACKED,
	/* no client waits for their end, but only few may be queued, since others launch at any
	 * moment */
	GS_CONTENDED_QUEUE,
	/* a less urgent client should run roughly when they end: only some of them need a slot */
	GS_CONTENDED_SPARSE,
};

/* May kernels of other clients be on the GPU together with this client's? */
enum gs_beside {
	GS_BESIDE_NOBODY,
	GS_BESIDE_SLICED,   /* yes, in contexts of their own, between which the driver switches */
	GS_BESIDE_TOGETHER, /* yes, in one context (MPS): they run at the same time */
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
	GS_COPY_TELL, /* has a run, and has the daemon look: another client is copying */
	GS_COPY_CUT,  /* the same; and a large one goes out in chunks, behind the copy barrier */
	/* has the daemon look, and has a run only while the call lasts: no client is copying. A
	 * client of an earlier version takes it for TELL. */
	GS_COPY_FIRST,
};

/*
 * A copy that is under way.  The client makes it and frees it once done is chunks; as the copy goes
 * on the GPU writes state and done, or the client where it copies chunk by chunk itself.  One that
 * has begun waits for nothing but the engine, so the client also says it of a copy that is the
 * first of its stream.
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
};

/*
 * What depends on priorities. As for the copies, a page of an earlier version does not have this.
 *
 * The client writes which launches have a priority of their own (gpushare.h). An entry of of_slot[]
 * is 1 + that priority, or GS_PRIORITY_OF_CLIENT if the launch has none. It is valid from when the
 * slot leaves PREP.
 *
 * The daemon writes leave_most_us, in us: a kernel that takes longer than this to leave goes out as
 * written; 0: there is no bound.
 *
 * It writes part as well (arbiter/corun.h): of the blocks that fit on the GPU, a launch with
 * GS_SLOT_DIVIDES has so many, in GS_PAGE_PARTS parts of all. It counts when the blocks begin, also
 * for a launch that has waited in its stream. 0: CoRun= is off, and launches need not look.
 *
 * It also writes the words of the launch barrier (arbiter/launch_barrier.h). While wait_every_us is
 * not 0, a more urgent client may come at any moment: the client has the GPU wait in its streams
 * until launches_open is 1, before launches that cannot be evicted, once for so many us of their
 * predicted time. The daemon closes the barrier for 20 ms at most in each burst of the more urgent
 * client's work, and counts how often it does.
 *
 * While less urgent clients use the GPU, tell is not NOT. The client then writes into until_ns
 * (monotonic clock) when what it has launched should have ended, and looks at tell. If that is
 * NEXT, it makes it SEEN and makes the daemon look (gs_page_request). When the client has paused,
 * the daemon makes tell NEXT and then looks at until_ns once more.
 */
#define GS_PRIORITY_OF_CLIENT 0u
#define GS_PAGE_PARTS 1024u
enum gs_launch_tell { GS_LAUNCH_TELL_NOT, GS_LAUNCH_TELL_NEXT, GS_LAUNCH_TELL_SEEN };
struct gs_priorities {
	_Atomic uint32_t used;      /* 1: the program has set priorities of threads or streams */
	_Atomic uint32_t overruled; /* 1: they do not count: the client is in a critical region */
	_Atomic uint16_t of_slot[GS_PAGE_SLOTS];
	_Atomic uint32_t leave_most_us;
	_Atomic uint32_t wait_every_us, launches_open;
	_Atomic uint32_t tell;     /* enum gs_launch_tell */
	_Atomic uint32_t closings; /* wraps around */
	_Atomic uint32_t part;
	uint32_t unused;
	_Atomic uint64_t until_ns; /* in a cache line of its own: the client writes it often */
	uint8_t reserved[GS_PAGE_SIZE - GS_PAGE_SIZE_BEFORE - sizeof(struct gs_copies) - 44 -
			 2 * GS_PAGE_SLOTS];
};

/* Identifies the page. Check this first after mapping one. */
struct gs_page_head {
	_Atomic uint32_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t slots; /* GS_PAGE_SLOTS */
};

/* The client's driver calls (IdleReclaim). */
struct gs_page_calls {
	_Atomic uint32_t wanted; /* written by the daemon: 1 if the client should count them */
	/* written by the client: how many calls have begun and ended, in that order in memory; both
	 * wrap around. begun is 0 while the client does not count. */
	_Atomic uint32_t begun, ended;
	_Atomic uint32_t reserved[3];
};

struct gs_page {
	struct gs_page_head head;
	_Atomic uint32_t grant; /* written by the daemon: 1 while the client may launch */
	/* written by the daemon: +1 and a futex wake when a state has changed */
	_Atomic uint32_t doorbell;
	/*
	 * written by the client: the doorbell value up to which its eviction signals are on the GPU
	 */
	_Atomic uint32_t heard;
	_Atomic uint32_t contended; /* written by the daemon: enum gs_contended */
	/* written by the daemon: 1 while another client waits for the GPU or has used it lately */
	_Atomic uint32_t shared;
	/* bytes of device memory that the client may take without asking; written by both */
	_Atomic uint64_t lease;
	/* written by the client: the most device memory that it has held, bytes */
	_Atomic uint64_t peak;
	/* written by the daemon, after beside: how often that has become other than
	 * GS_BESIDE_NOBODY; wraps around. The client reads this one first when a launch goes out,
	 * and last when it has ended. */
	_Atomic uint32_t besides;
	/* written by the client: slots from this one on were never in use; 0: it does not say */
	_Alignas(64) _Atomic uint32_t used;
	_Atomic uint32_t attended; /* written by the daemon: enum gs_attended */
	/* written by the client: +1, and a futex wake unless the arbiter is awake, to make the
	 * daemon look at the page */
	_Atomic uint32_t requested;
	/* written by the client: how many threads check by themselves whether their launch may run,
	 * and need not be woken. Earlier versions' clients write the four bytes before it. */
	_Alignas(16) _Atomic uint32_t awake;
	/* written by the daemon: 1 while no other client has come to the GPU */
	_Atomic uint32_t only;
	/* written by the daemon: 1 if a launch that waits for its time slice should be in its
	 * stream already (GS_SLOT_PREENQUEUED). Earlier versions' clients write the eight bytes
	 * before it. */
	_Alignas(32) _Atomic uint32_t preenqueue;
	_Atomic uint32_t beside; /* written by the daemon: enum gs_beside */
	struct gs_page_calls calls;
	struct gs_slot slot[GS_PAGE_SLOTS];
	struct gs_copies copies;
	struct gs_priorities priorities;
};

_Static_assert(sizeof(struct gs_slot) == 64, "a slot is one cache line");
_Static_assert(offsetof(struct gs_slot, started) == 4, "the GPU writes it");
_Static_assert(offsetof(struct gs_slot, done) == 8, "the GPU writes it");
_Static_assert(offsetof(struct gs_page, grant) == 12, "page layout");
_Static_assert(offsetof(struct gs_page, lease) == 32, "page layout");
_Static_assert(offsetof(struct gs_page, used) == 64, "page layout");
_Static_assert(offsetof(struct gs_page, awake) == 80, "page layout");
_Static_assert(offsetof(struct gs_page, preenqueue) == 96, "page layout");
_Static_assert(offsetof(struct gs_page, slot) == 128, "page layout");
_Static_assert(offsetof(struct gs_page, copies) == GS_PAGE_SIZE_BEFORE, "page layout");
_Static_assert(offsetof(struct gs_page, priorities) == GS_PAGE_SIZE_BEFORE + 1248, "page layout");
_Static_assert(offsetof(struct gs_page, priorities.until_ns) % 64 == 0, "page layout");
_Static_assert(sizeof(struct gs_page) == GS_PAGE_SIZE, "page layout");

/* Acquire load, release store, and compare-and-swap of a page's word. */
#define gs_page_load(field) atomic_load_explicit(&(field), memory_order_acquire)
#define gs_page_store(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/* Stores the value if it differs, since the other side reads the cache line all the time. */
#define gs_page_tell(field, value) \
	do { \
		if (gs_page_load(field) != (uint32_t)(value)) \
			gs_page_store(field, (uint32_t)(value)); \
	} while (0)

/* Does another client wait for the GPU? */
static inline int gs_page_waited_for(const struct gs_page *page)
{
	return gs_page_load(page->contended) == GS_CONTENDED;
}

/* The number of slots that must be read. Each slot is a cache line that another processor or the
 * GPU may have written, and most programs use few of them. */
static inline uint32_t gs_page_slots(const struct gs_page *page)
{
	uint32_t used = gs_page_load(page->used);

	return used && used < GS_PAGE_SLOTS ? used : GS_PAGE_SLOTS;
}

/*
 * Block dimensions and the grid's size class (the client's, from 0 on) in 16 bits; 0 for none. One
 * in tens of thousands of pairs gets the same value, and a wrong time per block-task is only a
 * prediction.
 */
static inline uint32_t gs_slot_dims(uint32_t x, uint32_t y, uint32_t z, uint32_t size)
{
	uint32_t h = ((x * 2654435761u ^ y) * 2654435761u ^ (size << 16 | z)) * 2654435761u;

	return x ? (h >> 16 ? h >> 16 : 1) : 0;
}

/* Moves a slot from one state to another. Returns 1 if this call did it, 0 if the state was not
 * `from`. */
static inline int gs_slot_move(struct gs_slot *slot, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&slot->state, &from, to);
}

/* Makes a new sealed page of that size, one of the two above. Returns its descriptor
 * (close-on-exec, owned by the caller) and the mapping in *page, or -1 with the reason. */
int gs_page_create(struct gs_page **page, uint32_t size, struct gs_error *err);

/* Is it a memfd that is sealed as a page is?  No file system is asked, whatever it is. */
int gs_page_is_sealed(int fd);

/*
 * Maps a page that another process passed. Refuses anything but a memfd of the right size that is
 * sealed against shrinking and growing and has a page of this version. Returns 0, or -1 with the
 * reason. The descriptor stays the caller's.
 */
int gs_page_map(int fd, struct gs_page **page, struct gs_error *err);

/* How many bytes of a mapped page the client and the daemon share. */
static inline uint32_t gs_page_shared(const struct gs_page *page)
{
	return gs_page_load(page->copies.shared) ? GS_PAGE_SIZE : GS_PAGE_SIZE_BEFORE;
}

/* Unmaps a page; NULL is fine. */
void gs_page_unmap(struct gs_page *page);

/* Adds one to the doorbell and wakes who sleeps on it: a thread for each slot, and
 * one more. */
void gs_page_doorbell(struct gs_page *page);

/* For the daemon: the same after `launches` launches were scheduled. Wakes nobody if at least as
 * many of the client's threads are awake and check by themselves. */
void gs_page_doorbell_for(struct gs_page *page, unsigned launches);

/* For the client: sleeps until the doorbell differs from `seen` or timeout_ns has passed (0: only
 * reads it). Returns the doorbell's value. */
uint32_t gs_page_wait(struct gs_page *page, uint32_t seen, uint64_t timeout_ns);

/* For the client: makes the daemon look at the page. Only for a page whose `attended` is not
 * GS_ATTENDED_NOT; a thread that sleeps on the word has been woken when this returns. */
void gs_page_request(struct gs_page *page);

#endif
