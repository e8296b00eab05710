/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The containers of host files; see objects.h. */
#define _GNU_SOURCE
#include "device/fatbin/objects.h"

#include <elf.h>
#include <string.h>

int gs_host_open(const void *data, size_t len, struct gs_host_walk *w, struct gs_error *err)
{
	memset(w, 0, sizeof(*w));
	return gs_elf_open(data, len, &w->elf, err);
}

/* The next section that holds containers into w->rest.  1, 0 or -1. */
static int next_section(struct gs_host_walk *w, struct gs_error *err)
{
	struct gs_section s;

	while (w->section < w->elf.count) {
		if (gs_elf_section(&w->elf, w->section, &s, err) < 0) {
			w->section = w->elf.count;
			return -1;
		}
		w->section++;
		w->linkable = strcmp(s.name, "__nv_relfatbin") == 0;
		if (!w->linkable && strcmp(s.name, ".nv_fatbin") != 0)
			continue;
		if (s.flags & SHF_COMPRESSED)
			continue;
		w->rest = s.bytes;
		return 1;
	}
	return 0;
}

int gs_host_next(struct gs_host_walk *w, struct gs_fatbin *fb, struct gs_error *err)
{
	int rc;

	for (;;) {
		/* The linker fills up to an object's alignment with zeros. */
		while (w->rest.len && *w->rest.data == 0) {
			w->rest.data++;
			w->rest.len--;
		}
		if (w->rest.len)
			break;
		rc = next_section(w, err);
		if (rc <= 0)
			return rc;
	}
	if (gs_fatbin_open(w->rest.data, w->rest.len, fb, err) < 0) {
		w->rest.len = 0;
		w->section = w->elf.count;
		return -1;
	}
	fb->linkable = w->linkable;
	w->rest.data += fb->bytes.len;
	w->rest.len -= fb->bytes.len;
	return 1;
}
