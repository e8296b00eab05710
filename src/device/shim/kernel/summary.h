/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A summary of the process's kernels, for a user who sets GPUSHARE_SUMMARY. */
#ifndef GPUSHARE_SHIM_SUMMARY_H
#define GPUSHARE_SHIM_SUMMARY_H

/*
 * Call at exit: appends a line per kernel to the file that GPUSHARE_SUMMARY names, if it is set; in
 * one write, since other processes append to it, too. The fields, separated by blanks: launches,
 * evictable launches among them, evictions, transform (enum ptx_transform_kind), reason (enum
 * ptx_reason), name.
 */
void shim_summary_write(void);

#endif
