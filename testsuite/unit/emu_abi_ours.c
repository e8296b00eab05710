/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of emu_abi.h with our header. */
#include "device/driver/cuda.h"
#include "emu_abi.h"

const struct abi_fact abi_ours[] = {
#include "emu_abi.def"
#define E(name, value, text) V(name)
#include "device/driver/errors.def"
#undef E
#define A(name, value) V(CU_DEVICE_ATTRIBUTE_##name)
#include "device/driver/device_attributes.def"
#undef A
	{ NULL, 0 },
};
