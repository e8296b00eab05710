/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a module comes from; see origin.h. */
#define _GNU_SOURCE
#include "device/shim/origin.h"

#include <ctype.h>
#include <link.h>
#include <string.h>

#include "device/shim/shim.h"

struct search {
	uintptr_t address;
	int objects; /* looked at so far; the first one is the program */
	enum shim_place place;
};

static int search_in(struct dl_phdr_info *object, size_t size, void *user)
{
	struct search *s = user;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type != PT_LOAD ||
		    s->address - (object->dlpi_addr + p->p_vaddr) >= p->p_memsz)
			continue;
		s->place = s->objects ? SHIM_PLACE_LIBRARY : SHIM_PLACE_PROGRAM;
		return 1;
	}
	s->objects++;
	return 0;
}

enum shim_place shim_place_of(const void *address)
{
	struct search s = { (uintptr_t)address, 0, SHIM_PLACE_MEMORY };

	dl_iterate_phdr(search_in, &s);
	return s.place;
}

enum ptx_reason shim_origin_reason(enum shim_place image, enum shim_place caller)
{
	if (image == SHIM_PLACE_MEMORY)
		image = caller;
	/* A caller that lies in no file is not the program's own code either: some language's
	 * compiler has made it. */
	return image == SHIM_PLACE_PROGRAM ? PTX_REASON_NONE : PTX_REASON_LIBRARY;
}

enum ptx_reason shim_origin(const void *image, const void *caller)
{
	enum shim_place place = image ? shim_place_of(image) : SHIM_PLACE_MEMORY;

	return shim_origin_reason(place,
				  place == SHIM_PLACE_MEMORY ? shim_place_of(caller) : place);
}

int shim_is_large(const char *text, size_t len)
{
	static const char entry[] = ".entry";
	const char *at = text, *end = text + len;
	unsigned int kernels = 0;

	if (len > SHIM_MODULE_PTX_MAX)
		return 1;
	while (kernels <= SHIM_MODULE_KERNELS_MAX &&
	       (at = memmem(at, (size_t)(end - at), entry, strlen(entry)))) {
		at += strlen(entry);
		kernels += at < end && isspace((unsigned char)*at);
	}
	return kernels > SHIM_MODULE_KERNELS_MAX;
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
