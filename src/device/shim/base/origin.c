/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an address lies, and whose driver it is; see origin.h. */
#define _GNU_SOURCE
#include "device/shim/base/origin.h"

#include <link.h>
#include <stdint.h>

#include "device/shim/base/shim.h"

struct search {
	uintptr_t address;
	unsigned int objects; /* that were looked at */
};

static int search_in(struct dl_phdr_info *object, size_t size, void *data)
{
	struct search *s = data;

	(void)size;
	s->objects++;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    s->address - (object->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return 1;
	}
	return 0;
}

int shim_is_in_object(const void *address)
{
	struct search s = { (uintptr_t)address, 0 };

	return dl_iterate_phdr(search_in, &s);
}

/* The dynamic linker names the program first. */
int shim_is_in_library(const void *address)
{
	struct search s = { (uintptr_t)address, 0 };

	return dl_iterate_phdr(search_in, &s) && s.objects > 1;
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
