/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting and ending the processes of a benchmark; none outlives the tool. */
#ifndef GPUSHARE_BENCH_PROCESS_H
#define GPUSHARE_BENCH_PROCESS_H

#include <sys/types.h>

#include "common/error.h"

/*
 * Run argv[0] (searched in PATH) with `env` ("NAME=VALUE", NULL at the end; a
 * "NAME" alone is unset) on top of this process's environment.  It gets
 * SIGTERM when the tool dies.  input: what it reads on standard input; NULL:
 * nothing.  Returns its pid, or -1 with the reason.
 */
pid_t bench_spawn(char *const argv[], char *const env[], const char *input, struct gs_error *err);

/* The same in a process group of its own, nothing to read, its output at the end of the file `log`.
 */
pid_t bench_spawn_group(char *const argv[], char *const env[], const char *log,
			struct gs_error *err);

/* Wait at most timeout_ms; 1: it ended and *status is waitpid's, 0: it runs. */
int bench_reap(pid_t pid, unsigned timeout_ms, int *status);

/* SIGTERM, and SIGKILL when that does not help within five seconds; reaped. */
void bench_end(pid_t pid);

/* The same for all of its group, whether it itself has been reaped or not. */
void bench_end_group(pid_t pid);

/* The folder of this program's file. */
int bench_own_folder(char *path, size_t room, struct gs_error *err);

/* The file `name` beside this program or in ../sbin or ../bin of it, else just the name, for PATH.
 */
void bench_find_program(const char *name, char *path, size_t room);

#endif
