/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What went wrong in a kernel: the driver's error code, and one line for a person. */
#define _GNU_SOURCE
#include <stdio.h>

#include "device/emu/emu.h"

static void describe(const struct emu_grid *g, const struct emu_fault *f)
{
	const char *file = NULL;
	uint32_t line = emu_program_source(g->program, f->pc, &file);
	char source[300] = "";

	if (!f->what[0]) {
		emu_log("kernel %s: no memory for a block", g->name);
		return;
	}
	if (line)
		snprintf(source, sizeof(source), " (%s:%u)", file ? file : "source", line);
	emu_log("kernel %s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u%s: %s, %s 0x%llx",
		g->name, f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1],
		f->thread[2], f->line, source, f->what,
		f->kind == EMU_FAULT_BARRIER ? "barrier" : "address",
		(unsigned long long)f->address);
}

CUresult emu_fault_result(const struct emu_grid *g)
{
	const struct emu_fault *f = &g->fault;

	if (!atomic_load(&g->failed))
		return CUDA_SUCCESS;
	while (atomic_load(&g->failed) != 2)
		; /* being filled by another SM */
	describe(g, f);
	switch (f->kind) {
	case EMU_FAULT_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case EMU_FAULT_ALIGN:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case EMU_FAULT_ASSERT:
		return CUDA_ERROR_ASSERT;
	case EMU_FAULT_STACK:
		return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case EMU_FAULT_PC:
		return CUDA_ERROR_INVALID_PC;
	case EMU_FAULT_ILLEGAL:
	case EMU_FAULT_BARRIER:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}
