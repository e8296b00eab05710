/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds the memory of a job's steps; see job_memory.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/steps/job_memory.h"

#include <inttypes.h>

#include "gpushare/daemon/base/device.h"

/* The memory that the job's shares stand for, or that its partition lets it wait for here. */
static uint64_t most_of(const struct gs_daemon *d, const struct gs_device *device,
			const struct gs_step_info *info)
{
	const struct gs_config_partition *limits = gs_config_partition(d->config, info->partition);
	uint32_t shares = info->job_shares;

	if (d->config->memory_on_node) {
		uint32_t may = limits && limits->max_shares ? limits->max_shares : device->shares;

		shares = may > shares ? may : shares;
	}
	/* slurmctld may take the GPUs for a little larger than they are, and has rounded. */
	shares = shares < device->shares ? shares + 1 : device->shares;
	return (uint64_t)((double)device->memory * shares / device->shares);
}

/* What allocations of the job have of the GPU, each once. */
static uint64_t taken_by(const struct gs_daemon *d, const struct gs_device *device,
			 const struct gs_step_info *info)
{
	const struct gs_step *s, *before;
	uint64_t sum = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (s->info.local || s->info.job_id != info->job_id || s->alloc->device != device)
			continue;
		for (before = TAILQ_FIRST(&d->steps); before->alloc != s->alloc;)
			before = TAILQ_NEXT(before, link);
		sum += before == s ? s->alloc->bytes : 0;
	}
	return sum;
}

int gs_job_memory_check(const struct gs_daemon *d, const struct gs_device *device,
			const struct gs_step_info *info, uint64_t *bytes, struct gs_error *err)
{
	uint64_t most, taken;

	/* What a daemon before has admitted stays. */
	if (info->local || info->admitted || !info->job_shares)
		return 0;
	most = most_of(d, device, info);
	taken = taken_by(d, device, info);
	if (taken <= most && *bytes <= most - taken)
		return 0;
	if (info->memory == GS_MEMORY_AUTO && taken < most) {
		*bytes = most - taken;
		return 0;
	}
	return gs_fail(
		err,
		"%" PRIu64 " MiB asked for: the job may have %" PRIu64 " MiB with its %" PRIu32
		" shares, and its other steps have %" PRIu64
		": give --gpushare-mem to sbatch or salloc, so that it gets the shares for that",
		*bytes >> 20, most >> 20, info->job_shares, taken >> 20);
}
