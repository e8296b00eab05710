/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: any bytes as a fatbin or a host program (the seeds are
 * in testsuite/unit/data/fatbin); what is handed out must lie inside them.
 */
#include <stdlib.h>
#include <string.h>

#include "device/fatbin/fatbin.h"
#include "device/fatbin/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void inside(struct gs_bytes part, const uint8_t *data, size_t size)
{
	must(!part.len || (part.data >= data && part.data + part.len <= data + size));
}

static void container(const uint8_t *data, size_t size)
{
	struct gs_fatbin_choice c;
	struct gs_fatbin_entry e;
	struct gs_fatbin fb;
	size_t at = 0, len;
	char *text;

	if (gs_fatbin_open(data, size, &fb, NULL) < 0)
		return;
	inside(fb.bytes, data, size);
	while (gs_fatbin_next(&fb, &at, &e, NULL) > 0) {
		uint8_t *whole, head[64];

		inside(e.header, data, size);
		inside(e.payload, data, size);
		inside(e.name, data, size);
		inside(e.options, data, size);
		gs_fatbin_relocatable(&e, NULL);
		whole = gs_fatbin_unpack(&e, &len, NULL);
		if (whole && len >= sizeof(head)) {
			must(gs_fatbin_peek(&e, head, sizeof(head), NULL) == 0);
			must(memcmp(head, whole, sizeof(head)) == 0);
		}
		free(whole);
	}
	if (gs_fatbin_best_ptx(&fb, 90, &text, &len, NULL) != 1)
		return;
	must(strlen(text) == len);
	must(gs_fatbin_choose(&fb, 90, &c, NULL) == 0 && c.has_ptx && c.ptx.sm <= 90);
	free(text);
}

static void host(const uint8_t *data, size_t size)
{
	struct gs_host_walk w;
	struct gs_fatbin fb;

	if (gs_host_open(data, size, &w, NULL) < 0)
		return;
	while (gs_host_next(&w, &fb, NULL) > 0) {
		inside(fb.bytes, data, size);
		container(fb.bytes.data, fb.bytes.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	switch (gs_image_kind(data, size)) {
	case GS_IMAGE_FATBIN:
		container(data, size);
		break;
	case GS_IMAGE_HOST:
		host(data, size);
		break;
	default:
		break;
	}
	return 0;
}
