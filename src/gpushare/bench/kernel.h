/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel of spin.cu in a context of this process: how long its
 * block-tasks take, launching it, and when they ran.
 */
#ifndef GPUSHARE_BENCH_KERNEL_H
#define GPUSHARE_BENCH_KERNEL_H

#include "gpushare/bench/driver.h"
#include "gpushare/bench/page.h"

struct bench_kernel {
	const struct bench_driver *cu;
	CUdevice device;
	CUfunction function, tell;
	CUstream stream;
	CUdeviceptr first, end, runs, sink;
	uint64_t resident; /* block-tasks that the device holds at once */
	uint64_t room;     /* block-tasks that there is memory for */
	uint64_t launches; /* of `tasks` since the memory was cleared */
	uint64_t tasks;
};

/*
 * A context on device 0, the module, a stream.  guarded: lanes of the kernel leave before a
 * barrier, as far as anybody can tell from its code, so that it gets no better variant than
 * a guarded one.  -1 with the reason.
 */
int bench_kernel_load(struct bench_kernel *k, int guarded, struct gs_error *err);

/* Memory for launches of `tasks` block-tasks; the counts begin anew. */
int bench_kernel_room(struct bench_kernel *k, uint64_t tasks, struct gs_error *err);

/* Launch k->tasks block-tasks and wait for them. */
int bench_kernel_launch(struct bench_kernel *k, uint32_t iterations, struct gs_error *err);
int bench_kernel_wait(struct bench_kernel *k, struct gs_error *err);

/*
 * How many iterations make a block-task of task_ns while the device is full
 * of them, and what one wave of them takes then.
 */
int bench_kernel_calibrate(struct bench_kernel *k, uint64_t task_ns, uint32_t *iterations,
			   uint64_t *wave_ns, struct gs_error *err);

/* Time `count` calls of that kind into sample[]. */
int bench_kernel_calls(struct bench_kernel *k, enum bench_call call, uint32_t iterations,
		       uint32_t count, struct bench_sample *sample, struct gs_error *err);

/*
 * Of the last launch: the stretches of time in which block-tasks ended, none
 * of which lacks one for more than `pause_ns`, on the host's clock, given that it
 * ended at finish_ns.  A stretch begins one block-task before its first end.
 * Returns their number, at most max; *wrong: block-tasks of all launches that
 * ran less or more than once.
 */
int bench_kernel_collect(struct bench_kernel *k, uint64_t task_ns, uint64_t finish_ns,
			 struct bench_stretch *stretch, uint32_t max, uint64_t *wrong,
			 struct gs_error *err);

/*
 * Of the last launch: `last` of each window of the device's clock, which stand
 * in order and apart, becomes when the last block-task in it ended; 0: none did.
 */
int bench_kernel_windows(struct bench_kernel *k, struct bench_window *window, uint32_t windows,
			 struct gs_error *err);

/* What the device's clock shows.  Nothing else may keep it from the device. */
int bench_kernel_clock(struct bench_kernel *k, struct bench_clock *clock, struct gs_error *err);

#endif
