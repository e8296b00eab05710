/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles PTX to machine code with an installed ptxas, in a process of its own: a compilation
 * inside the driver would hold the driver's lock all the time. */
#ifndef GPUSHARE_SHIM_PTXAS_H
#define GPUSHARE_SHIM_PTXAS_H

#include <stddef.h>
#include <stdint.h>

/* The path of ptxas from PATH, or in /usr/local/cuda/bin. NULL: there is none. Valid for the life
 * of the process. */
const char *shim_ptxas_path(void);

/* How long a compilation may take. */
#define SHIM_PTXAS_NS (60ull * 1000 * 1000 * 1000)

/*
 * Compiles for compute capability sm (90 for 9.0). options: further options of ptxas, separated by
 * blanks, or NULL. stop: gives up once it is not 0. Returns the machine code, *code_len bytes,
 * which the caller frees; NULL: not compiled, and the log says why. The child has the caller's
 * niceness, and the program's own wait() does not see it.
 */
void *shim_ptxas(const char *ptxas, const char *text, size_t len, uint32_t sm, const char *options,
		 const _Atomic int *stop, size_t *code_len);

#endif
