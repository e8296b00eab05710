/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walking a container's entries; see fatbin.h. */
#define _GNU_SOURCE
#include "device/fatbin/fatbin.h"

#include <elf.h>

#include "device/fatbin/bytes.h"
#include "device/fatbin/format.h"

const char *gs_entry_kind_name(enum gs_entry_kind kind)
{
	static const char *const name[GS_ENTRY_KIND_COUNT] = { "other", "ptx", "cubin", "lto-ir" };

	return (unsigned int)kind < GS_ENTRY_KIND_COUNT ? name[kind] : "?";
}

const char *gs_packing_name(enum gs_packing packing)
{
	static const char *const name[GS_PACKING_COUNT] = { "none", "lz4", "zstd" };

	return (unsigned int)packing < GS_PACKING_COUNT ? name[packing] : "?";
}

const char *gs_variant_suffix(enum gs_variant variant)
{
	static const char *const suffix[GS_VARIANT_COUNT] = { "", "f", "a" };

	return (unsigned int)variant < GS_VARIANT_COUNT ? suffix[variant] : "?";
}

int gs_fatbin_open(const void *data, size_t len, struct gs_fatbin *fb, struct gs_error *err)
{
	const uint8_t *p = data;
	uint64_t entries;

	memset(fb, 0, sizeof(*fb));
	if (len < FATBIN_HEADER)
		return gs_fail(err, "fatbin: %zu bytes are no header", len);
	if (get32(p) != FATBIN_MAGIC)
		return gs_fail(err, "fatbin: the magic is 0x%08x", get32(p));
	if (get16(p + 4) != FATBIN_VERSION)
		return gs_fail(err, "fatbin: version %u is not known", get16(p + 4));
	entries = get64(p + 8);
	if (get16(p + 6) != FATBIN_HEADER || !within(FATBIN_HEADER, entries, len))
		return gs_fail(err, "fatbin: %llu bytes of entries do not fit into %zu",
			       (unsigned long long)entries, len);
	fb->bytes.data = p;
	fb->bytes.len = FATBIN_HEADER + (size_t)entries;
	return 0;
}

/*
 * Does [off, off + len) lie in the part of the header that is the entry's own?
 * The fields before it change when another text takes the entry's place.
 */
static int in_header(const struct gs_fatbin_entry *e, uint32_t off, uint32_t len)
{
	return off >= ENTRY_HEADER && within(off, len, e->header.len);
}

/* The source's name; an entry without one has zeros there. */
static int read_name(struct gs_fatbin_entry *e)
{
	const uint8_t *h = e->header.data;
	uint32_t off = get32(h + OFF_NAME), len = get32(h + OFF_NAME_LEN);

	if (!off || !len)
		return 0;
	if (!in_header(e, off, len))
		return -1;
	e->name.data = h + off;
	e->name.len = strnlen((const char *)h + off, len);
	return 0;
}

static int read_options(struct gs_fatbin_entry *e)
{
	const uint8_t *h = e->header.data;
	uint32_t at = get32(h + OFF_OPTIONS), off, len;

	if (!at)
		return 0;
	if (!in_header(e, at, 8))
		return -1;
	off = get32(h + at);
	len = get32(h + at + 4);
	if (!len)
		return 0;
	if (!in_header(e, off, len))
		return -1;
	e->options.data = h + off;
	e->options.len = strnlen((const char *)h + off, len);
	return 0;
}

static int read_payload(struct gs_fatbin_entry *e, const uint8_t *stored, size_t len,
			struct gs_error *err)
{
	const uint8_t *h = e->header.data;
	uint32_t packed = get32(h + OFF_PACKED);

	e->payload.data = stored;
	e->payload.len = len;
	e->size = len;
	if (e->packing == GS_PACKING_NONE)
		return 0;
	e->size = get64(h + OFF_UNPACKED);
	if (!packed || packed > len)
		return gs_fail(err, "fatbin: %u packed bytes in an entry of %zu", packed, len);
	e->payload.len = packed;
	return 0;
}

static void read_flags(struct gs_fatbin_entry *e)
{
	uint64_t flags = get64(e->header.data + OFF_FLAGS);

	e->flags = flags;
	e->wide = (flags & FLAG_64BIT) != 0;
	e->debug = (flags & FLAG_DEBUG) != 0;
	e->variant = flags & FLAG_EXACT  ? GS_VARIANT_EXACT :
		     flags & FLAG_FAMILY ? GS_VARIANT_FAMILY :
					   GS_VARIANT_GENERIC;
	e->packing = flags & FLAG_ZSTD ? GS_PACKING_ZSTD :
		     flags & FLAG_LZ4  ? GS_PACKING_LZ4 :
					 GS_PACKING_NONE;
}

static enum gs_entry_kind kind_of(uint16_t raw)
{
	switch (raw) {
	case KIND_PTX:
		return GS_ENTRY_PTX;
	case KIND_CUBIN:
		return GS_ENTRY_CUBIN;
	case KIND_LTO:
		return GS_ENTRY_LTO;
	default:
		return GS_ENTRY_OTHER;
	}
}

int gs_fatbin_next(const struct gs_fatbin *fb, size_t *at, struct gs_fatbin_entry *e,
		   struct gs_error *err)
{
	size_t here = *at ? *at : FATBIN_HEADER, left = fb->bytes.len - here;
	const uint8_t *h = fb->bytes.data + here;
	uint64_t header, stored;

	memset(e, 0, sizeof(*e));
	*at = here;
	if (!left)
		return 0;
	if (left < ENTRY_HEADER)
		return gs_fail(err, "fatbin: %zu bytes behind the last entry", left);
	if (get16(h + OFF_VERSION) != ENTRY_VERSION)
		return gs_fail(err, "fatbin: entry at %zu: version 0x%x is not known", here,
			       get16(h + OFF_VERSION));
	header = get32(h + OFF_HEADER);
	stored = get64(h + OFF_STORED);
	if (header < ENTRY_HEADER || header > left || stored > left - header)
		return gs_fail(err, "fatbin: entry at %zu: %llu + %llu bytes do not fit into %zu",
			       here, (unsigned long long)header, (unsigned long long)stored, left);
	e->header.data = h;
	e->header.len = (size_t)header;
	e->raw_kind = get16(h + OFF_KIND);
	e->kind = kind_of(e->raw_kind);
	e->minor = get16(h + OFF_MINOR);
	e->major = get16(h + OFF_MAJOR);
	e->sm = get32(h + OFF_SM);
	read_flags(e);
	if (read_payload(e, h + header, (size_t)stored, err) < 0)
		return -1;
	/* Only of PTX is it known that these are texts, and there they matter. */
	if (e->kind == GS_ENTRY_PTX && (read_name(e) < 0 || read_options(e) < 0))
		return gs_fail(err, "fatbin: entry at %zu: name or options outside its header",
			       here);
	*at = here + (size_t)(header + stored);
	return 1;
}

/* Is `word` one of the blank-separated options? */
static int has_option(struct gs_bytes options, const char *word)
{
	const char *p = (const char *)options.data, *end, *start;
	size_t len = strlen(word);

	if (!options.len)
		return 0;
	end = p + options.len;
	while (p < end) {
		while (p < end && *p == ' ')
			p++;
		start = p;
		while (p < end && *p != ' ')
			p++;
		if ((size_t)(p - start) == len && memcmp(start, word, len) == 0)
			return 1;
	}
	return 0;
}

int gs_fatbin_relocatable(const struct gs_fatbin_entry *e, struct gs_error *err)
{
	uint8_t head[sizeof(Elf64_Ehdr)];

	switch (e->kind) {
	case GS_ENTRY_PTX:
		return has_option(e->options, "--compile-only") || has_option(e->options, "-c");
	case GS_ENTRY_LTO:
		return 1;
	case GS_ENTRY_CUBIN:
		if (gs_fatbin_peek(e, head, sizeof(head), err) < 0)
			return -1;
		if (gs_image_kind(head, sizeof(head)) != GS_IMAGE_CUBIN)
			return gs_fail(err, "fatbin: machine code for sm_%u is no cubin", e->sm);
		return get16(head + offsetof(Elf64_Ehdr, e_type)) == ET_REL;
	default:
		return 0;
	}
}
