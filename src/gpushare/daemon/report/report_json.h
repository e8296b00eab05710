/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the JSON reports.  Pure. */
#ifndef GPUSHARE_DAEMON_REPORT_JSON_H
#define GPUSHARE_DAEMON_REPORT_JSON_H

#include <jansson.h>

/* Three decimals: microseconds of a millisecond.  Null for what is no number. */
json_t *gs_report_json_number(double value);

/* A user's text may be any bytes; JSON is UTF-8. */
json_t *gs_report_json_text(const char *text);

/* The value as text, to be freed, and the value freed.  NULL: no memory. */
char *gs_report_json_dump(json_t *value);

#endif
