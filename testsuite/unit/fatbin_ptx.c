/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_fatbin_nvcc: `fatbin_ptx FILE SM` prints the PTX of the first
 * container in FILE that has some for compute capability SM.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device/fatbin/fatbin.h"
#include "device/fatbin/objects.h"

static uint8_t *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0) {
		data = malloc((size_t)size);
		*len = (size_t)size;
		if (data && fread(data, 1, *len, f) != *len) {
			free(data);
			data = NULL;
		}
	}
	fclose(f);
	return data;
}

static int print(const struct gs_fatbin *fb, uint32_t sm, struct gs_error *err)
{
	char *text;
	size_t len;
	int rc = gs_fatbin_best_ptx(fb, sm, &text, &len, err);

	if (rc > 0)
		fwrite(text, 1, len, stdout);
	free(text);
	return rc;
}

int main(int argc, char **argv)
{
	struct gs_error err = { "no PTX" };
	struct gs_host_walk w;
	struct gs_fatbin fb;
	uint8_t *data;
	size_t len;
	int rc = -1;

	if (argc != 3)
		return 2;
	data = slurp(argv[1], &len);
	if (!data)
		return 2;
	if (gs_image_kind(data, len) == GS_IMAGE_FATBIN) {
		if (gs_fatbin_open(data, len, &fb, &err) == 0)
			rc = print(&fb, (uint32_t)atoi(argv[2]), &err);
	} else if (gs_host_open(data, len, &w, &err) == 0) {
		while ((rc = gs_host_next(&w, &fb, &err)) > 0 &&
		       (rc = print(&fb, (uint32_t)atoi(argv[2]), &err)) == 0)
			;
	}
	free(data);
	if (rc <= 0)
		fprintf(stderr, "%s: %s\n", argv[1], err.text);
	return rc > 0 ? 0 : 1;
}
