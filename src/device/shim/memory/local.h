/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Local memory of kernels, which the driver sets aside for each thread that may be resident. */
#ifndef GPUSHARE_SHIM_LOCAL_H
#define GPUSHARE_SHIM_LOCAL_H

#include "device/shim/session/session.h"

/* How many threads may be resident on the current context's device, each with a stack; 0: not
 * known. */
uint64_t shim_resident_threads(void);

/*
 * Call before a kernel's first launch in the current context: charges its local memory for every
 * thread that may be resident, as far as the context does not have that much yet. Returns 0; -1:
 * beyond the reservation.
 */
int shim_local_charge(struct shim_session *s, CUfunction f);
/* The kernel's local memory per thread, bytes, as the driver says; 0: none. */
uint32_t shim_local_bytes(CUfunction f);

#endif
