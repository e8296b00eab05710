/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The emulated device's own table (device/driver/emu_export.h). */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h" /* first: what its CUDAAPI marks is exported */
#include "device/driver/emu_export.h"
#include "device/emu/exec/watch.h"
#include "device/emu/log.h"

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

static int find_runtime(struct dl_phdr_info *info, size_t size, void *user)
{
	const char **found = user;

	(void)size;
	if (!strstr(info->dlpi_name, "/libcudart.so"))
		return 0;
	*found = info->dlpi_name;
	return 1;
}

/*
 * NVIDIA's runtime asks for tables that only NVIDIA's driver has, and then reports "named symbol
 * not found" to a user who named no symbol. Ours asks for none.
 */
static void explain_runtime(void)
{
	const char *quiet = getenv("GPUSHARE_QUIET"), *runtime = NULL;

	if (quiet && *quiet && strcmp(quiet, "0") != 0)
		return;
	dl_iterate_phdr(find_runtime, &runtime);
	if (!runtime)
		emu_log("this program has NVIDIA's CUDA runtime linked into it, which does not work on the emulated GPU; compile it with nvcc -cudart shared");
	else
		emu_log("this program runs with NVIDIA's CUDA runtime (%s), which does not work on the emulated GPU; LD_LIBRARY_PATH must lead to gpushare's libcudart.so.13, as gpushare-emu and private-cluster DIR env set it",
			runtime);
}

CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
	static const CUuuid known = GS_EMU_EXPORT_ID;
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = memcmp(id, &known, sizeof(known)) == 0 ? &own : NULL;
	if (*table)
		return CUDA_SUCCESS;
	pthread_once(&once, explain_runtime);
	return CUDA_ERROR_NOT_FOUND;
}
