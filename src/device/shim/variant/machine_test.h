/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Before the first variant of machine code in a process, this runs a test kernel of the shim's own
 * with each guard, tells it to leave in the middle, launches it again, and checks that it did
 * exactly what it should.
 */
#ifndef GPUSHARE_SHIM_MACHINE_TEST_H
#define GPUSHARE_SHIM_MACHINE_TEST_H

#include "device/ptx/transform.h"
#include "device/shim/context/context.h"

#define SHIM_MACHINE_SM 90u /* architecture of the test kernel */

#define SHIM_MACHINE_BLOCKS 8192u
#define SHIM_MACHINE_LEAVE_AT 2992u /* how many blocks run before the order to leave */

/*
 * Returns PTX_REASON_NONE: guards work here; PTX_REASON_MACHINE_DIFFERS: they do not, in this
 * process, and the log says so; PTX_REASON_NOT_BUILT: the GPU was too busy, so ask again later.
 * Enters the barrier, and waits for the GPU outside of it.
 */
enum ptx_reason shim_machine_works(struct shim_context *c);

#endif
