/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has this process ever captured a stream into a graph?  What is launched there goes to the driver
 * as it is. */
#ifndef GPUSHARE_SHIM_CAPTURE_H
#define GPUSHARE_SHIM_CAPTURE_H

#include "device/shim/base/shim.h"

/* Has any stream of this process been captured so far? */
static inline int shim_capture_used(void)
{
	return shim_is_uncommon(SHIM_UNCOMMON_CAPTURED) != 0;
}
/* Is this one?  The driver is asked only if there can be a capture: most programs have none. */
int shim_capturing(CUstream stream);
/*
 * What we ask the driver between these two, of our own accord, ends no capture that this thread, or
 * any thread, may be at: its mode is relaxed.  The program's own calls are not for in there.
 */
void shim_capture_relax(CUstreamCaptureMode *was);
void shim_capture_restore(CUstreamCaptureMode was);

#endif
