/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job step has had of the GPU: launches, time with the GPU, time waited, preemptions,
 * eviction latencies, and the same per kernel. Bounded, whatever a client announces. Pure; not
 * thread-safe.
 */
#ifndef GPUSHARE_ARBITER_STEP_USAGE_H
#define GPUSHARE_ARBITER_STEP_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/metrics/timing.h"
#include "gpushare/proto/page.h"

/* kernels of different names in a step, and kernel numbers of a client */
#define GS_STEP_USAGE_KERNELS_MAX 4096
#define GS_STEP_USAGE_SAMPLES 512 /* how many of the latest eviction latencies are kept */
#define GS_STEP_USAGE_KERNEL_SAMPLES \
	128 /* the same for one kernel; allocated at its first eviction */
#define GS_STEP_USAGE_NAME_MAX 128

/* The GPU time of launches. */
struct gs_step_usage_time {
	uint64_t gpu_ns;         /* time on the GPU (watch.h) */
	uint64_t unevictable;    /* launches that could not be evicted before their end... */
	uint64_t unevictable_ns; /* ...and their part of gpu_ns */
};

/* Copies in one direction (page.h). */
struct gs_copied {
	uint64_t copies, bytes;
	uint64_t host_ns;   /* threads were so long in copies that wait for their end */
	uint64_t waited_ns; /* copies were held back so long for others' */
};

/* What of a client's page is in its step's usage. */
struct gs_counted {
	uint64_t launches;
	struct gs_copied copied[GS_COPY_DIRECTIONS];
};

/* What a shim of the step last reported of a kernel's variant (GS_MSG_VARIANT). */
struct gs_step_usage_variant {
	uint32_t made_of; /* enum gs_made_of; 0: there is none */
	uint32_t at_once; /* blocks that the GPU holds at once; 0: not known */
	int64_t since_s;  /* s since the epoch when a launch first used the variant; 0: none has */
	/* time per block-task of the kernel as written and of the variant, ps; 0: not known */
	uint64_t written_ps, variant_ps;
	uint64_t blocks;   /* blocks of the last long launch; 0: there was none */
	uint64_t block_ns; /* the time of one such block */
};

struct gs_step_usage_kernel {
	char name[GS_STEP_USAGE_NAME_MAX];
	uint32_t hash;      /* hash of the name, for searching */
	uint32_t transform; /* enum ptx_transform_kind: the latest variant; 0: none yet */
	uint32_t reason;    /* enum ptx_reason */
	uint32_t registers;
	/* seen by the daemon or reported; a few launches of a lone client are missed */
	uint64_t launches;
	uint64_t preemptions;
	uint64_t finished;
	/* of the finished launches, from the first poll that saw them to DONE */
	uint64_t turnaround_ns;
	uint64_t alone_ns; /* the latest estimate of the time of one launch alone */
	uint64_t as_is_ns; /* the same of a launch that was not evictable; 0: none */
	struct gs_step_usage_time time;
	/* block-tasks of the launches that have ended and whose time is known... */
	uint64_t tasks;
	uint64_t tasks_ns; /* ...and their time */
	/* enum ptx_reason of the latest launch that was not evictable; 0: not reported */
	uint32_t why;
	uint64_t left;       /* how often it was on the GPU, was told to leave and has left */
	uint32_t *sample_us; /* the latest times that this took; NULL: none yet, or no memory */
	struct gs_step_usage_variant variant;
};

/* From the order to leave until the client had left the GPU. */
struct gs_step_usage_evicted {
	uint64_t n; /* evictions ever sampled; sample_us has the latest */
	uint32_t sample_us[GS_STEP_USAGE_SAMPLES];
	uint64_t quantiles_of; /* value of n when the two below were computed */
	double p50_us, p99_us;
};

/* Clients of the step ran beside others on a part of the GPU (corun.h). */
struct gs_step_usage_beside {
	uint64_t ns;
	uint64_t alone_ns; /* what they did in that time would have taken so long alone */
};

struct gs_step_usage {
	uint64_t launches;      /* exact: the clients number their launches */
	uint64_t periods;       /* busy periods: from the first READY to the last DONE */
	uint64_t turnaround_ns; /* time in which at least one client was busy */
	uint64_t booked_ns;     /* up to when that is booked */
	uint64_t active_ns; /* part of turnaround_ns with the GPU; what was shared counts in part */
	uint64_t waiting_ns; /* the rest of turnaround_ns */
	uint32_t present;    /* how many of its clients had kernels on the GPU at the latest step */
	uint32_t busy;       /* how many of them had work */
	uint64_t preemptions; /* launches that left with block-tasks remaining */
	uint64_t worked_ns;   /* when a client last had work; 0: never */
	struct gs_step_usage_evicted evicted;
	struct gs_step_usage_beside beside;
	/* of all kernels, including those that are not listed, or no longer */
	struct gs_step_usage_time time;
	struct gs_copied copied[GS_COPY_DIRECTIONS];
	struct gs_timing *timing; /* of its bursts (burst.h); NULL: the step has no deadline */
	struct gs_step_usage_kernel *kernel;
	uint32_t nkernel;
};

/* A client's kernels by the numbers that it announced. */
struct gs_kernel_map {
	uint16_t slot[GS_STEP_USAGE_KERNELS_MAX]; /* index into the usage's kernels + 1; 0: unknown
						   */
	uint64_t key[GS_STEP_USAGE_KERNELS_MAX];  /* key in learned.h; 0: none */
	/* time per block-task learned in earlier jobs, ps, once it has been looked up; 0: never
	 * seen */
	uint64_t tpt_ps[GS_STEP_USAGE_KERNELS_MAX];
};

/*
 * A client announces that its kernel `number` is called `name`; it may do so again when there is a
 * variant. Kernels of the same name in a step share an entry. Returns 0; -1 if the number is out of
 * range, the step has GS_STEP_USAGE_KERNELS_MAX names already, or there is no memory.
 */
int gs_step_usage_announce(struct gs_step_usage *usage, struct gs_kernel_map *map, uint32_t number,
			   const char *name, uint32_t transform, uint32_t reason,
			   uint32_t registers);

/* The entry of a client's kernel, owned by the usage and valid until the next announcement; NULL if
 * the client never announced it. */
struct gs_step_usage_kernel *gs_step_usage_kernel(struct gs_step_usage *usage,
						  const struct gs_kernel_map *map, uint32_t number);

/* Adds what a process reports of a kernel's variant; kernel NULL (not listed) does nothing. What
 * this process does not know keeps the value that another process of the step reported. */
void gs_step_usage_variant(struct gs_step_usage_kernel *kernel,
			   const struct gs_step_usage_variant *is);

/* The time of the variant over that of the kernel as written; the number of waves of its last long
 * launch. NAN: not known. */
double gs_step_usage_cost(const struct gs_step_usage_variant *variant);
double gs_step_usage_waves(const struct gs_step_usage_variant *variant);

/* Which part of the GPU time could leave before its end, percent. NAN: there was no GPU time. */
double gs_step_usage_evictable_pct(const struct gs_step_usage_time *time);

/* Counts an eviction that took `ns`, from the order until the client had left the GPU. */
void gs_step_usage_evicted(struct gs_step_usage_evicted *of, uint64_t ns);

/* Computes p50_us and p99_us of the latest eviction latencies; 0 if there are none. */
void gs_step_usage_quantiles(struct gs_step_usage_evicted *of);

/* Adds `launches` launches of a kernel (NULL: not listed), which together were on the GPU for ns;
 * evictable says whether they could leave. */
void gs_step_usage_ran(struct gs_step_usage *usage, struct gs_step_usage_kernel *kernel,
		       uint64_t ns, uint64_t launches, int evictable);

/* Counts that one launch of the kernel took `ns` to leave, from the order until a poll found it
 * gone. */
void gs_step_usage_left(struct gs_step_usage_kernel *kernel, uint64_t ns);

/* The quantile (0 to 1) of the latest times to leave, us; 0 if there are none. */
double gs_step_usage_left_us(const struct gs_step_usage_kernel *kernel, double quantile);

/* The step has ended: keeps only the `most` kernels with the most launches. */
void gs_step_usage_trim(struct gs_step_usage *usage, uint32_t most);

/* Copies *from to *to, which must be another usage, the timing if both have a place for it.
 * with_kernels: also copies the list of kernels;
 * otherwise `to` keeps its own list. If there is no memory for the list, `to` has none. */
void gs_step_usage_copy(struct gs_step_usage *to, const struct gs_step_usage *from,
			int with_kernels);

/* From now on the usage has a place for the step's bursts. Returns 0; -1: no memory. */
int gs_step_usage_time(struct gs_step_usage *usage);

/* Frees the kernels and the timing, not the usage itself. */
void gs_step_usage_fini(struct gs_step_usage *usage);

#endif
