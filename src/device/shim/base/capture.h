/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stream capture: whether this process has ever captured a stream into a graph. Launches into a
 * captured stream go to the driver as written. */
#ifndef GPUSHARE_SHIM_CAPTURE_H
#define GPUSHARE_SHIM_CAPTURE_H

#include "device/shim/base/shim.h"

/* Has any stream of this process been captured so far? */
static inline int shim_capture_used(void)
{
	return shim_is_uncommon(SHIM_UNCOMMON_CAPTURED) != 0;
}
/* Is this stream being captured now? The driver is asked only if the process has ever captured a
 * stream, which most programs do not. */
int shim_capturing(CUstream stream);
/* Between these two the shim's own calls of the driver do not end a capture of this or another
 * thread: the capture mode is relaxed. Do not make calls of the program's in between. */
void shim_capture_relax(CUstreamCaptureMode *was);
void shim_capture_restore(CUstreamCaptureMode was);

#endif
