/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the generated code knows of a kernel stub (proto/page.h, struct
 * gs_stub) and of its states (proto/kstate.def).  The transformer includes
 * nothing of the layer above, so the numbers stand here once more;
 * testsuite/unit/test_ptx_layout.c holds both sides together.
 */
#ifndef GPUSHARE_PTX_STUB_LAYOUT_H
#define GPUSHARE_PTX_STUB_LAYOUT_H

#define PTX_STUB_KSTATE 0   /* .u32 */
#define PTX_STUB_STARTED 4  /* .u32 */
#define PTX_STUB_DONE 8     /* .u64 */

#define PTX_KSTATE_READY 1
#define PTX_KSTATE_TOEVICT 4
#define PTX_KSTATE_DONE 5

#endif
