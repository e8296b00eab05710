/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of the process's kernels, for whoever asked with GPUSHARE_SUMMARY. */
#ifndef GPUSHARE_SHIM_SUMMARY_H
#define GPUSHARE_SHIM_SUMMARY_H

/*
 * At exit: append a line per kernel to the file that GPUSHARE_SUMMARY names,
 * if it does; all of them in one write, since other processes append, too.
 * Fields, parted by blanks: launches, of these evictable ones, evictions,
 * form (enum ptx_transform_kind), reason (enum ptx_reason), name.
 */
void shim_summary_write(void);

#endif
