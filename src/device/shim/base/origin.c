/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an address lies, and whose driver it is; see origin.h. */
#define _GNU_SOURCE
#include "device/shim/base/origin.h"

#include <link.h>
#include <stdint.h>

#include "device/shim/base/shim.h"

static int search_in(struct dl_phdr_info *object, size_t size, void *address)
{
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    (uintptr_t)address - (object->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return 1;
	}
	return 0;
}

int shim_is_in_object(const void *address)
{
	return dl_iterate_phdr(search_in, (void *)(uintptr_t)address);
}

const struct gs_emu_export *shim_emulated(void)
{
	static const CUuuid id = GS_EMU_EXPORT_ID;
	const struct gs_emu_export *emulated = NULL;
	const void *table = NULL;

	if (REAL(cuGetExportTable)(&table, &id) == CUDA_SUCCESS)
		emulated = table;
	return emulated && emulated->size >= sizeof(*emulated) ? emulated : NULL;
}
