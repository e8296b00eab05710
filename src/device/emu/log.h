/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line for a person: to the file $GPUSHARE_EMU_LOG, or to standard error. */
#ifndef GPUSHARE_EMU_LOG_H
#define GPUSHARE_EMU_LOG_H

void emu_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
