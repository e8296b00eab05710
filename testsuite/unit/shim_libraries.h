/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Under the shim, beside the rig (shim_rig.h): a driver whose libraries are handles with two
 * kernels each, and what the calls for them wait for.  What test_shim_loading.c and
 * test_shim_functions.c share.
 */
#ifndef TESTSUITE_UNIT_SHIM_LIBRARIES_H
#define TESTSUITE_UNIT_SHIM_LIBRARIES_H

#include "device/shim/base/wraps.h"

extern void *shim_slot[SHIM_FN_COUNT];

#define OTHER ((CUstream)0x7100) /* a stream of which the captures are */

extern uintptr_t next_library;     /* what is loaded last; the next one is above it */
extern _Atomic int inside;         /* calls that have come to the driver */
extern CUresult module_rc;         /* what a library's text gets when it is compiled... */
extern unsigned int refused_texts; /* ...so many times, if that is an error */
extern int is_captured;            /* OTHER is */
extern _Thread_local CUstreamCaptureMode capture_mode;
extern _Atomic int relaxed,
	strict; /* times that the mode of a thread that makes the program's calls became so */

/* After shim_rig_setup(). */
void shim_libraries_setup(void);

/* A library without PTX, and of a text; `two` may be NULL. */
CUlibrary load(CUkernel *one, CUkernel *two);
CUlibrary load_text(const char *text, CUkernel *one, CUkernel *two);

/* Calls, which the driver takes. */
typedef void (*call_fn)(CUlibrary library, CUkernel of);
void get_function(CUlibrary library, CUkernel of);
void launch_it(CUlibrary library, CUkernel of);

/* A kernel is held; the call does not come to the driver until that is over. */
void expect_wait(call_fn fn, CUlibrary library, CUkernel of);
/* A kernel is held, and the call goes to the driver all the same. */
void expect_pass(call_fn fn, CUlibrary library, CUkernel of);

/* The driver's, for those that put others in their place. */
CUresult fake_inside(void);
CUresult fake_function(CUfunction *f, CUkernel of);
CUresult fake_module(CUmodule *module, CUlibrary library);

/* The groups of test_shim_functions.c; how many tests failed. */
int shim_functions(void);

#endif
