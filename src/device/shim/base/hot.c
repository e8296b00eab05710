/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that every launch reads and several rooms write (shim.h), and the table of upcalls.h. */
#include "device/shim/base/upcalls.h"

_Alignas(SHIM_LINE) struct shim_owned shim_owned;
_Static_assert(sizeof(shim_owned) <= SHIM_LINE, "one cache line");
_Atomic uintptr_t shim_launch_thread;
_Atomic uint32_t shim_uncommon;
/* [0]: all streams; [1]: the legacy default stream and those that synchronise with it; forward.S
 * reads [1]. */
_Atomic uint32_t shim_held[2];

void *shim_slot[SHIM_FN_COUNT];

const struct shim_upcalls *shim_upcalls;
