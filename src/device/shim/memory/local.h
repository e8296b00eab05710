/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Local memory of kernels, which the driver sets aside for each thread that may be resident. */
#ifndef GPUSHARE_SHIM_LOCAL_H
#define GPUSHARE_SHIM_LOCAL_H

#include "device/shim/session/session.h"

/* Threads of the current context's device that may be resident, each with a stack; 0: not known. */
uint64_t shim_resident_threads(void);

/*
 * A kernel is about to be launched for the first time in the current context: its local memory, for
 * each thread that may be resident, as far as the context has none as large
 * yet.  0; -1: beyond the reservation.
 */
int shim_local_charge(struct shim_session *s, CUfunction f);
/* Bytes of local memory of each of its threads, as far as the driver says; 0: none. */
uint32_t shim_local_bytes(CUfunction f);

#endif
