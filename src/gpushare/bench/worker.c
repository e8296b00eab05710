/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program of a benchmark: a process of its own with a context and a kernel
 * of its own, that does what its slot of the page says.  It knows nothing of
 * gpushare: which driver it loads is up to its environment.
 */
#define _GNU_SOURCE
#include "gpushare/bench/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/copy.h"
#include "gpushare/bench/kernel.h"
#include "gpushare/bench/suite.h"
#include "gpushare/bench/suite_corun.h"
#include "gpushare/bench/suite_slices.h"

#define POLL_MS 1000 /* how often a waiting program looks whether its tool is there */

struct worker {
	struct bench_page *page;
	struct bench_slot *slot;
	struct bench_kernel kernel;
	struct bench_copier *copier;
	struct bench_suite *suite; /* as loaded: number and size */
	uint64_t number, size;
	struct bench_slices *slices;
	struct bench_coruns *coruns;
};

static int prepare(struct worker *w, struct gs_error *err)
{
	struct bench_slot *s = w->slot;
	struct bench_kernel *k = &w->kernel;
	int version = 0;
	size_t memory = 0;

	if (bench_kernel_load(k, (int)w->page->guarded, err) < 0 ||
	    BENCH_CU(k->cu, err, cuDeviceGetName, s->answer.device, (int)sizeof(s->answer.device),
		     k->device) < 0 ||
	    BENCH_CU(k->cu, err, cuDeviceTotalMem, &memory, k->device) < 0 ||
	    BENCH_CU(k->cu, err, cuDriverGetVersion, &version) < 0)
		return -1;
	snprintf(s->answer.driver, sizeof(s->answer.driver), "%d.%d", version / 1000,
		 version % 1000 / 10);
	s->answer.resident = k->resident;
	s->answer.memory = memory;
	return 0;
}

/* Enqueues a copy to the device, the kernels and a copy back, all in one stream. */
static int enqueue_frame(struct worker *w, struct gs_error *err)
{
	const struct bench_work *work = &w->slot->work;

	if (work->bytes && bench_copier_copy(w->copier, 0, err) < 0)
		return -1;
	for (uint32_t i = 0; i < work->kernels; i++)
		if (bench_kernel_launch(&w->kernel, work->iterations, err) < 0)
			return -1;
	return work->bytes ? bench_copier_copy(w->copier, 1, err) : 0;
}

static int enqueue(struct worker *w, struct gs_error *err)
{
	const struct bench_slot *s = w->slot;

	switch (s->order) {
	case BENCH_COPY:
		return bench_copier_copy(w->copier, (s->work.call & BENCH_COPY_BACK) != 0, err);
	case BENCH_FRAMES:
		return enqueue_frame(w, err);
	default:
		return bench_kernel_launch(&w->kernel, s->work.iterations, err);
	}
}

static int launch_once(struct worker *w, uint64_t release_ns, struct gs_error *err)
{
	struct bench_slot *s = w->slot;
	struct bench_sample sample = { .release_ns = release_ns };

	sample.launch_ns = gs_clock_ns();
	if (!release_ns)
		sample.release_ns = sample.launch_ns;
	if (enqueue(w, err) < 0 || bench_kernel_wait(&w->kernel, err) < 0)
		return -1;
	sample.finish_ns = gs_clock_ns();
	if (s->answer.launched < BENCH_SAMPLES_MAX)
		s->sample[s->answer.launched] = sample;
	s->answer.launched++;
	return 0;
}

/* What is launched has its memory. */
static int make_room(struct worker *w, struct gs_error *err)
{
	const struct bench_work *work = &w->slot->work;

	if (w->slot->order == BENCH_COPY)
		return bench_copier_room(&w->copier, &w->kernel, work->call, work->tasks, err);
	if (w->slot->order == BENCH_FRAMES && work->bytes &&
	    bench_copier_room(&w->copier, &w->kernel, BENCH_COPY_PINNED, work->bytes, err) < 0)
		return -1;
	if (w->slot->order == BENCH_FRAMES && !work->kernels)
		return 0;
	return w->kernel.tasks == work->tasks ? 0 : bench_kernel_room(&w->kernel, work->tasks, err);
}

/*
 * A late launch does not delay the ones after it: each is due at its own time. Launches that should
 * have begun meanwhile are left out. Frames are not, so their lateness adds up.
 */
static uint64_t next_release(const struct bench_slot *s, uint64_t release_ns)
{
	do
		release_ns += s->work.period_ns;
	while (s->order != BENCH_FRAMES && release_ns < gs_clock_ns());
	return release_ns;
}

static int run(struct worker *w, struct gs_error *err)
{
	struct bench_slot *s = w->slot;
	uint64_t release_ns = s->work.release_ns;

	s->answer.launched = 0;
	if (make_room(w, err) < 0)
		return -1;
	while (!atomic_load(&s->stop) &&
	       (!s->work.launches || s->answer.launched < s->work.launches)) {
		if (release_ns)
			bench_sleep_until(release_ns, (int)w->page->spin);
		if (launch_once(w, release_ns, err) < 0)
			return -1;
		if (!s->work.period_ns)
			release_ns = 0;
		else if (release_ns)
			release_ns = next_release(s, release_ns);
	}
	return 0;
}

/* Makes the copies, perhaps past the shim. Even then the program gets the memory through the shim.
 */
static int copies(struct worker *w, struct gs_error *err)
{
	const struct bench_driver *own = w->kernel.cu, *beneath;
	int rc;

	if (!(w->slot->work.call & BENCH_COPY_PAST))
		return run(w, err);
	if (make_room(w, err) < 0)
		return -1;
	beneath = bench_driver_beneath(own, err);
	if (!beneath)
		return -1;
	w->kernel.cu = beneath;
	rc = run(w, err);
	w->kernel.cu = own;
	return rc;
}

static int calls(struct worker *w, struct gs_error *err)
{
	struct bench_slot *s = w->slot;

	if (s->work.launches > BENCH_SAMPLES_MAX)
		return gs_fail(err, "at most %d calls", BENCH_SAMPLES_MAX);
	if (w->kernel.tasks != s->work.tasks &&
	    bench_kernel_room(&w->kernel, s->work.tasks, err) < 0)
		return -1;
	s->answer.launched = s->work.launches;
	return bench_kernel_calls(&w->kernel, (enum bench_call)s->work.call, s->work.iterations,
				  s->work.launches, s->sample, err);
}

/* The whole batch in sample[0]; another kernel or size than the last is loaded first. */
static int suite(struct worker *w, struct gs_error *err)
{
	struct bench_slot *s = w->slot;
	struct bench_sample *t = &s->sample[0];

	if (!w->suite || w->number != s->work.call || w->size != s->work.tasks) {
		bench_suite_unload(w->suite);
		w->suite = bench_suite_load(w->kernel.cu, s->work.folder, s->work.call,
					    s->work.tasks, err);
		if (!w->suite)
			return -1;
		w->number = s->work.call;
		w->size = s->work.tasks;
	}
	t->launch_ns = t->release_ns = gs_clock_ns();
	for (uint32_t i = 0; i < s->work.launches; i++)
		if (bench_suite_launch(w->suite, w->kernel.stream, err) < 0)
			return -1;
	if (bench_kernel_wait(&w->kernel, err) < 0)
		return -1;
	t->finish_ns = gs_clock_ns();
	s->answer.launched = s->work.launches;
	return 0;
}

static int collect(struct worker *w, struct gs_error *err)
{
	struct bench_slot *s = w->slot;
	uint64_t last =
		s->answer.launched < BENCH_SAMPLES_MAX ? s->answer.launched : BENCH_SAMPLES_MAX;
	int count;

	if (s->answer.launched == 0)
		return gs_fail(err, "there was no launch");
	count = bench_kernel_collect(&w->kernel, s->work.task_ns, s->sample[last - 1].finish_ns,
				     s->stretch, BENCH_STRETCHES_MAX, &s->answer.wrong, err);
	if (count < 0)
		return -1;
	s->stretches = (uint32_t)count;
	return 0;
}

static int execute(struct worker *w, struct gs_error *err)
{
	struct bench_slot *s = w->slot;

	switch (s->order) {
	case BENCH_PREPARE:
		return prepare(w, err);
	case BENCH_CALIBRATE:
		return bench_kernel_calibrate(&w->kernel, s->work.task_ns, &s->work.iterations,
					      &s->answer.wave_ns, err);
	case BENCH_RUN:
	case BENCH_FRAMES:
		return run(w, err);
	case BENCH_COPY:
		return copies(w, err);
	case BENCH_CALLS:
		return calls(w, err);
	case BENCH_SUITE:
		return suite(w, err);
	case BENCH_SLICES:
		return bench_slices_order(&w->slices, &w->kernel, s, err);
	case BENCH_CORUN:
		return bench_coruns_order(&w->coruns, &w->kernel, s, err);
	case BENCH_CLOCK:
		return bench_kernel_clock(&w->kernel, &s->answer.clock, err);
	case BENCH_WINDOWS:
		return s->windows <= BENCH_WINDOWS_MAX ?
			       bench_kernel_windows(&w->kernel, s->window, s->windows, err) :
			       gs_fail(err, "too many windows");
	default:
		return collect(w, err);
	}
}

int bench_worker(int argc, char **argv)
{
	struct worker w = { 0 };
	struct gs_error err;
	int64_t index = 0;

	if (argc != 3 || gs_parse_int(argv[2], 0, BENCH_PROGRAMS_MAX, &index, &err) < 0) {
		fprintf(stderr, "gpushare-bench: this is how the tool starts its programs\n");
		return 2;
	}
	w.page = bench_page_open(argv[1], &err);
	if (!w.page || (uint32_t)index >= w.page->slots) {
		fprintf(stderr, "gpushare-bench: %s\n", w.page ? "no such slot" : err.text);
		return 1;
	}
	w.slot = &w.page->slot[index];
	if (getenv("GPUSHARE_JOB_ID"))
		w.slot->answer.job = (uint32_t)strtoul(getenv("GPUSHARE_JOB_ID"), NULL, 10);
	for (;;) {
		uint32_t done = atomic_load(&w.slot->done);

		while (atomic_load(&w.slot->given) == done) {
			bench_wait_for(&w.slot->given, done, POLL_MS);
			if (kill(w.page->tool, 0) < 0 && errno == ESRCH)
				return 1;
		}
		if (w.slot->order == BENCH_QUIT) {
			bench_slices_unload(w.slices);
			bench_coruns_unload(w.coruns);
			return 0;
		}
		if (execute(&w, &err) < 0) {
			w.slot->failed = 1;
			snprintf(w.slot->why, sizeof(w.slot->why), "%s", err.text);
		}
		atomic_fetch_add(&w.slot->done, 1);
		bench_doorbell(&w.page->doorbell);
	}
}
