/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the JSON reports, by the kinds of columns/kinds.h.  Pure. */
#ifndef GPUSHARE_DAEMON_REPORT_JSON_H
#define GPUSHARE_DAEMON_REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "gpushare/columns/kinds.h"

/* Three decimals: microseconds of a millisecond.  Null for what is no number. */
json_t *gs_report_json_number(double value);

/* A count, which may be of any integer type: is it above 0, and its value. Beyond what JSON's
 * integers hold (jansson's have a sign) it is their largest. */
json_t *gs_report_json_count(int is_positive, uint64_t value);

/* A user's text may be any bytes; JSON is UTF-8. */
json_t *gs_report_json_text(const char *text);

/* JSON_TEXT, JSON_COUNT and so on: JSON_##KIND(value). */
#define JSON_TEXT(v) gs_report_json_text(v)
#define JSON_NAME(v) (*(v) ? gs_report_json_text(v) : json_null())
#define JSON_KERNEL(v) gs_report_json_text(v)
#define JSON_REASON(v) gs_report_json_text(gs_report_reason(v))
#define JSON_COUNT(v) gs_report_json_count((v) > 0, (uint64_t)(v))
#define JSON_OPTIONAL(v) ((v) < 0 ? json_null() : json_integer((json_int_t)(v)))
#define JSON_JOB(v) JSON_COUNT(v)
#define JSON_OPTIONAL_JOB(v) JSON_OPTIONAL(v)
#define JSON_JOB_OR_ALL(v) gs_report_json_text(v)
#define JSON_BOOLEAN(v) json_boolean(v)
#define JSON_NUMBER(v) gs_report_json_number(v)
#define JSON_RATIO(v) gs_report_json_number(v)
#define JSON_PERCENT(v) gs_report_json_number(v)
#define JSON_S(v) gs_report_json_number(v)
#define JSON_MS(v) gs_report_json_number(v)
#define JSON_US(v) gs_report_json_number(v)
#define JSON_NS(v) gs_report_json_number(v)
#define JSON_MIB(v) gs_report_json_number(v)
#define JSON_TIME(v) ((v) ? json_integer((json_int_t)(v)) : json_null())

/* The value as text, to be freed, and the value freed.  NULL: no memory. */
char *gs_report_json_dump(json_t *value);

#endif
