/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cubin_check FILE...: every cubin in these files (cubins, containers, programs
 * and libraries) is read and written again, which must give the same bytes;
 * every kernel of sm_90 code is guarded in each kind, and what comes out must
 * be read as it should.  Status 1 and a line for each that fails.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cubin/cubin.h"
#include "device/fatbin/fatbin.h"
#include "device/fatbin/objects.h"
#include "device/ptx/guard.h"

static struct {
	unsigned long cubins, kernels, guarded, failures, cluster, pdl;
	unsigned long reasons[CUBIN_REASON_COUNT];
} sum;

static const char *file; /* under way */
static int verbose;

static void fail(const char *kernel, const char *what)
{
	sum.failures++;
	printf("FAIL %s: %s: %s\n", file, kernel, what);
}

/* What was guarded has the same facts but for the guard's. */
static void check_guarded(const struct cubin_kernel *was, const struct cubin_guarded *g)
{
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(g->image, g->size, &err);
	uint32_t offset, size;
	struct cubin_kernel k;
	uint8_t *again;
	size_t n;

	if (!c || cubin_kernels(c) != 1 || cubin_kernel(c, 0, &k, &err) < 0) {
		fail(was->name, err.text[0] ? err.text : "guarded, it is not the only kernel");
		cubin_close(c);
		return;
	}
	/* The room for parameters may be used up. */
	if (k.reason != CUBIN_REASON_NONE && k.reason != CUBIN_REASON_PARAMETERS)
		fail(was->name, err.text);
	if (strcmp(k.name, was->name) != 0 || k.params != was->params + 1 ||
	    k.param_bytes != g->param_bytes || k.code_bytes != was->code_bytes + g->guard_bytes ||
	    k.registers != g->registers || k.registers < was->registers || k.barriers < 1 ||
	    k.barriers < was->barriers || k.shared != was->shared || k.local != was->local ||
	    k.max_threads != was->max_threads)
		fail(was->name, "its facts are not the original's and the guard's");
	if (cubin_param(c, 0, g->param, &offset, &size) < 0 || offset != g->param_offset ||
	    size != GS_GUARD_PARAM_BYTES)
		fail(was->name, "the guard's parameter is not where it should be");
	again = cubin_write(c, &n, &err);
	if (!again || n != g->size || memcmp(again, g->image, n) != 0)
		fail(was->name, "guarded, it is not written again as it is");
	free(again);
	cubin_close(c);
}

static void guard(const uint8_t *image, size_t size, const struct cubin_kernel *k)
{
	struct gs_error err = { "" };
	struct cubin_guarded g;

	for (int f = 0; f < CUBIN_GUARD_COUNT; f++) {
		if (cubin_guard_kernel(image, size, k->name, (enum cubin_guard)f, 0, &g, &err) !=
		    1) {
			fail(k->name, err.text);
			continue;
		}
		check_guarded(k, &g);
		free(g.image);
	}
	sum.guarded++;
}

static void one(const uint8_t *image, size_t size)
{
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(image, size, &err);
	struct cubin_kernel k;
	uint8_t *again;
	size_t n;

	sum.cubins++;
	if (!c) {
		fail("-", err.text);
		return;
	}
	again = cubin_write(c, &n, &err);
	if (!again)
		fail("-", err.text);
	/* Zeros behind a cubin are the container's. */
	else if (n > size || memcmp(again, image, n) != 0)
		fail("-", "it is not written again as it was read");
	free(again);
	for (uint32_t i = 0; cubin_sm(c) == 90 && i < cubin_kernels(c); i++) {
		sum.kernels++;
		err.text[0] = '\0';
		if (cubin_kernel(c, i, &k, &err) < 0) {
			fail("-", err.text);
			continue;
		}
		sum.reasons[k.reason]++;
		sum.cluster += k.cluster[0] != 0;
		sum.pdl += (k.uses & CUBIN_USES_PDL) != 0;
		if (verbose && k.reason != CUBIN_REASON_NONE)
			printf("%s: %.100s: %s: %s\n", file, k.name, cubin_reason_name(k.reason),
			       err.text);
		if (k.reason == CUBIN_REASON_NONE)
			guard(image, size, &k);
	}
	cubin_close(c);
}

static void container(const struct gs_fatbin *fb)
{
	struct gs_fatbin_entry e;
	struct gs_error err;
	size_t at = 0, len;

	while (gs_fatbin_next(fb, &at, &e, &err) > 0) {
		uint8_t *image = NULL;

		if (e.kind == GS_ENTRY_CUBIN && (e.sm == 90 || verbose))
			image = gs_fatbin_unpack(&e, &len, &err);
		if (image)
			one(image, len);
		free(image);
	}
}

static void whole(const uint8_t *data, size_t size)
{
	struct gs_host_walk w;
	struct gs_fatbin fb;
	struct gs_error err;

	switch (gs_image_kind(data, size)) {
	case GS_IMAGE_CUBIN:
		one(data, size);
		break;
	case GS_IMAGE_FATBIN:
		if (gs_fatbin_open(data, size, &fb, &err) == 0)
			container(&fb);
		break;
	case GS_IMAGE_HOST:
		if (gs_host_open(data, size, &w, &err) == 0)
			while (gs_host_next(&w, &fb, &err) > 0)
				container(&fb);
		break;
	default:
		fail("-", "there is no machine code in it");
	}
}

static int read_file(const char *path)
{
	FILE *from = fopen(path, "re");
	uint8_t *data = NULL;
	long size = -1;

	if (from && fseek(from, 0, SEEK_END) == 0 && (size = ftell(from)) >= 0) {
		rewind(from);
		data = malloc((size_t)size + 1);
	}
	if (!data || fread(data, 1, (size_t)size, from) != (size_t)size) {
		fprintf(stderr, "cubin_check: %s cannot be read\n", path);
		free(data);
		if (from)
			fclose(from);
		return -1;
	}
	fclose(from);
	file = path;
	whole(data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0)
			verbose = 1;
		else if (read_file(argv[i]) < 0)
			return 2;
	}
	printf("%lu cubins, %lu kernels of sm_90, %lu guarded, %lu in clusters, %lu with PDL, %lu failures\n",
	       sum.cubins, sum.kernels, sum.guarded, sum.cluster, sum.pdl, sum.failures);
	for (int r = 1; r < CUBIN_REASON_COUNT; r++)
		if (sum.reasons[r])
			printf("%s: %lu\n", cubin_reason_name((enum cubin_reason)r),
			       sum.reasons[r]);
	return sum.failures || !sum.cubins;
}
