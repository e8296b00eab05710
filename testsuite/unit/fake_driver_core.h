/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the recording driver share; see fake_driver.h. */
#ifndef TESTSUITE_UNIT_FAKE_DRIVER_CORE_H
#define TESTSUITE_UNIT_FAKE_DRIVER_CORE_H

#include "device/shim/base/shim.h"
#include "fake_driver.h"

extern void *shim_slot[SHIM_FN_COUNT];

#define FAKE_PUT(symbol, function) shim_slot[SHIM_FN_##symbol] = (void *)(uintptr_t)(function)

/* The call is recorded; what it is to return. */
CUresult fake_called(const char *name);
/* The same, after fake_driver_inside()'s hook. */
CUresult fake_called_in(const char *name, CUstream stream);

CUresult fake_current(CUcontext *ctx);

/* Put their functions below the shim. */
void fake_streams_install(void);
void fake_launches_install(void);

#endif
