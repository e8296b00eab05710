/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the generated code knows of a launch slot (proto/page.h, struct
 * gs_slot) and of its states (proto/launch_state.def).  The transformer includes
 * nothing of the layer above, so the numbers stand here once more;
 * testsuite/unit/test_ptx_layout.c holds both sides together.
 */
#ifndef GPUSHARE_PTX_SLOT_LAYOUT_H
#define GPUSHARE_PTX_SLOT_LAYOUT_H

#define PTX_SLOT_STATE 0   /* .u32 */
#define PTX_SLOT_STARTED 4 /* .u32 */
#define PTX_SLOT_DONE 8    /* .u64 */

#define PTX_STATE_READY 1
#define PTX_STATE_RUNNING 3
#define PTX_STATE_TOEVICT 4
#define PTX_STATE_DONE 5

#endif
