/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulated device's own table (device/driver/emu_export.h). */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/emu.h" /* first: what its CUDAAPI marks is exported */
#include "device/driver/emu_export.h"
#include "device/emu/exec/watch.h"

static CUresult watch(CUdeviceptr counter, uint64_t from, CUdeviceptr word, uint32_t value,
		      void (*told)(void *user), void *user)
{
	struct emu_watch w = { counter, from, word, value, told, user };
	struct emu_range range;

	EMU_TRY(emu_enter_plain());
	if (counter % 8 || word % 4 || emu_mem_find(emu.mem, counter, 8, &range) ||
	    emu_mem_find(emu.mem, word, 4, &range))
		return CUDA_ERROR_INVALID_VALUE;
	return emu_watch_set(&w) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static const struct gs_emu_export own = { sizeof(own), watch };

CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
	static const CUuuid known = GS_EMU_EXPORT_ID;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = memcmp(id, &known, sizeof(known)) == 0 ? &own : NULL;
	return *table ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
