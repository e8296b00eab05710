/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of cudart_abi.h with our header. */
#include "device/cudart/runtime.h"
#include "cudart_abi.h"

const struct abi_fact abi_ours[] = {
#include "cudart_abi.def"
#define E(name, value, text) V(name)
#include "device/cudart/errors.def"
#undef E
	{ NULL, 0 },
};
