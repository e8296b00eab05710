/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exported functions that are the driver's: a jump through nvml_slot[], filled on first use. */
#include "common/forward.inc"

	.text
	FIRST_CALL nvml_first_call, nvml_real

	.macro FORWARD name
	JUMP	\name, nvml_slot, nvml_first_call
	.endm
	.macro WRAPPED name
	.endm

	.set	number, 0
	.macro ENTRY_OF name, kind
	\kind	\name
	.set	number, number + 1
	.endm

#define ENTRY(name, kind) ENTRY_OF name, kind
#include "device/nvml/entries.def"

	.section .note.GNU-stack, "", @progbits
