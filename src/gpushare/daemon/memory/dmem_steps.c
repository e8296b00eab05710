/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a reservation the kernel's limit, too (dmem.h), where the GPU has such a controller. A
 * failure is logged once per GPU; the shim's own accounting holds in any case. */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/dmem_steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "gpushare/daemon/base/dmem.h"
#include "gpushare/daemon/base/step.h"

void gs_dmem_device(struct gs_device *device, const struct gs_config *config, const char *pci)
{
	struct gs_error err;

	if (!*config->dmem_root)
		return;
	if (gs_dmem_region(config->dmem_root, pci, device->dmem, sizeof(device->dmem), &err) < 0) {
		device->dmem[0] = '\0';
		gs_log(GS_LOG_INFO, "gpu %u: no limits in the kernel: %s", device->index, err.text);
		return;
	}
	gs_log(GS_LOG_INFO, "gpu %u: limits in the kernel, too: %s", device->index, device->dmem);
}

static void said(struct gs_device *device, const char *what, const struct gs_error *err)
{
	gs_log(device->dmem_said ? GS_LOG_DEBUG : GS_LOG_WARN, "gpu %u: the kernel's limit %s: %s",
	       device->index, what, err->text);
	device->dmem_said = 1;
}

/* What the job's steps other than `but` have reserved of that GPU; most of them share one
 * allocation. */
static uint64_t reserved_by_job(const struct gs_daemon *d, const struct gs_step *of,
				const struct gs_step *but)
{
	const struct gs_step *s, *before;
	uint64_t bytes = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (s == but || s->info.job_id != of->info.job_id ||
		    s->alloc->device != of->alloc->device)
			continue;
		TAILQ_FOREACH (before, &d->steps, link)
			if (before == s || (before != but && before->alloc == s->alloc))
				break;
		if (before == s)
			bytes += s->alloc->bytes;
	}
	return bytes;
}

void gs_dmem_begin(const struct gs_daemon *d, struct gs_step *s, const char *proc)
{
	uint64_t bytes = reserved_by_job(d, s, NULL) + d->config->dmem_margin;
	struct gs_device *device = s->alloc->device;
	const char *root = d->config->dmem_root;
	char cgroup[GS_DMEM_PATH_MAX];
	struct gs_error err;

	if (!*device->dmem || s->info.local)
		return;
	if (gs_dmem_cgroup(proc, s->info.registrant, root, s->info.job_id, cgroup, sizeof(cgroup),
			   &err) < 0 ||
	    gs_dmem_limit(root, cgroup, device->dmem, bytes, &err) < 0) {
		said(device, "is not set", &err);
		return;
	}
	/* if there is no memory for it, the limit ends with the cgroup */
	s->dmem_cgroup = strdup(cgroup);
	gs_log(GS_LOG_DEBUG, "job %u: the kernel's limit for %s is %" PRIu64 " MiB", s->info.job_id,
	       cgroup, bytes >> 20);
}

void gs_dmem_end(const struct gs_daemon *d, struct gs_step *s)
{
	uint64_t left = reserved_by_job(d, s, s);
	struct gs_error err;

	if (!s->dmem_cgroup)
		return;
	if (gs_dmem_limit(d->config->dmem_root, s->dmem_cgroup, s->alloc->device->dmem,
			  left ? left + d->config->dmem_margin : GS_DMEM_NO_LIMIT, &err) < 0)
		said(s->alloc->device, "stays", &err);
}
