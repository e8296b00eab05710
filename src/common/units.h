/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes and durations as people write them: 8G, 512M, 1.5ms. */
#ifndef GPUSHARE_COMMON_UNITS_H
#define GPUSHARE_COMMON_UNITS_H

#include <stdint.h>

#include "common/error.h"

/*
 * "8G", "512M", "64K", "1T", "4096" (bytes), with an optional B or iB behind
 * the unit; powers of 1024; at least 1 byte, below 2^63.
 * Returns 0, or -1 with the reason.
 */
int gs_parse_size(const char *text, uint64_t *bytes, struct gs_error *err);

/*
 * "10ms", "1.5ms", "250us", "2s", "40ns"; a bare number is milliseconds.
 * Zero is allowed; at most one day.  Returns 0, or -1 with the reason.
 */
int gs_parse_duration(const char *text, uint64_t *ns, struct gs_error *err);

/* A whole decimal number within [min, max] and nothing else. */
int gs_parse_int(const char *text, int64_t min, int64_t max, int64_t *value, struct gs_error *err);

/* "yes", "no", "true", "false", "on", "off", "1", "0", whatever the case. */
int gs_parse_bool(const char *text, int *value, struct gs_error *err);

#endif
