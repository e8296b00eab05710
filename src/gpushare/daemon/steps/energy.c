/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the GPUs' energy among steps; see energy.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/energy.h"

#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory_check.h"

static uint64_t had_since(const struct gs_step *s)
{
	return s->usage.active_ns > s->energy.active_ns ? s->usage.active_ns - s->energy.active_ns :
							  0;
}

static uint64_t had_by(const struct gs_steps *list, const struct gs_device *device)
{
	const struct gs_step *s;
	uint64_t sum = 0;

	TAILQ_FOREACH (s, list, link)
		if (s->info.gpu == device->index)
			sum += had_since(s);
	return sum;
}

static void give(struct gs_steps *list, const struct gs_device *device, double mj_per_ns)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, list, link)
		if (s->info.gpu == device->index) {
			s->energy.mj += mj_per_ns * (double)had_since(s);
			s->energy.active_ns = s->usage.active_ns;
			s->energy.known = 1;
		}
}

/* Steps that have ended meanwhile get their part, too. */
static void divide(struct gs_daemon *d, struct gs_device *device, uint64_t mj, uint64_t ns)
{
	uint64_t whole = had_by(&d->steps, device) + had_by(&d->finished.list, device);
	double per_ns;

	if (whole < ns)
		whole = ns;
	per_ns = whole ? (double)mj / (double)whole : 0;
	give(&d->steps, device, per_ns);
	give(&d->finished.list, device, per_ns);
}

void gs_energy_update(struct gs_daemon *d)
{
	int synced = 0;

	for (struct gs_device *device = d->device; device < d->device + d->ndevice; device++) {
		uint64_t mj, at_ns, before = device->energy.mj, since = device->energy.at_ns;

		if (!gs_memory_check_energy(d->check, device, &mj, &at_ns) || at_ns == since)
			continue;
		if (!synced++)
			gs_devices_sync(d, 0);
		device->energy.mj = mj;
		device->energy.at_ns = at_ns;
		/*
		 * The first answer gives the counter's start. A reloaded driver begins at 0 again.
		 */
		divide(d, device, since && mj > before ? mj - before : 0,
		       since && at_ns > since ? at_ns - since : 0);
	}
}
