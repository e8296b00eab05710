/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: any bytes as an ELF file, host program and cubin alike, and as
 * whatever gpushare-ptx is given; what is handed out must lie inside them.
 */
#include <stdlib.h>
#include <string.h>

#include "device/inspect/inspect.h"
#include "device/fatbin/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink; /* so that no read is optimised away */

static void must(int holds)
{
	if (!holds)
		abort();
}

static void inside(struct gs_bytes part, const uint8_t *data, size_t size)
{
	must(!part.len || (part.data >= data && part.len <= size &&
			   (size_t)(part.data - data) <= size - part.len));
	for (size_t i = 0; i < part.len; i += 512)
		sink += part.data[i];
	if (part.len)
		sink += part.data[part.len - 1];
}

static void sections(const uint8_t *data, size_t size)
{
	struct gs_section s;
	struct gs_elf elf;

	if (gs_elf_open(data, size, &elf, NULL) < 0)
		return;
	inside(elf.file, data, size);
	for (uint64_t i = 0; i < elf.count && i < 4096; i++)
		if (gs_elf_section(&elf, i, &s, NULL) == 0) {
			inside(s.bytes, data, size);
			sink += strlen(s.name);
		}
}

static void host(const uint8_t *data, size_t size)
{
	struct gs_host_walk w;
	struct gs_fatbin fb;

	if (gs_host_open(data, size, &w, NULL) < 0)
		return;
	while (gs_host_next(&w, &fb, NULL) > 0)
		inside(fb.bytes, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_error err = { "" };
	json_t *report;

	sections(data, size);
	host(data, size);
	if (!gs_inspect_handles(data, size))
		return 0;
	report = gs_inspect("fuzz", data, size, 90, &err);
	must(report || err.text[0]);
	json_decref(report);
	return 0;
}
