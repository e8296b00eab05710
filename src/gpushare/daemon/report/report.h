/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From figures to JSON and text.  Pure: rows in, a malloc'd string out. */
#ifndef GPUSHARE_DAEMON_REPORT_H
#define GPUSHARE_DAEMON_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/period.h"
#include "gpushare/daemon/base/moves.h"
#include "gpushare/arbiter/step_usage.h"
#include "gpushare/metrics/metrics.h"
#include "gpushare/metrics/timing.h"
#include "gpushare/daemon/gpu/arbiter.h"

/* One job step; texts are the caller's.  -1 in priority and priority_requested: none; 0 in start
 * and end: not known, not over. */
struct gs_report_row {
#define COLUMN(key, type, kind, rank, head, words) type key;
#include "gpushare/columns/steps.def"
#undef COLUMN
	/* Of the metrics only. */
	const char *uuid; /* "": not known */
	double idle_s;    /* how long it has had no work for the GPU; 0: it has some */
};

/* One GPU, for `gpusharectl status`: columns/gpus.def says what of it is shown. */
struct gs_report_gpu {
	uint32_t gpu;
	struct gs_gpu_status now;
	struct gs_arbiter_status arbiter;
	const char *isolation; /* "contexts" or "mps" */
	const char *signal;    /* how kernels are told to leave: "proxy/memop" */
	const char *uuid;      /* "": not known */
	const char *holder;    /* "job 12.0 uid 1000 pid 4711 triad"; "" for nobody */
	uint32_t shares, shares_taken;
	double memory_mb, reserved_mb;
	struct gs_sharing sharing; /* of the registered steps that have wanted it */
	double unserved_ms;        /* of those that never had it the longest waiting time */
};

/* A process that uses a GPU past gpushare. */
struct gs_report_unmanaged {
	uint32_t gpu, pid, uid;
	uint32_t job;     /* 0: of no step with shares */
	const char *step; /* "" then */
	const char *program;
	double memory_mb;
	int killed;
};

struct gs_report_status {
	const char *version;
	uint32_t pid;
	double uptime_s;
	const struct gs_report_gpu *gpu;
	size_t ngpu;
	const struct gs_report_row *step; /* the registered ones */
	size_t nstep;
	const struct gs_report_unmanaged *unmanaged;
	size_t nunmanaged;
};

/* A step, for `gpusharectl kernels`. */
struct gs_report_kernels_of {
	uint32_t job;
	const char *step;
	const struct gs_step_usage *usage;
};

/* The step's figures from its usage: from `kernels` to `reserved_mb`. */
void gs_report_fill(struct gs_report_row *row, struct gs_step_usage *usage, uint64_t peak_bytes,
		    uint64_t reserved_bytes);
/* The columns of punctual.def; timing NULL: the step has no deadline, and none of them. */
void gs_report_fill_punctual(struct gs_report_row *row, const struct gs_period *period,
			     const struct gs_timing *timing);
/* The columns of moved.def. */
void gs_report_fill_moved(struct gs_report_row *row, const struct gs_moves *moves);

/* Each returns JSON that ends in a newline, to be freed; NULL: no memory. */
char *gs_report_steps(const struct gs_report_row *row, size_t n);
char *gs_report_status(const struct gs_report_status *status);
/* Every kernel, then how much of each job's time and of all could not be preempted
 * (report_kernels.c). */
char *gs_report_kernels(const struct gs_report_kernels_of *step, size_t n);

/* The same figures as Prometheus' text exposition format (prometheus.c). */
char *gs_report_metrics(const struct gs_report_status *status);

/*
 * The summary for AdminComment, one line:
 * "gpushare: gpu=0 share=40% used=12.345s ntt=1.02 waiting=12ms preempt=3 mem=64/102MiB";
 * used is the time for which it had the GPU; "ntt=-": it was never served.  If its memory has been
 * on the host, " moved=8192MiB/1.66/5.67GiB/s" follows: how much, and how fast it left and came
 * back (0.00: not yet).
 */
void gs_report_comment(const struct gs_report_row *row, uint32_t gpu_shares, char *buf,
		       size_t size);

/* Words for a kernel's form and for why it stays as it is. */
const char *gs_report_transform(uint32_t transform);
const char *gs_report_made_of(uint32_t made_of); /* "" for nothing */
const char *gs_report_reason(uint32_t reason);

#endif
