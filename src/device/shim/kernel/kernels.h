/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the shim knows of the program's modules and kernels. Records live as long as the process. A
 * handle that the driver reuses gets a new record. */
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

/* How many pairs of block dimensions and grid size have a time of their own; the last entry is for
 * all others. */
#define SHIM_DIMS_MAX 6

/* How far the making of a kernel's variants has got. */
enum shim_build { SHIM_BUILD_NOT, SHIM_BUILD_WANTED, SHIM_BUILD_OVER };

/* What the reports need of a kernel besides its transform (launch/facts.h). Each field is written
 * separately: a report may combine the waves of one long launch with the block time of the next. */
struct shim_facts {
	/* seconds since the epoch when a launch first used a variant; 0: none has */
	_Atomic uint64_t since_s;
	_Atomic uint64_t blocks;   /* blocks of the last long launch; 0: there was none */
	_Atomic uint64_t block_ns; /* the time of one such block */
	/* the last occupancy that was queried: threads of a block, dynamic shared memory, blocks
	 * per SM */
	_Atomic uint64_t occupancy;
	_Atomic uint32_t at_once; /* blocks of that launch that the GPU holds at once */
	_Atomic uint32_t changed; /* not reported to the daemon yet */
};

/* A kernel of a module: what is the same under all of its handles. Also stands for a graph. */
struct shim_code {
	char *name;
	uint32_t number; /* the number under which it is announced to the daemon */
	/* registers per thread of the kernel as written; 0: not known */
	uint32_t registers;
	uint64_t content;           /* shim_image_content() of its module; 0: not known */
	struct shim_module *module; /* NULL: its loading was not seen */
	/* its variants, at most one for each context (variant.h) */
	_Atomic(struct shim_variant *) variants;
	/* enum ptx_transform_kind of the newest variant; AS_IS: there is none */
	_Atomic uint32_t transform;
	_Atomic uint32_t reason;  /* enum ptx_reason why there is no variant */
	_Atomic uint32_t build;   /* enum shim_build */
	_Atomic int cache_config; /* CUfunc_cache as the program last set it; 0: it has not */
	struct shim_facts facts;
};

/* A handle to a kernel, or an executable graph. */
struct shim_kernel {
	/* Read by launches, together with the first entry of `time`. */
	/* CUfunction or CUkernel; NULL: the handle is no longer valid */
	_Alignas(SHIM_PAIR) const void *_Atomic handle;
	/* the next older one of the same hash bucket */
	struct shim_kernel *next;
	/* What is known of the kernel in the context where it was launched last; written together
	 * by shim_kernel_count(). */
	/* the struct shim_context in which its local memory has been charged */
	const void *_Atomic counted_in;
	/* Local memory per thread, bytes; known once it has been counted in any context. For a
	 * graph: [0] the most that a launch may need, [1] what it needs for certain (graph.c). */
	_Atomic uint32_t local_bytes[2];
	_Atomic uint32_t nodes; /* for a graph; 0: it is a kernel */
	/* for a graph: how many of its nodes may run at once, at most */
	_Atomic uint32_t branches;
	/*
	 * What the driver is given for an untracked launch in the context where it is counted: for
	 * a library's kernel its function there, so that the driver need not look it up
	 * (doc/measurements/h200-handles.csv).
	 */
	CUfunction _Atomic direct;
	_Atomic uint32_t counts; /* version of these fields; odd while they are being written */
	struct shim_code *code;
	struct shim_time time[SHIM_DIMS_MAX];
	CUfunction original;
	atomic_flag placed;  /* set in shim_place while a record uses that place */
	const void *library; /* the library of a library's kernel; NULL: a function, or not known */
	/* for the function of a library's kernel in one context: that context, with which it goes;
	 * else NULL */
	CUcontext ctx;
	/* where it was last found to be loaded (loading.c) */
	struct shim_loaded *_Atomic loaded;
	struct shim_graph *graph; /* what graph.c knows of its kernels */
	/* how many of the untracked launches have been reported to the daemon */
	_Atomic uint64_t untracked_told;
	_Atomic uint64_t evictable_launches;
	/* enum ptx_reason of the last launch with a slot that was not evictable */
	_Atomic uint32_t why;
	_Atomic uint64_t evictions; /* how often evictable launches have left with work remaining */
};

/*
 * A hash table that is read without a lock, since every launch looks up its kernel. The first
 * record of a bucket is part of the table, so that the processor can fetch what a launch needs of
 * it at once, without reading the bucket first. Its handle is cleared once a newer record has the
 * same handle.
 */
#define SHIM_BUCKET_BITS 10
extern struct shim_kernel shim_place[1 << SHIM_BUCKET_BITS] __attribute__((visibility("hidden")));
extern _Atomic(struct shim_kernel *) shim_bucket[1 << SHIM_BUCKET_BITS]
	__attribute__((visibility("hidden"))); /* newest first */

/* The bucket of a handle. */
static inline size_t shim_bucket_of(const void *handle)
{
	return (size_t)(((uintptr_t)handle >> 4) * UINT64_C(0x9E3779B97F4A7C15) >>
			(64 - SHIM_BUCKET_BITS));
}

/* The handle's record, if there is one already; else NULL. */
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

/* Notes that the kernel is counted in that context, and launched there by `direct`; context NULL:
 * it is counted nowhere. */
void shim_kernel_count(struct shim_kernel *k, const void *context, CUfunction direct);

/* Is the kernel counted in this context? *direct: what is launched there. */
static SHIM_INLINE int shim_kernel_counted_in(const struct shim_kernel *k, const void *context,
					      CUfunction *direct)
{
	uint32_t counts = atomic_load_explicit(&k->counts, memory_order_acquire);
	const void *in = atomic_load_explicit(&k->counted_in, memory_order_acquire);

	*direct = atomic_load_explicit(&k->direct, memory_order_acquire);
	return in == context && !(counts & 1) &&
	       atomic_load_explicit(&k->counts, memory_order_relaxed) == counts;
}

/*
 * As shim_module_use() of the kernel's module. It returns 0 also if the kernel's handle is no
 * longer valid, although the module is loaded again: then the driver must not be asked about it.
 * While a variant of the kernel is being made its record gets no other handle.
 */
int shim_kernel_use(const struct shim_kernel *k);
void shim_kernel_unuse(const struct shim_kernel *k);

/* What the handle stands for is about to go, and then the handle may be reused. */
void shim_kernel_forget(struct shim_kernel *k);
/*
 * A module or library is about to be unloaded, and its kernels' handles may be reused for others.
 */
void shim_kernels_unloaded(const void *module);
/* The same for all that goes with a context: the kernels of its modules (call
 * shim_modules_ending() before), and the functions of libraries' kernels there. */
void shim_kernels_ending(CUcontext ctx);

/* The program has got a kernel's handle by name: a CUfunction of a module, or a CUkernel of a
 * library. */
void shim_kernel_add(const void *module, int library, const void *handle, const char *name);

/* `handle` is the CUfunction of a library's kernel in the current context (cuKernelGetFunction). */
void shim_kernel_alias(const void *known, const void *handle);

/* The handle's record, which is made if there is none; its reason is UNSEEN if the handle was never
 * seen. NULL: no memory. */
struct shim_kernel *shim_kernel_find(const void *handle);

/* The same for a graph. shim_graph_seen(): NULL if there is no record. */
struct shim_kernel *shim_graph_find(CUgraphExec graph);
struct shim_kernel *shim_graph_seen(CUgraphExec graph);

/*
 * The driver has made an executable graph with this handle, so what was known of an older graph
 * with the same handle is forgotten. local_bytes: the largest local memory per thread of its
 * kernels, as far as they are known.
 */
void shim_kernel_graph(const void *handle, uint32_t local_bytes, uint32_t nodes, uint32_t branches);

/* Why the kernel has no variant; if it has one, why its last launch that was not evictable was not.
 * NONE: there was no such launch. */
enum ptx_reason shim_kernel_why(const struct shim_kernel *k);

/* The kernel's time with these block dimensions and this number of block-tasks (for a graph: zeros
 * and 1). Never NULL; all shapes beyond the first few share an entry. */
struct shim_time *shim_kernel_time(struct shim_kernel *k, const unsigned int block[3],
				   uint64_t tasks);
/* The same, but only if they have an entry of their own already; else NULL. */
static SHIM_INLINE struct shim_time *shim_kernel_time_seen(struct shim_kernel *k, uint32_t dims)
{
	for (size_t i = 0; i < SHIM_DIMS_MAX - 1; i++)
		if (!SHIM_RARELY(atomic_load_explicit(&k->time[i].dims, memory_order_relaxed) !=
				 dims))
			return &k->time[i];
	return NULL;
}

/* How often the handle has been launched. */
uint64_t shim_kernel_launches(const struct shim_kernel *k);

/* Takes the number of launches without a slot that have not been taken yet; the caller reports them
 * to the daemon. */
uint32_t shim_kernel_take_untracked(struct shim_kernel *k);

/*
 * If the time for these dimensions is not known, asks the daemon, once, for what it learned in
 * earlier jobs, and uses that until a launch has been timed here. part: the launch's block-tasks
 * over those that count (shim_request.tasks).
 */
void shim_kernel_recall(struct shim_session *s, struct shim_kernel *k, struct shim_time *t,
			const unsigned int block[3], uint64_t tasks, double part);

/* Calls visit for every record, the newest of each bucket first. */
void shim_kernels_each(void (*visit)(struct shim_kernel *k, void *user), void *user);

/* Reports a kernel to the daemon again, after more has become known. */
void shim_kernel_tell(struct shim_session *s, const struct shim_code *code);

/* Reports every kernel known so far to a new daemon. */
void shim_kernels_announce(struct shim_session *s);

/* In a forked child: forgets the parent's kernels. */
void shim_kernels_forked(void);

#endif
