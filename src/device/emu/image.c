/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs hand over as a module: PTX text, or a fatbin that carries some. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"
#include "device/fatbin/fatbin.h"

/* The PTX that a driver for this device would compile. */
static CUresult load_container(struct CUctx_st *ctx, struct gs_bytes bytes,
			       struct CUmod_st **module, struct gs_error *err)
{
	struct gs_fatbin fb;
	char *text = NULL;
	size_t len = 0;
	CUresult rc;
	int found;

	if (gs_fatbin_open(bytes.data, bytes.len, &fb, err) < 0)
		return CUDA_ERROR_INVALID_IMAGE;
	found = gs_fatbin_best_ptx(&fb, EMU_SM, &text, &len, err);
	if (found < 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (!found) {
		gs_fail(err, "the fatbin has no PTX for compute capability %d.%d", EMU_SM / 10,
			EMU_SM % 10);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	rc = emu_module_load(ctx, text, len, module, err);
	free(text);
	return rc;
}

static CUresult no_machine_code(struct gs_error *err)
{
	gs_fail(err, "machine code does not run on the emulated device");
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult emu_image_load(struct CUctx_st *ctx, const void *image, struct CUmod_st **module,
			struct gs_error *err)
{
	struct gs_bytes bytes;
	int linked;

	err->text[0] = '\0';
	switch (gs_image_in_memory(image, &bytes, &linked)) {
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_WRAPPER:
		if (!linked)
			return load_container(ctx, bytes, module, err);
		gs_fail(err, "relocatable device code is not linked on the emulated device");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case GS_IMAGE_CUBIN:
	case GS_IMAGE_HOST:
		return no_machine_code(err);
	default:
		break;
	}
	if (!strncmp(image,
		     "\x7f"
		     "ELF",
		     4))
		return no_machine_code(err);
	if (!strncmp(image, "\x50\xed\x55\xba", 4) || !strncmp(image, "\xb1\x43\x62\x46", 4)) {
		gs_fail(err, "the fatbin's header is broken");
		return CUDA_ERROR_INVALID_IMAGE;
	}
	/* Text, or nothing known: the parser says what is wrong with it. */
	return emu_module_load(ctx, image, strlen(image), module, err);
}

CUresult emu_image_load_file(struct CUctx_st *ctx, const void *data, size_t len,
			     struct CUmod_st **module, struct gs_error *err)
{
	struct gs_bytes bytes = { data, len };

	err->text[0] = '\0';
	switch (gs_image_kind(data, len)) {
	case GS_IMAGE_FATBIN:
		return load_container(ctx, bytes, module, err);
	case GS_IMAGE_WRAPPER: /* an address of some process: nothing to follow */
		gs_fail(err, "a fatbin's wrapper means nothing in a file");
		return CUDA_ERROR_INVALID_IMAGE;
	case GS_IMAGE_CUBIN:
	case GS_IMAGE_HOST:
		return no_machine_code(err);
	default:
		return emu_module_load(ctx, data, strnlen(data, len), module, err);
	}
}
