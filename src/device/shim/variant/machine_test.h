/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Before the first variant of machine code in a process: a kernel of our own is run with each
 * guard, told to leave in the middle and launched again, and has to do exactly what it should.
 */
#ifndef GPUSHARE_SHIM_MACHINE_TEST_H
#define GPUSHARE_SHIM_MACHINE_TEST_H

#include "device/ptx/transform.h"
#include "device/shim/context/context.h"

#define SHIM_MACHINE_SM 90u /* what the kernel's code is for */

#define SHIM_MACHINE_BLOCKS 8192u
#define SHIM_MACHINE_LEAVE_AT 2992u /* so many run before the order to leave */

/*
 * NONE: guards work here.  MACHINE_DIFFERS: they do not, for this process, and the log has said so.
 * NOT_BUILT: the GPU did not come to it in time; ask again.  Enters the barrier, and waits for the
 * GPU outside of it.
 */
enum ptx_reason shim_machine_works(struct shim_context *c);

#endif
