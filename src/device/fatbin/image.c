/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling images apart, with and without a known length; see fatbin.h. */
#define _GNU_SOURCE
#include "device/fatbin/fatbin.h"

#include <elf.h>

#include "device/fatbin/bytes.h"
#include "device/fatbin/format.h"

/* How much white space before the first directive is still a PTX text. */
#define BLANK_MAX 4096

const char *gs_image_kind_name(enum gs_image_kind kind)
{
	static const char *const name[GS_IMAGE_KIND_COUNT] = {
		"unknown", "ptx", "fatbin", "wrapper", "cubin", "host",
	};

	return (unsigned int)kind < GS_IMAGE_KIND_COUNT ? name[kind] : "?";
}

/*
 * PTX is not marked: white space, then a directive or a comment.  Stops at
 * the first byte that is neither, so a NUL ends the look.
 */
static int is_ptx(const uint8_t *p, size_t len)
{
	size_t i = 0;

	if (len > BLANK_MAX)
		len = BLANK_MAX;
	while (i < len && (p[i] == ' ' || (p[i] >= '\t' && p[i] <= '\r')))
		i++;
	if (i == len)
		return 0;
	if (p[i] == '.')
		return 1;
	return p[i] == '/' && i + 1 < len && (p[i + 1] == '/' || p[i + 1] == '*');
}

/* Compares byte by byte: an image in memory may be shorter than the magic. */
static int starts_with(const uint8_t *p, size_t len, uint32_t magic)
{
	for (size_t i = 0; i < 4; i++)
		if (i >= len || p[i] != (uint8_t)(magic >> (8 * i)))
			return 0;
	return 1;
}

static int is_elf(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < SELFMAG; i++)
		if (i >= len || p[i] != (uint8_t)ELFMAG[i])
			return 0;
	return 1;
}

enum gs_image_kind gs_image_kind(const void *data, size_t len)
{
	const uint8_t *p = data;

	if (starts_with(p, len, FATBIN_MAGIC))
		return GS_IMAGE_FATBIN;
	if (starts_with(p, len, WRAPPER_MAGIC))
		return GS_IMAGE_WRAPPER;
	if (is_elf(p, len)) {
		if (len < sizeof(Elf64_Ehdr) || p[EI_CLASS] != ELFCLASS64 ||
		    p[EI_DATA] != ELFDATA2LSB)
			return GS_IMAGE_UNKNOWN;
		return get16(p + offsetof(Elf64_Ehdr, e_machine)) == EM_CUDA ? GS_IMAGE_CUBIN :
									       GS_IMAGE_HOST;
	}
	return is_ptx(p, len) ? GS_IMAGE_PTX : GS_IMAGE_UNKNOWN;
}

/* The container at p, by its own header; 0 if that makes no sense. */
static int container_at(const uint8_t *p, struct gs_bytes *out)
{
	uint64_t entries;

	if (!p || !starts_with(p, 4, FATBIN_MAGIC))
		return 0;
	entries = get64(p + 8);
	if (get16(p + 6) != FATBIN_HEADER || entries > GS_FATBIN_MEMORY_MAX)
		return 0;
	out->data = p;
	out->len = FATBIN_HEADER + (size_t)entries;
	return 1;
}

static enum gs_image_kind wrapper_at(const uint8_t *p, struct gs_bytes *out, int *linked)
{
	uint32_t version = get32(p + 4);
	uint64_t pointer = get64(p + 8);

	if (version != WRAPPER_PLAIN && version != WRAPPER_LINKED)
		return GS_IMAGE_UNKNOWN;
	if (!container_at((const uint8_t *)(uintptr_t)pointer, out))
		return GS_IMAGE_UNKNOWN;
	*linked = version == WRAPPER_LINKED;
	return GS_IMAGE_WRAPPER;
}

enum gs_image_kind gs_image_in_memory(const void *image, struct gs_bytes *out, int *linked)
{
	const uint8_t *p = image;

	out->data = NULL;
	out->len = 0;
	*linked = 0;
	if (!p)
		return GS_IMAGE_UNKNOWN;
	if (starts_with(p, 4, FATBIN_MAGIC))
		return container_at(p, out) ? GS_IMAGE_FATBIN : GS_IMAGE_UNKNOWN;
	if (starts_with(p, 4, WRAPPER_MAGIC))
		return wrapper_at(p, out, linked);
	if (is_elf(p, SELFMAG))
		return gs_image_kind(p, sizeof(Elf64_Ehdr));
	if (!is_ptx(p, BLANK_MAX))
		return GS_IMAGE_UNKNOWN;
	out->data = p;
	out->len = strlen((const char *)p);
	return GS_IMAGE_PTX;
}
