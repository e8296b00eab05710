/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same with the vendor's. */
#include <cuda_runtime_api.h>
#include "cudart_abi.h"

const struct abi_fact abi_vendors[] = {
#include "cudart_abi.def"
#define E(name, value, text) V(name)
#include "device/cudart/errors.def"
#undef E
	{ NULL, 0 },
};
