/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Utilisation: how much of its share of the GPU the step has used since it was asked for last, the
 * share as the whole.  A job with 25 of 100 shares that has had the GPU a quarter of the time has
 * used all of its share, and one that has had it longer, as nobody else wanted it, no more.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "common/clock.h"
#include "device/nvml/figures.h"
#include "device/nvml/nvml.h"

/* What the GPU was used for is told of at least this time; older figures tell nothing of now. */
#define SPAN_NS (100 * GS_NS_PER_MS)
#define SPAN_MAX_NS (60 * GS_NS_PER_S)

/* Facts of NVML's interface. */
struct utilization {
	unsigned int gpu, memory; /* percent */
};

NVML_EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates);
NVML_EXPORT const char *nvmlErrorString(int result);

static pthread_once_t begun = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t active_ns, at_ns; /* at_ns 0: never asked */
	unsigned int percent;      /* up to then */
} last;                            /* under lock; a fork in between takes the figures along */

static void after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void begin(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

/* Percent of the share, from one figure to the next. */
static unsigned int percent_of(uint64_t active_ns, uint64_t span_ns,
			       const struct gs_msg_step_figures *step)
{
	double share = step->of ? (double)step->shares / (double)step->of : 1;
	double part = share > 0 ? (double)active_ns / (double)span_ns / share : 1;

	return part >= 1 ? 100 : (unsigned int)(part * 100 + 0.5);
}

/* Under lock. */
static void note(const struct nvml_figures *now)
{
	uint64_t active = now->step.active_ns;

	if (last.at_ns && now->at_ns > last.at_ns)
		last.percent = percent_of(active > last.active_ns ? active - last.active_ns : 0,
					  now->at_ns - last.at_ns, &now->step);
	last.active_ns = active;
	last.at_ns = now->at_ns;
}

/* Under lock: begin a span where none is open that could tell something. */
static int begin_span(void *device, uint64_t until_ns, struct nvml_figures *figures)
{
	const struct timespec span = { 0, (long)SPAN_NS };

	if (last.at_ns && figures->at_ns - last.at_ns < SPAN_MAX_NS)
		return 1;
	last.at_ns = 0;
	note(figures);
	nanosleep(&span, NULL);
	return nvml_figures_now(device, until_ns, figures);
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates)
{
	typedef int get(void *device, struct utilization *rates);
	int rc = NVML_REAL(get *, nvmlDeviceGetUtilizationRates)(device, rates);
	uint64_t until_ns = gs_clock_ns() + NVML_PATIENCE_NS;
	struct nvml_figures figures;

	if (rc != NVML_SUCCESS || !nvml_figures_of(device, &figures))
		return rc;
	pthread_once(&begun, begin);
	pthread_mutex_lock(&lock);
	if (begin_span(device, until_ns, &figures)) {
		if (figures.at_ns >= last.at_ns + SPAN_NS)
			note(&figures);
		rates->gpu = last.percent;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Not an int, so it is no function to jump to where the driver has no NVML. */
const char *nvmlErrorString(int result)
{
	typedef const char *get(int result);

	if (!nvml_is_there())
		return "gpushare has found no libnvidia-ml.so.1 of the driver's on this machine";
	return NVML_REAL(get *, nvmlErrorString)(result);
}
