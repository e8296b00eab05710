/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables for jobs' programs; see environment.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/mps/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/mps/mps_control.h"
#include "gpushare/daemon/steps/priority.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/proto/page.h"

/* Append to text that has used so many of its bytes; the new number, size and more: cut. */
static size_t append(char *text, size_t size, size_t used, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static size_t append(char *text, size_t size, size_t used, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (used >= size)
		return used;
	va_start(ap, fmt);
	n = vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
	return n < 0 ? size : used + (size_t)n;
}

/* The administrator's lines. */
static size_t append_lines(char *text, size_t size, size_t used, const struct gs_config *c,
			   const struct gs_device *device)
{
	for (const char *at = c->job_env; *at; at++) {
		if (at[0] != '%') {
			used = append(text, size, used, "%c", *at);
			continue;
		}
		if (at[1] == 'g' || (at[1] == 'u' && !*device->uuid))
			used = append(text, size, used, "%u", device->index);
		else if (at[1] == 'u')
			used = append(text, size, used, "%s", device->uuid);
		else
			used = append(text, size, used, "%%");
		at += at[1] == 'g' || at[1] == 'u' || at[1] == '%';
	}
	return used;
}

static size_t append_mps(char *text, size_t size, size_t used, const struct gs_config *c)
{
	if (c->isolation == GS_ISOLATION_MPS)
		used = append(text, size, used, GS_MPS_PIPE "=%s\n", c->mps_dir);
	return used;
}

/* Does the driver count the GPU as Slurm does, by the number in its device file's name? */
static int counted_alike(const struct gs_config *c, const struct gs_device *device)
{
	const struct gs_config_gpu *gpu = gs_config_gpu(c, device->index);
	const char *file = gpu && gpu->file ? gpu->file : "";
	const char *digits = file + strlen(file);

	while (digits > file && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return !*digits || strtoul(digits, NULL, 10) == device->index;
}

/*
 * By its index, as gres/gpu does: there are programs that take what is there for
 * numbers.  Slurm's part has set that already for a step of Slurm's.  MPS's
 * clients know the GPUs as its server does, by their UUIDs.
 */
static size_t append_visible(char *text, size_t size, size_t used, const struct gs_config *c,
			     const struct gs_step *step)
{
	const struct gs_device *device = step->alloc->device;

	/* Without File= nothing but the index tells the GPUs apart, and nobody but this says so to
	 * a program of gpusharectl run. */
	if (!*device->uuid)
		return step->info.local && (c->ngpu > 1 || device->index) ?
			       append(text, size, used,
				      "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=%u\n",
				      device->index) :
			       used;
	/* An instance has no index of its own. */
	if (c->isolation == GS_ISOLATION_MPS || !counted_alike(c, device) ||
	    strncmp(device->uuid, "MIG-", 4) == 0)
		return append(text, size, used, "CUDA_VISIBLE_DEVICES=%s\n", device->uuid);
	used = append(text, size, used, "CUDA_DEVICE_ORDER=PCI_BUS_ID\n");
	if (step->info.local)
		used = append(text, size, used, "CUDA_VISIBLE_DEVICES=%u\n", device->index);
	return used;
}

int gs_device_env(const struct gs_config *c, const struct gs_device *device, char *text,
		  size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	if (*device->uuid)
		used = append(text, size, used, "CUDA_VISIBLE_DEVICES=%s\n", device->uuid);
	used = append_mps(text, size, used, c);
	used = append_lines(text, size, used, c, device);
	return used < size ? 0 : -1;
}

int gs_step_env(const struct gs_config *c, const struct gs_step *step, char *text, size_t size)
{
	static const char *const absent[GS_ABSENT_COUNT] = GS_ABSENT_WORDS;
	size_t used = append(text, size, 0, GS_ABSENT_ENV "=%s\n", absent[c->absent]);

	/* The most urgent jobs' blocks go before the others' as the multiprocessors become free. */
	if (c->isolation == GS_ISOLATION_MPS)
		used = append(
			text, size, used, GS_MPS_PRIORITY "=%d\n",
			gs_config_has_above(c, gs_step_class(c, &step->info), step->priority));
	used = append_visible(text, size, used, c, step);
	used = append_mps(text, size, used, c);
	used = append_lines(text, size, used, c, step->alloc->device);
	return used < size ? 0 : -1;
}
