/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel of the report may get from its machine code. */
#ifndef GPUSHARE_INSPECT_MACHINE_H
#define GPUSHARE_INSPECT_MACHINE_H

#include <jansson.h>

#include "device/cubin/cubin.h"

/*
 * One machine code of kernel k has these facts, with `why` if it gets no guard.
 * A kernel of several machine codes has the guards that one of them may get.
 */
void machine_add_guards(json_t *k, const struct cubin_kernel *facts, const struct gs_error *why);

/* All its code is known: a kernel that would stay as it is is guarded instead, if it may be. */
void machine_decide(json_t *k);

#endif
