/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs of a mix: started, made to work for a window at the same time, ended. */
#ifndef GPUSHARE_BENCH_MIXES_WORKERS_H
#define GPUSHARE_BENCH_MIXES_WORKERS_H

#include "gpushare/bench/measure.h"
#include "gpushare/bench/mixes.h"

#define MIXES_MEMBERS_MAX 16
#define MIXES_EVERYONE ((1u << MIXES_MEMBERS_MAX) - 1)

/* Lengths of the own kernels, and how PyTorch's programs are started. */
struct mixes_setup {
	const char *python, *scripts; /* scripts: the folder of mixes_torch.py */
	const char *device;           /* "cuda", or "cpu" for a trial of the programs */
	uint64_t tick_ns, every_ns, long_ns, flood_ns, task_ns;
	unsigned start_s; /* a program is ready within these */
	struct bench_yard yard;
	uint64_t memory; /* a PyTorch program's reservation */
};

/* When a program's requests are due. */
uint64_t mixes_period(const struct mixes_setup *setup, enum mixes_program program);

struct mixes_member {
	pid_t pid;
	uint32_t side, rank;
	uint64_t window; /* the last that it was told */
	struct mixes_board *board;
	char log[PATH_MAX];
};

struct mixes_workers {
	const struct mixes_setup *setup;
	const struct mixes_mix *mix;
	struct bench_stage *stage;
	struct mixes_member member[MIXES_MEMBERS_MAX];
	uint32_t count;
};

/* The part of a program's records that are of one window. */
struct mixes_window {
	uint64_t begin_ns, from_ns, to_ns, over_ns;
};

/* How fast a program is alone. */
struct mixes_speed {
	double value; /* units a second; of requests: the median of their latencies, ms; 0: it did
			 nothing */
	double p99;   /* of requests, ms */
};

/* How each way shares the GPU. */
extern const enum bench_share mixes_share[MIXES_WAYS];

/* Start them under that way, whose gpushared or MPS is there, and wait until all are ready.  -1:
 * all ended again. */
int mixes_workers_start(struct mixes_workers *workers, enum mixes_way way, struct gs_error *err);
/* End them. -1: one of them ended with another status than 0, as a program does whose results are
 * wrong in the end. */
int mixes_workers_stop(struct mixes_workers *workers, struct gs_error *err);

/* The first program of that side, with all its processes. */
uint32_t mixes_workers_one(const struct mixes_workers *workers, uint32_t side);

/*
 * Those whose bits are set work for skip_ns and length_ns.  -1 with the reason: one ended or did
 * not stop; what it recorded until then is there, if window->over_ns is not 0.
 */
int mixes_workers_work(struct mixes_workers *workers, uint32_t who, uint64_t skip_ns,
		       uint64_t length_ns, struct mixes_window *window, struct gs_error *err);

/* `gpushare-bench mixes-program ...` */
int mixes_program(int argc, char **argv);

#endif
