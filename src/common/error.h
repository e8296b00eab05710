/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: a function that can fail returns -1 and fills the caller's fixed
 * buffer; it has no side effects on failure.  Nothing is allocated, so an
 * error can be reported from any place.
 */
#ifndef GPUSHARE_COMMON_ERROR_H
#define GPUSHARE_COMMON_ERROR_H

#include <stdarg.h>

#define GS_ERROR_TEXT_MAX 256

/* A reason in words, for a person: no trailing newline, no leading capital. */
struct gs_error {
	char text[GS_ERROR_TEXT_MAX];
};

/*
 * Fill err->text (err may be NULL) and return -1 always, so that a failing
 * function ends in `return gs_fail(err, "...")`.  errno is left as it was.
 */
int gs_fail(struct gs_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, with ": strerror(errno)" appended. */
int gs_fail_errno(struct gs_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
