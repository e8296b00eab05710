/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job step has had of the GPU: launches, time held, time waited,
 * preemptions, eviction latencies, and the same per kernel.  Pure; bounded,
 * whatever a client announces.
 */
#ifndef GPUSHARE_ARBITER_STEP_USAGE_H
#define GPUSHARE_ARBITER_STEP_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/proto/page.h"

#define GS_STEP_USAGE_KERNELS_MAX 4096 /* kinds of kernel in a step, and numbers in a client */
#define GS_STEP_USAGE_SAMPLES 512      /* the latest eviction latencies kept */
#define GS_STEP_USAGE_KERNEL_SAMPLES \
	128 /* of one kernel, which has room for them once it is evicted */
#define GS_STEP_USAGE_NAME_MAX 128

/* Of launches. */
struct gs_step_usage_time {
	uint64_t gpu_ns;         /* on the GPU (watch.h) */
	uint64_t unevictable;    /* launches that nothing could make leave before their end... */
	uint64_t unevictable_ns; /* ...and theirs of gpu_ns */
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

/* As the shim of a process has told it last (GS_MSG_VARIANT). */
struct gs_step_usage_variant {
	uint32_t made_of; /* enum gs_made_of; 0: there is none */
	uint32_t at_once; /* blocks that the GPU holds at once; 0: not known */
	int64_t since_s;  /* of the epoch: when a launch was the variant first; 0: none was */
	uint64_t written_ps, variant_ps; /* what a block-task takes as either; 0: not known */
	uint64_t blocks;                 /* of the last long launch; 0: there was none */
	uint64_t block_ns;               /* what one of them takes */
};

struct gs_step_usage_kernel {
	char name[GS_STEP_USAGE_NAME_MAX];
	uint32_t hash;      /* of the name, to find it quickly */
	uint32_t transform; /* enum ptx_transform_kind: the latest variant; 0: none yet */
	uint32_t reason;    /* enum ptx_reason */
	uint32_t registers;
	uint64_t launches; /* seen by the daemon or told of: a few of a lone client's escape it */
	uint64_t preemptions;
	uint64_t finished;
	uint64_t turnaround_ns; /* of the finished ones, from first seen to DONE */
	uint64_t alone_ns;      /* the latest estimate of one launch alone */
	uint64_t as_is_ns;      /* the same of one that was not evictable; 0: none */
	struct gs_step_usage_time time;
	uint64_t tasks;    /* block-tasks of the launches that are over and have a time... */
	uint64_t tasks_ns; /* ...and that time */
	uint32_t why;  /* enum ptx_reason: the latest launch that was not evictable; 0: not told */
	uint64_t left; /* times that it was on the GPU, was told to leave and has */
	uint32_t *sample_us; /* how long that took, the latest; NULL: never, or no memory */
	struct gs_step_usage_variant variant;
};

struct gs_step_usage {
	uint64_t launches;      /* by the clients' own numbering: exact */
	uint64_t periods;       /* busy periods: from the first READY to the last DONE */
	uint64_t turnaround_ns; /* sum of the busy periods */
	uint64_t active_ns;     /* of that, with the GPU */
	uint64_t waiting_ns;    /* of that, without */
	uint64_t preemptions;   /* launches that left with block-tasks remaining */
	uint64_t worked_ns;     /* when a client last had work; 0: never */
	uint64_t evictions;     /* samples taken in all */
	uint32_t sample_us[GS_STEP_USAGE_SAMPLES];
	uint64_t quantiles_of; /* evictions when the two below were computed */
	double p50_us, p99_us;
	struct gs_step_usage_time
		time; /* of all kernels, also those that are not listed (any more) */
	struct gs_copied copied[GS_COPY_DIRECTIONS];
	struct gs_step_usage_kernel *kernel;
	uint32_t nkernel;
};

/* The kernels of a client by the numbers that it announced. */
struct gs_kernel_map {
	uint16_t slot[GS_STEP_USAGE_KERNELS_MAX]; /* index into the usage's kernels + 1; 0: unknown
						   */
	uint64_t key[GS_STEP_USAGE_KERNELS_MAX];  /* as learned.h knows it; 0: not at all */
	uint64_t tpt_ps[GS_STEP_USAGE_KERNELS_MAX]; /* learned in earlier jobs, once asked for; 0:
						       never seen */
};

/*
 * A client's kernel `number` is called `name`; it may say so again when there is a variant.
 * Kernels of one name in a step share an entry.  Returns 0; -1 when the number is out of range or
 * the step has GS_STEP_USAGE_KERNELS_MAX kinds already, or there is no memory.
 */
int gs_step_usage_announce(struct gs_step_usage *usage, struct gs_kernel_map *map, uint32_t number,
			   const char *name, uint32_t transform, uint32_t reason,
			   uint32_t registers);

/* The entry of a client's kernel, NULL if it never announced it. */
struct gs_step_usage_kernel *gs_step_usage_kernel(struct gs_step_usage *usage,
						  const struct gs_kernel_map *map, uint32_t number);

/*
 * More is known of a kernel's variant (NULL: of none that is listed).  What one process of the step
 * does not know of a kernel of that name does not take away what another has told.
 */
void gs_step_usage_variant(struct gs_step_usage_kernel *kernel,
			   const struct gs_step_usage_variant *is);

/* Time of the variant over that of the kernel as written; waves of its last long launch.  NAN: not
 * known. */
double gs_step_usage_cost(const struct gs_step_usage_variant *variant);
double gs_step_usage_waves(const struct gs_step_usage_variant *variant);

/* What part of that GPU time could leave before its end, percent.  NAN: there was none. */
double gs_step_usage_evictable_pct(const struct gs_step_usage_time *time);

/* An eviction took this long, from the order to the drained GPU. */
void gs_step_usage_evicted(struct gs_step_usage *usage, uint64_t ns);

/* Bring p50_us and p99_us up to date: of the latest latencies, 0 without any. */
void gs_step_usage_quantiles(struct gs_step_usage *usage);

/*
 * So many launches of a kernel (NULL: one that is not listed), which together
 * were on the GPU for ns: how many of them and how much of it was not evictable.
 */
void gs_step_usage_ran(struct gs_step_usage *usage, struct gs_step_usage_kernel *kernel,
		       uint64_t ns, uint64_t launches, int evictable);

/* One launch of the kernel took this long to leave, from the order to when it was seen gone. */
void gs_step_usage_left(struct gs_step_usage_kernel *kernel, uint64_t ns);

/* Of the latest of those; 0 without any. */
double gs_step_usage_left_us(const struct gs_step_usage_kernel *kernel, double quantile);

/* The step is over: keep only its `most` most launched kernels. */
void gs_step_usage_trim(struct gs_step_usage *usage, uint32_t most);

/*
 * *to becomes a copy of *from, which must be another; with_kernels: with the list of kernels, else
 * `to` keeps the one that it has. Without memory for the list it has none.
 */
void gs_step_usage_copy(struct gs_step_usage *to, const struct gs_step_usage *from,
			int with_kernels);

/* Free what it holds, not the usage itself. */
void gs_step_usage_fini(struct gs_step_usage *usage);

#endif
