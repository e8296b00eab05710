/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver that only records: it stands below the shim in the unit tests, by
 * filling the shim's table of driver functions.  What would run on a GPU is
 * done by the test, which writes the page as the GPU would.
 */
#ifndef TESTSUITE_UNIT_FAKE_DRIVER_H
#define TESTSUITE_UNIT_FAKE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "device/driver/cuda.h"

/* The handles that it gives out. */
#define FAKE_CONTEXT ((CUcontext)0x100)
#define FAKE_ORIGINAL ((CUfunction)0x1000)
#define FAKE_VARIANT ((CUfunction)0x2000)
/* The program's module, and that of a variant, which holds nothing else. */
#define FAKE_MODULE ((CUmodule)0x500)
#define FAKE_VARIANTS_MODULE ((CUmodule)0x600)
#define FAKE_GUARDED_MODULE ((CUmodule)0x700) /* of a guarded variant */
#define FAKE_GUARD_MODULE ((CUmodule)0x800)   /* of what is launched beside it */
#define FAKE_MACHINE_CODE ((CUfunction)0x3000)
#define FAKE_LEAVES ((CUfunction)0x1800)  /* a kernel "leaves" */
#define FAKE_GUARDED ((CUfunction)0x4000) /* a guarded variant */
#define FAKE_END ((CUfunction)0x5000)     /* what is launched behind it, and beside it */
#define FAKE_WATCH ((CUfunction)0x6000)
/* What was launched last; what the driver says is another context's function, NULL: nothing is. */
extern CUfunction fake_launched, fake_elsewhere;
/* The guard words of the latest launches of FAKE_WATCH, at their number modulo FAKE_WATCHED; and
 * how many there were. */
#define FAKE_WATCHED 8
extern CUdeviceptr fake_watched[FAKE_WATCHED];
extern unsigned int fake_watches;
/* A created stream that synchronises with the legacy default stream; every other one does not. */
#define FAKE_BLOCKING ((CUstream)0x8000)
/* The executable graph that every instantiation gives. */
#define FAKE_GRAPH ((CUgraphExec)0xa000)
#define FAKE_SMS 4
#define FAKE_BLOCKS_PER_SM 2

/* Put it below the shim.  Device memory is host memory. */
void fake_driver_install(void);

/* Before it is put there: it loads eagerly, not lazily. */
void fake_driver_loads_eagerly(void);

/* Names of the calls so far that order matters for, separated by blanks; then forget them. */
void fake_driver_calls(char *text, size_t size);

/* The parameter block and the grid of the last launch of a program's kernel. */
const void *fake_driver_params(void);
unsigned int fake_driver_grid(void);

/* The next call of that kind fails once with rc. */
void fake_driver_fail(const char *call, CUresult rc);

/* So many bytes of local memory each thread of f takes; one function at a time, others take none.
 */
void fake_driver_frame(CUfunction f, int bytes);

/* Called by the caller's thread inside each call that is recorded, before it is; NULL: no more. */
void fake_driver_inside(void (*hook)(const char *call, CUstream stream));

/* As after a fault: whatever is asked of the current context gives rc from now on. */
void fake_driver_break(CUresult rc);
/* Another context is current, and sound; returns it. */
CUcontext fake_driver_renew(void);

/* The current context is destroyed, and another one has got its handle. */
void fake_driver_reuse(void);
/* Calls so far with events of a context that was destroyed, over which a driver crashes; and the
 * events there are. */
unsigned int fake_driver_stale(void);
int fake_driver_events(void);

/* From now on the GPU does nothing that is enqueued: what goes out is not over until the test says
 * so. */
void fake_driver_busy(int is);

/* What lies between two events from now on; 0, as at first: nothing that can be learned from. */
void fake_driver_takes(float ms);
/* Whether the kernels in front of events are still at work (cuEventQuery). */
void fake_driver_before_events(int at_work);
/* So often the events are not ready yet when that is asked. */
void fake_driver_late(int times);
/* How often that has been asked, and how many events have been recorded. */
unsigned int fake_driver_timed(void);
unsigned int fake_driver_recorded(void);

/* So many blocks of the original and of the variant fit on an SM from now on; FAKE_BLOCKS_PER_SM at
 * first. */
void fake_driver_fits(unsigned int own, unsigned int variant);
/* How often that has been asked since. */
unsigned int fake_driver_fit_requested(void);

#endif
