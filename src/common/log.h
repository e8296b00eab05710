/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logging of the programs (never of the shim, which lives in the users'
 * processes and stays silent unless GPUSHARE_LOG names a file).
 */
#ifndef GPUSHARE_COMMON_LOG_H
#define GPUSHARE_COMMON_LOG_H

enum gs_log_level { GS_LOG_ERROR, GS_LOG_WARN, GS_LOG_INFO, GS_LOG_DEBUG };

/*
 * Write to `path` ("-" or NULL: standard error), lines up to `level`.
 * Returns 0, or -1 with errno when the file cannot be opened.
 */
int gs_log_open(const char *program, const char *path, enum gs_log_level level);
void gs_log_close(void);

/* Level from its name (error, warn, info, debug); -1 if there is none such. */
int gs_log_level_parse(const char *name);

/* One line: time, program, level, text.  The newline is added. */
void gs_log(enum gs_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
