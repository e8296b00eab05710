/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-ptx guard: one kernel's machine code with a guard, as a cubin of its own. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/cubin/cubin.h"
#include "device/fatbin/objects.h"
#include "device/ptx/tool/tool.h"

/* What was found in one image after the other; the first that gets a guard ends the search. */
struct search {
	const struct tool_guard *what;
	struct cubin_guarded made;
	struct gs_error err; /* of the last one that has the kernel */
	int found;           /* one has it */
};

/* 1: done; 0: look on. */
static int try_image(struct search *s, const void *image, size_t size)
{
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(image, size, &err);
	int has = c && cubin_find(c, s->what->kernel) >= 0;

	cubin_close(c);
	if (!has)
		return 0;
	s->found = 1;
	return cubin_guard_kernel(image, size, s->what->kernel, s->what->kind, s->what->clusters,
				  &s->made, &s->err) == 1;
}

static int try_container(struct search *s, const struct gs_fatbin *fb)
{
	struct gs_fatbin_entry e;
	size_t at = 0, len;
	int done = 0;

	while (!done && gs_fatbin_next(fb, &at, &e, NULL) > 0) {
		uint8_t *image = e.kind == GS_ENTRY_CUBIN ? gs_fatbin_unpack(&e, &len, NULL) : NULL;

		done = image && try_image(s, image, len);
		free(image);
	}
	return done;
}

static void try_file(struct search *s, const void *data, size_t len)
{
	struct gs_host_walk w;
	struct gs_fatbin fb;

	switch (gs_image_kind(data, len)) {
	case GS_IMAGE_CUBIN:
		try_image(s, data, len);
		break;
	case GS_IMAGE_FATBIN:
		if (gs_fatbin_open(data, len, &fb, NULL) == 0)
			try_container(s, &fb);
		break;
	case GS_IMAGE_HOST:
		if (gs_host_open(data, len, &w, NULL) < 0)
			break;
		while (gs_host_next(&w, &fb, NULL) > 0 && !try_container(s, &fb))
			;
		break;
	default:
		break;
	}
}

static int write_file(const char *path, const uint8_t *data, size_t len)
{
	FILE *to = fopen(path, "we");
	size_t written = to ? fwrite(data, 1, len, to) : 0;

	if (to && fclose(to) == 0 && written == len)
		return TOOL_OK;
	fprintf(stderr, "gpushare-ptx: %s cannot be written\n", path);
	return TOOL_ERROR;
}

int tool_guard(const struct tool_guard *what, const void *data, size_t len)
{
	struct search s = { .what = what };
	int rc;

	try_file(&s, data, len);
	if (!s.made.image) {
		if (s.found)
			fprintf(stderr, "gpushare-ptx: %s: the kernel %s: %s\n", what->kernel,
				cubin_reason_words(s.made.reason), s.err.text);
		else
			fprintf(stderr, "gpushare-ptx: %s has no machine code of a kernel %s\n",
				what->path, what->kernel);
		return s.found ? TOOL_NOT_PREEMPTIBLE : TOOL_ERROR;
	}
	rc = write_file(what->out, s.made.image, s.made.size);
	if (rc == TOOL_OK)
		printf("%s: guard %s, %u bytes of code; parameter %u of %u bytes at %u; registers %u -> %u\n",
		       what->kernel, cubin_guard_name(s.made.kind), s.made.guard_bytes,
		       s.made.param, s.made.param_bytes - s.made.param_offset, s.made.param_offset,
		       s.made.registers_before, s.made.registers);
	free(s.made.image);
	return rc;
}
