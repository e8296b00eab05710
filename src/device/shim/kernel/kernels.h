/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim knows of the program's modules and kernels.  Records live as
 * long as the process; a handle that the driver uses again gets a new record.
 */
#ifndef GPUSHARE_SHIM_KERNELS_H
#define GPUSHARE_SHIM_KERNELS_H

#include <stdint.h>

#include "device/ptx/transform.h"
#include "device/shim/kernel/modules.h"
#include "device/shim/base/shim.h"
#include "device/shim/kernel/times.h"

struct shim_session;
struct shim_graph;
struct shim_loaded;
struct shim_variant;

/* Shapes that are told apart; the last entry is that of all others. */
#define SHIM_DIMS_MAX 6

/* How far the making of a kernel's variants has come. */
enum shim_build { SHIM_BUILD_NOT, SHIM_BUILD_WANTED, SHIM_BUILD_OVER };

/*
 * What the reports are told of a kernel beside its form (launch/facts.h).  Each is written alone:
 * a report may have the waves of one long launch and the block time of the next.
 */
struct shim_facts {
	_Atomic uint64_t since_s; /* of the epoch: when a launch was a variant first; 0: none was */
	_Atomic uint64_t blocks;  /* of the last long launch; 0: there was none */
	_Atomic uint64_t block_ns;  /* what one of them takes */
	_Atomic uint64_t occupancy; /* the last that was asked for: threads of a block, dynamic
				       shared memory, blocks of an SM */
	_Atomic uint32_t at_once;   /* blocks of that launch that the GPU holds at once */
	_Atomic uint32_t changed;   /* the daemon has not been told */
};

/* A kernel of a module: what is the same under all of its handles.  Also a graph's. */
struct shim_code {
	char *name;
	uint32_t number;            /* announced to the daemon as this */
	uint32_t registers;         /* of a thread, as written; 0: not known */
	uint64_t content;           /* shim_image_content() of its module; 0: not known */
	struct shim_module *module; /* NULL: not seen */
	_Atomic(struct shim_variant *)
		variants;           /* in each context where there is one (variant.h) */
	_Atomic uint32_t transform; /* enum ptx_transform_kind of the newest of them; AS_IS: none */
	_Atomic uint32_t reason;    /* enum ptx_reason: why there is none */
	_Atomic uint32_t build;     /* enum shim_build */
	_Atomic int cache_config; /* CUfunc_cache, as the program has set it last; 0: it has not */
	struct shim_facts facts;
};

/* A handle to a kernel, or an executable graph. */
struct shim_kernel {
	/* What launches look at, with the time in the first shape. */
	_Alignas(SHIM_PAIR) const void *_Atomic handle; /* CUfunction or CUkernel; NULL: no more */
	struct shim_kernel *next;                       /* of the same hash bucket, older */
	/* What is found out of its code where it was launched last; written together
	 * (shim_kernel_count()). */
	const void *_Atomic counted_in; /* the struct shim_context that has been charged with its
					   local memory */
	/*
	 * Local memory of a thread, bytes, known once it is counted in any.  Of a graph: the most
	 * that a launch of it may need, what it needs surely (graph.c).
	 */
	_Atomic uint32_t local_bytes[2];
	_Atomic uint32_t nodes; /* of a graph; 0: it is none */
	_Atomic uint32_t
		branches; /* of a graph: so many of its nodes may be at work at once, at most */
	/*
	 * Where it is counted, what the driver is given for what goes untracked: of a library's
	 * kernel its function there, which saves the driver looking for it
	 * (doc/measurements/h200-handles.csv).
	 */
	CUfunction _Atomic direct;
	_Atomic uint32_t counts; /* so often; odd: it is being counted */
	struct shim_code *code;
	struct shim_time time[SHIM_DIMS_MAX];
	CUfunction original;
	atomic_flag placed;  /* of a place in shim_place: it is some record's */
	const void *library; /* of a library's kernel; NULL: it is a function, or not known */
	struct shim_loaded
		*_Atomic loaded;  /* where it is loaded, as far as is known last (loading.c) */
	struct shim_graph *graph; /* what is known of its kernels: graph.c's */
	_Atomic uint64_t
		untracked_told; /* of the untracked launches: what the daemon has been told */
	_Atomic uint64_t evictable_launches;
	_Atomic uint32_t why; /* enum ptx_reason: the last one that was not evictable, of those with
				 a slot */
	_Atomic uint64_t evictions; /* of those: times that one has left with work remaining */
};

/*
 * A hash table that is read without a lock, since every launch looks its kernel up.  The first
 * record of a bucket has its place in the table: what a launch reads of it is on its way from
 * memory at once, and not when the bucket is there.  There a handle is gone once a newer record has
 * it.
 */
#define SHIM_BUCKET_BITS 10
extern struct shim_kernel shim_place[1 << SHIM_BUCKET_BITS] __attribute__((visibility("hidden")));
extern _Atomic(struct shim_kernel *) shim_bucket[1 << SHIM_BUCKET_BITS]
	__attribute__((visibility("hidden"))); /* newest first */

static inline size_t shim_bucket_of(const void *handle)
{
	return (size_t)(((uintptr_t)handle >> 4) * UINT64_C(0x9E3779B97F4A7C15) >>
			(64 - SHIM_BUCKET_BITS));
}

/* Its record, if there is one already. */
static SHIM_INLINE struct shim_kernel *shim_kernel_seen(const void *handle)
{
	size_t bucket = shim_bucket_of(handle);
	struct shim_kernel *k = &shim_place[bucket];

	if (!SHIM_RARELY(atomic_load_explicit(&k->handle, memory_order_acquire) != handle))
		return handle ? k : NULL;
	for (k = atomic_load_explicit(&shim_bucket[bucket], memory_order_acquire);
	     k && k->handle != handle; k = k->next)
		;
	return k;
}

/* It is counted in that context, and launched there so; NULL: nowhere. */
void shim_kernel_count(struct shim_kernel *k, const void *context, CUfunction direct);

/* Is it in this one?  *direct: what is launched there. */
static SHIM_INLINE int shim_kernel_counted_in(const struct shim_kernel *k, const void *context,
					      CUfunction *direct)
{
	uint32_t counts = atomic_load_explicit(&k->counts, memory_order_acquire);
	const void *in = atomic_load_explicit(&k->counted_in, memory_order_acquire);

	*direct = atomic_load_explicit(&k->direct, memory_order_acquire);
	return in == context && !(counts & 1) &&
	       atomic_load_explicit(&k->counts, memory_order_relaxed) == counts;
}

/* A module or library is about to be unloaded: its kernels' handles may come again for others. */
void shim_kernels_unloaded(const void *module);

/* The program got a kernel's handle by name: a CUfunction of a module, or a CUkernel of a library.
 */
void shim_kernel_add(const void *module, int library, const void *handle, const char *name);

/* The CUfunction of a library's kernel in the current context (cuKernelGetFunction). */
void shim_kernel_alias(const void *known, const void *handle);

/* Its record; one that says UNSEEN for a handle never seen.  NULL: no memory. */
struct shim_kernel *shim_kernel_find(const void *handle);

/* A graph's, as for a kernel. */
struct shim_kernel *shim_graph_find(CUgraphExec graph);

/*
 * The driver has given out the handle of an executable graph: what was known of another one with
 * that handle does not hold for it.  frame: the largest of its kernels', as far as they are known.
 */
void shim_kernel_graph(const void *handle, uint32_t local_bytes, uint32_t nodes, uint32_t branches);

/* Why it has no variant, or if it has one: why the last launch that was not evictable was not.
 * NONE: there was none. */
enum ptx_reason shim_kernel_why(const struct shim_kernel *k);

/* Its time in so many blocks of that shape (of a graph: zeros, 1). */
struct shim_time *shim_kernel_time(struct shim_kernel *k, const unsigned int block[3],
				   uint64_t tasks);
/* If it has an entry of its own already. */
static SHIM_INLINE struct shim_time *shim_kernel_time_seen(struct shim_kernel *k, uint32_t dims)
{
	for (size_t i = 0; i < SHIM_DIMS_MAX - 1; i++)
		if (!SHIM_RARELY(atomic_load_explicit(&k->time[i].dims, memory_order_relaxed) !=
				 dims))
			return &k->time[i];
	return NULL;
}

uint64_t shim_kernel_launches(const struct shim_kernel *k);

/* Of its launches without a slot, as many as have not been taken yet: the caller tells the daemon
 * of them. */
uint32_t shim_kernel_take_untracked(struct shim_kernel *k);

/*
 * While its time in so many such blocks is not known: what the daemon has learned of it in
 * earlier jobs is its time until it has been timed here.  Asks once.  part: of the
 * block-tasks that count (shim_request.tasks), those that there are; it is taken for what it was
 * then.
 */
void shim_kernel_recall(struct shim_session *s, struct shim_kernel *k, struct shim_time *t,
			const unsigned int block[3], uint64_t tasks, double part);

/* Every record, the newest of a bucket first. */
void shim_kernels_each(void (*visit)(struct shim_kernel *k, void *user), void *user);

/* Tell the daemon of a kernel again: more is known of it. */
void shim_kernel_tell(struct shim_session *s, const struct shim_code *code);

/* Tell a new daemon of every kernel known so far. */
void shim_kernels_announce(struct shim_session *s);

/* In a forked child: its parent's kernels are not its own. */
void shim_kernels_forked(void);

#endif
