/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linking at run time.  This device's machine code is PTX, so the linked
 * image is the inputs' text in one module: the first one's header stays, and
 * declarations of what another input defines are the parser's to match.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/read_file.h"
#include "device/emu/emu.h"
#include "device/fatbin/fatbin.h"

#define MAGIC 0x6b6e696cu

struct CUlinkState_st {
	uint32_t magic;
	char *text; /* with its end */
	size_t len;
	int complete;
};

static CUresult check(const struct CUlinkState_st *s)
{
	EMU_TRY(emu_enter_plain());
	return s && s->magic == MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values,
				 CUlinkState *state)
{
	struct CUctx_st *ctx;

	(void)n;
	(void)options;
	(void)values;
	EMU_TRY(emu_enter(&ctx));
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = calloc(1, sizeof(**state));
	if (!*state)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*state)->magic = MAGIC;
	return CUDA_SUCCESS;
}

/* A line that only a module's beginning may have (PTX ISA, "PTX Module Directives"). */
static int is_header(const char *line)
{
	line += strspn(line, " \t");
	return !strncmp(line, ".version", 8) || !strncmp(line, ".target", 7) ||
	       !strncmp(line, ".address_size", 13);
}

static CUresult add_text(struct CUlinkState_st *s, const char *text, size_t len)
{
	char *grown = realloc(s->text, s->len + len + 2);
	int first = s->len == 0;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->text = grown;
	len = strnlen(text, len);
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) + 1 : len;

		if (first || n < 8 || !is_header(text)) {
			memcpy(s->text + s->len, text, n);
			s->len += n;
		}
		text += n;
		len -= n;
	}
	s->text[s->len++] = '\n';
	s->text[s->len] = '\0';
	return CUDA_SUCCESS;
}

static CUresult add_fatbin(struct CUlinkState_st *s, const void *data, size_t size)
{
	struct gs_error err = { "" };
	struct gs_fatbin fb;
	char *text = NULL;
	size_t len = 0;
	CUresult rc;

	if (gs_fatbin_open(data, size, &fb, &err) < 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (gs_fatbin_best_ptx(&fb, EMU_SM, &text, &len, &err) <= 0)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	rc = add_text(s, text, len);
	free(text);
	return rc;
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
				  const char *name, unsigned int n, CUjit_option *options,
				  void **values)
{
	/* the parser reads C strings: a terminator of ours, whatever the input has */
	char *copy;
	CUresult rc;

	(void)name;
	(void)n;
	(void)options;
	(void)values;
	EMU_TRY(check(state));
	if (!data || !size || state->complete)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_FATBINARY)
		return add_fatbin(state, data, size);
	if (type != CU_JIT_INPUT_PTX)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	copy = malloc(size + 1);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, data, size);
	copy[size] = '\0';
	rc = add_text(state, copy, size);
	free(copy);
	return rc;
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
				  unsigned int n, CUjit_option *options, void **values)
{
	char *text;
	size_t len;
	CUresult rc;

	EMU_TRY(check(state));
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	text = gs_read_file(path, SIZE_MAX, &len, NULL);
	if (!text)
		return CUDA_ERROR_FILE_NOT_FOUND;
	rc = cuLinkAddData_v2(state, type, text, len, path, n, options, values);
	free(text);
	return rc;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	EMU_TRY(check(state));
	if (!cubin || !state->text)
		return CUDA_ERROR_INVALID_VALUE;
	state->complete = 1;
	*cubin = state->text;
	if (size)
		*size = state->len + 1;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
	EMU_TRY(check(state));
	state->magic = 0;
	free(state->text);
	free(state);
	return CUDA_SUCCESS;
}
