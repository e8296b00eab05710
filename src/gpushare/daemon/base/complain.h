/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log lines about clients that misbehave. At most 20 a second are written, so that no client can
 * fill the log; the others are counted, and their number is logged. */
#ifndef GPUSHARE_DAEMON_COMPLAIN_H
#define GPUSHARE_DAEMON_COMPLAIN_H

/* Writes a warning to the log, or counts it. Call with the loop's lock held (event.h). */
void gs_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
