/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables for jobs' programs; see environment.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/mps/environment.h"

#include <stdarg.h>
#include <stdio.h>

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

int gs_device_env(const struct gs_config *c, const struct gs_device *device, char *text,
		  size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	if (*device->uuid)
		used = append(text, size, used, "CUDA_VISIBLE_DEVICES=%s\n", device->uuid);
	if (c->isolation == GS_ISOLATION_MPS)
		used = append(text, size, used, GS_MPS_PIPE "=%s\n", c->mps_dir);
	for (const char *at = c->job_env; *at; at++) {
		if (at[0] == '%' && at[1] == 'g') {
			used = append(text, size, used, "%u", device->index);
			at++;
		} else {
			at += at[0] == '%' && at[1] == '%';
			used = append(text, size, used, "%c", *at);
		}
	}
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
	return used < size ? gs_device_env(c, step->alloc->device, text + used, size - used) : -1;
}
