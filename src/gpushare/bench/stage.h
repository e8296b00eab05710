/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the programs of a benchmark run: a private folder, and in it, when
 * wanted, a gpushared of its own or an MPS control daemon of its own.
 */
#ifndef GPUSHARE_BENCH_STAGE_H
#define GPUSHARE_BENCH_STAGE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/period.h"
#include "gpushare/sched/sched.h"

#define BENCH_CONF_MAX 32
#define BENCH_GPUS_MAX 2

/* Who shares the GPU among the programs. */
enum bench_share {
	BENCH_DRIVER,   /* the driver's time slicing */
	BENCH_MPS,      /* MPS without gpushare */
	BENCH_CONTEXTS, /* gpushare, separate contexts */
	BENCH_GS_MPS,   /* gpushare, clients of its MPS */
};

struct bench_stage {
	/* Given. */
	const char *driver;               /* a libcuda.so.1; NULL: the system's */
	const char *shim;                 /* the shim's folder; NULL: where gpushare is installed */
	const char *conf[BENCH_CONF_MAX]; /* further lines of gpushare.conf */
	size_t nconf;
	int keep;    /* the folder, when done */
	int guarded; /* the programs' kernel may be guarded, and no more (kernel.h) */
	int as_used; /* variants are made as VariantMin= has it by default, not at the first launch
		      */
	uint32_t gpu[BENCH_GPUS_MAX]; /* the GPUs, as nvidia-smi counts */
	uint32_t ngpu;                /* 0: the first that the tool sees */

	/* Its own. */
	char folder[PATH_MAX / 2];
	char programs[PATH_MAX]; /* LD_LIBRARY_PATH=... of programs without gpushare */
	pid_t daemon;
	int mps;
};

/* The GPU as the private gpushared is told. */
struct bench_gpu {
	uint64_t memory;
	uint32_t shares;
	int32_t priority_max; /* partitions p0 to p<this>, each of that priority */
};

int bench_stage_open(struct bench_stage *stage, struct gs_error *err);

/* Ends what was started and removes the folder. */
void bench_stage_close(struct bench_stage *stage);

/* Start what `share` needs; with gpushare under `policy`, NULL: its default.  -1: ended again, with
 * the reason. */
int bench_stage_begin(struct bench_stage *stage, enum bench_share share, const char *policy,
		      const struct bench_gpu *gpu, struct gs_error *err);
void bench_stage_end(struct bench_stage *stage);

/* The scheduler's settings of the gpushared that began last. */
int bench_stage_sched_options(const struct bench_stage *stage, struct gs_sched_options *options,
			      struct gs_error *err);

/* Is the share one of gpushare's? */
static inline int bench_managed(enum bench_share share)
{
	return share == BENCH_CONTEXTS || share == BENCH_GS_MPS;
}

/* What one program of the page is to the others. */
struct bench_part {
	uint32_t shares;
	int32_t priority; /* 0..1000 */
	int native;       /* without gpushare, whatever the others do */
	struct gs_period period;
};

/* Start program number `slot` of the page in the stage's folder; its pid or -1. */
pid_t bench_stage_program(struct bench_stage *stage, enum bench_share share, uint32_t slot,
			  const struct bench_part *part, struct gs_error *err);

/* A program of any kind, on the stage. */
struct bench_launch {
	enum bench_share share;
	char *const *argv;
	const char *log; /* its output, in a process group of its own; NULL: the tool's */
	uint32_t gpu;    /* of the stage's */
	uint32_t shares;
	uint64_t memory;     /* its reservation; 0: in proportion to the shares */
	int32_t priority;    /* of its partition */
	int client_priority; /* of MPS: 0 normal, 1 below; -1: none is said */
	struct gs_period period;
};

/* Start it; its pid or -1. */
pid_t bench_stage_launch(struct bench_stage *stage, const struct bench_launch *launch,
			 struct gs_error *err);

/* The last lines of gpushared's log, for a person. */
void bench_stage_show_log(const struct bench_stage *stage);

#endif
