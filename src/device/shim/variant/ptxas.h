/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PTX to machine code by an installed ptxas, in a process of its own: a compilation inside the
 * driver takes the driver's lock for as long as it lasts.
 */
#ifndef GPUSHARE_SHIM_PTXAS_H
#define GPUSHARE_SHIM_PTXAS_H

#include <stddef.h>
#include <stdint.h>

/* The compiler of PATH, or of /usr/local/cuda/bin.  NULL: there is none. */
const char *shim_ptxas_path(void);

/* So long it may take. */
#define SHIM_PTXAS_NS (60ull * 1000 * 1000 * 1000)

/*
 * Compile for compute capability sm (90: 9.0).  options: what ptxas is to be told besides, words
 * with blanks between them, or NULL.  stop: once it is not 0 anybody's patience is over.  The
 * machine code, *code_len bytes, the caller's to free; NULL: not compiled, as the log says.
 * The child has the caller's niceness, and is no child that the program's own wait() sees.
 */
void *shim_ptxas(const char *ptxas, const char *text, size_t len, uint32_t sm, const char *options,
		 const _Atomic int *stop, size_t *code_len);

#endif
