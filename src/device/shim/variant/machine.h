/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variants made from machine code: a kernel is cut out of the cubin that the driver has loaded, and
 * a guard is put in front of it (device/cubin/cubin.h). */
#ifndef GPUSHARE_SHIM_MACHINE_H
#define GPUSHARE_SHIM_MACHINE_H

#include "device/cubin/cubin.h"
#include "device/shim/kernel/image.h"
#include "device/shim/variant/recipe.h"

/*
 * Makes the kernel's variant from the image that its module was loaded from.  It does so only if
 * the reason `why` PTX gave no variant does not rule out machine code too, MachineCode= allows it,
 * and machine_test.h has found that guards work.  Returns NONE with *made, for shim_made_free();
 * otherwise the reason, which is `why` itself if machine code was not tried.  The driver may be
 * asked and the barrier entered.
 */
shim_recipe_other_fn shim_machine_make;

/*
 * Which guard a kernel gets. unit_ps: time of one of its units, ps of the whole GPU; 0: not known.
 * at_once: how many units the GPU holds at once; 0: not known. *group: log2 of the number of units
 * that are checked together.
 */
enum cubin_guard shim_machine_guard(uint64_t unit_ps, uint64_t at_once, uint8_t *group);

#endif
