/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The columns of gpusharectl's tables: each is one line of a .def file here, from which gpushared
 * makes the JSON and gpusharectl the header, the cells, --format and --sort.  gpusharectl(1) is
 * compared with them.
 *
 *   KEY   its name in JSON, for --format and for --sort
 *   KIND  what it is, which says how it is printed
 *   rank  where not all columns fit, those with the smallest ranks are shown
 *   HEAD  its heading
 *
 * New columns may come; a key keeps its name, its kind and its meaning, as scripts read them.
 */
#ifndef GPUSHARE_COLUMNS_KINDS_H
#define GPUSHARE_COLUMNS_KINDS_H

enum gs_kind {
	GS_KIND_TEXT,     /* JSON: a string */
	GS_KIND_NAME,     /* a string, or null where it is empty */
	GS_KIND_KERNEL,   /* a string: a kernel's name as in the module, printed as in the source */
	GS_KIND_REASON,   /* a string: why a kernel has no variant */
	GS_KIND_COUNT,    /* an integer */
	GS_KIND_OPTIONAL, /* an integer, or null */
	GS_KIND_JOB, /* an integer: a job id; printed as L1, L2... where it is of gpusharectl run */
	GS_KIND_OPTIONAL_JOB, /* or null */
	GS_KIND_JOB_OR_ALL,   /* or "all" */
	GS_KIND_BOOLEAN,
	GS_KIND_NUMBER, /* a number with decimals, or null: there is none */
	GS_KIND_RATIO,  /* or null: printed as the difference from 1, as +2.0% */
	GS_KIND_PERCENT,
	GS_KIND_S,    /* a duration in seconds; printed as 0.25ms, 4.17s, 12:34, 2-05:04:03 */
	GS_KIND_MS,   /* in milliseconds */
	GS_KIND_US,   /* in microseconds */
	GS_KIND_NS,   /* in nanoseconds */
	GS_KIND_MIB,  /* an amount of memory in MiB; printed as 64M, 1.5G */
	GS_KIND_TIME, /* seconds of the epoch, or null; printed as a date and time of day */
};

#endif
