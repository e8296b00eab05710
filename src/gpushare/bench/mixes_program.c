/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of a mix with a kernel of the tool's own; its command line is mixes_workers.c's. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes_workers.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/kernel.h"

#define WARM_UP 4
#define SPIN_CORES 8 /* with fewer processors, a program that waits for its time must not spin */

struct program {
	struct bench_kernel kernel;
	struct mixes_board *board;
	uint32_t iterations;
	uint64_t period_ns; /* between requests; 0: back to back */
	uint32_t batch;     /* launches before one is waited for */
};

static int launch(struct program *p, struct gs_error *err)
{
	for (uint32_t i = 0; i < p->batch; i++)
		if (bench_kernel_launch(&p->kernel, p->iterations, err) < 0)
			return -1;
	return bench_kernel_wait(&p->kernel, err);
}

static int work(struct program *p, uint64_t window, struct gs_error *err)
{
	uint64_t due = atomic_load(&p->board->begin_ns);
	int spin = sysconf(_SC_NPROCESSORS_ONLN) >= SPIN_CORES;

	bench_sleep_until(due, spin);
	for (; atomic_load(&p->board->stopped) < window; due += p->period_ns) {
		if (p->period_ns)
			bench_sleep_until(due, spin);
		if (launch(p, err) < 0)
			return -1;
		mixes_board_record(p->board, gs_clock_ns(), p->period_ns ? due : p->batch);
	}
	return 0;
}

static int run(struct program *p, uint64_t tasks, struct gs_error *err)
{
	uint64_t window = 0;

	if (bench_kernel_load(&p->kernel, 0, err) < 0 ||
	    bench_kernel_room(&p->kernel, tasks, err) < 0)
		return -1;
	for (int i = 0; i < WARM_UP; i++)
		if (launch(p, err) < 0)
			return -1;
	while ((window = mixes_board_next(p->board, window)) != MIXES_QUIT)
		if (work(p, window, err) < 0)
			return -1;
	return 0;
}

int mixes_program(int argc, char **argv)
{
	int64_t tasks = 0, iterations = 0, period = 0, batch = 0;
	struct program p = { 0 };
	struct gs_error err;

	if (argc != 6 || gs_parse_int(argv[2], 1, INT32_MAX, &tasks, &err) < 0 ||
	    gs_parse_int(argv[3], 1, UINT32_MAX, &iterations, &err) < 0 ||
	    gs_parse_int(argv[4], 0, INT64_MAX, &period, &err) < 0 ||
	    gs_parse_int(argv[5], 1, 1000, &batch, &err) < 0) {
		fprintf(stderr, "gpushare-bench: this is how the tool starts its programs\n");
		return 2;
	}
	p.iterations = (uint32_t)iterations;
	p.period_ns = (uint64_t)period;
	p.batch = (uint32_t)batch;
	p.board = mixes_board_open(argv[1], &err);
	if (!p.board || run(&p, (uint64_t)tasks, &err) < 0) {
		fprintf(stderr, "gpushare-bench: %s\n", err.text);
		return 1;
	}
	return 0;
}
