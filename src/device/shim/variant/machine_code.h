/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel that machine_test.h runs: a cubin for sm_90. */
#ifndef GPUSHARE_SHIM_MACHINE_CODE_H
#define GPUSHARE_SHIM_MACHINE_CODE_H

#include <stddef.h>

/* The kernel's name: block i adds 1 to the 32-bit word i behind its only parameter. */
#define SHIM_MACHINE_KERNEL "gpushare_machine_test"

extern const unsigned char shim_machine_code[];
extern const size_t shim_machine_code_size;

#endif
