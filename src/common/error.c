/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors filled into the caller's buffer; see error.h. */
#define _GNU_SOURCE
#include "common/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int gs_fail(struct gs_error *err, const char *fmt, ...)
{
	int saved = errno;

	if (err) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	errno = saved;
	return -1;
}

int gs_fail_errno(struct gs_error *err, const char *fmt, ...)
{
	int saved = errno;

	if (err) {
		char why[96];
		va_list ap;
		size_t used;

		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, ": %s",
			 strerror_r(saved, why, sizeof(why)));
	}
	errno = saved;
	return -1;
}
