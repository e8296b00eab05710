/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a module takes of the device: the variables of its PTX, or what a cubin
 * says is to be loaded.  The code that the driver makes of PTX is not known
 * beforehand and not counted.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "device/fatbin/fatbin.h"
#include "device/shim/memory.h"
#include "device/shim/module_size.h"
#include "device/shim/shim.h"

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ".b8" or ".u32" or ".f64x2": bytes of one, 0: not a type. */
static uint64_t type_bytes(const char *word, size_t len)
{
	unsigned bits = 0;
	size_t i = 2;

	if (len < 3 || !strchr("bsuf", word[1]))
		return 0;
	while (i < len && isdigit((unsigned char)word[i]) && bits < 1000)
		bits = bits * 10 + (unsigned)(word[i++] - '0');
	return bits >= 8 ? bits / 8 : 0;
}

/* [4][0x10]: their product; no brackets: 1. */
static uint64_t extents(const char **at)
{
	uint64_t n = 1;

	while (**at == '[') {
		char *end;
		uint64_t one = strtoull(*at + 1, &end, 0);

		if (*end != ']' || __builtin_mul_overflow(n, one, &n))
			return 0;
		*at = end + 1;
		*at += strspn(*at, " \t\n");
	}
	return n;
}

/* One declaration behind .global or .const, up to its ';', '=' or ','. */
static uint64_t variable_bytes(const char *p)
{
	uint64_t bytes = 0, vector = 1, total;

	for (;;) {
		size_t len;

		p += strspn(p, " \t\n");
		if (*p != '.')
			break;
		len = strcspn(p, " \t\n;[");
		if (len == 3 && p[1] == 'v' && (p[2] == '2' || p[2] == '4'))
			vector = (uint64_t)(p[2] - '0');
		else if (type_bytes(p, len))
			bytes = type_bytes(p, len);
		else if (len == 6 && strncmp(p, ".align", 6) == 0)
			len += strspn(p + len, " \t\n0123456789");
		p += len;
	}
	if (!bytes)
		return 0;
	p += strcspn(p, " \t\n[;=,"); /* its name */
	p += strspn(p, " \t\n");
	if (__builtin_mul_overflow(bytes * vector, extents(&p), &total))
		return UINT64_MAX;
	return total;
}

/* Is the word before `at` .extern, so that the variable is another module's? */
static int is_extern(const char *text, const char *at)
{
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	return at - text >= 7 && strncmp(at - 7, ".extern", 7) == 0;
}

uint64_t shim_ptx_variable_bytes(const char *text, size_t len)
{
	static const char *const spaces[] = { ".global", ".const" };
	char *copy = malloc(len + 1);
	uint64_t bytes = 0;

	if (!copy)
		return 0;
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (const char *p = copy; *p; p++) {
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
			if (!*p)
				break;
		}
		/* In a body .global is part of an instruction's name. */
		for (int i = 0; i < 2 && *p == '.' && (p == copy || isspace((unsigned char)p[-1])); i++) {
			size_t n = strlen(spaces[i]);

			if (strncmp(p, spaces[i], n) == 0 && isspace((unsigned char)p[n]) &&
			    !is_extern(copy, p))
				bytes = add(bytes, variable_bytes(p + n));
		}
	}
	free(copy);
	return bytes;
}

uint64_t shim_cubin_bytes(const void *image, size_t len)
{
	const unsigned char *base = image;
	uint64_t bytes = 0;
	Elf64_Ehdr e;
	Elf64_Shdr sh;

	if (len < sizeof(e))
		return 0;
	memcpy(&e, base, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_shentsize != sizeof(sh))
		return 0;
	for (uint64_t i = 0; i < e.e_shnum; i++) {
		if (e.e_shoff > len || len - e.e_shoff < (i + 1) * sizeof(sh))
			break;
		memcpy(&sh, base + e.e_shoff + i * sizeof(sh), sizeof(sh));
		/* Shared memory is reserved in no memory of the device. */
		if ((sh.sh_flags & SHF_ALLOC) && sh.sh_size < (UINT64_C(1) << 48))
			bytes = add(bytes, sh.sh_size);
	}
	return bytes;
}

static uint64_t fatbin_bytes(struct gs_bytes image)
{
	struct gs_fatbin_choice c = { 0 };
	int major = 0, minor = 0;
	struct gs_fatbin fb;
	CUdevice dev = 0;
	uint64_t bytes = 0;
	uint32_t sm;
	size_t len;
	char *text;

	REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
	REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
	sm = (uint32_t)(major * 10 + minor);
	if (!sm || gs_fatbin_open(image.data, image.len, &fb, NULL) < 0 ||
	    gs_fatbin_choose(&fb, sm, &c, NULL) < 0)
		return 0;
	if (c.has_ptx && gs_fatbin_best_ptx(&fb, sm, &text, &len, NULL) > 0) {
		bytes = shim_ptx_variable_bytes(text, len);
		free(text);
	}
	return bytes;
}

/* A cubin in memory says itself how long it is, by its section table. */
static uint64_t cubin_in_memory(const void *image)
{
	Elf64_Ehdr e;

	memcpy(&e, image, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	return shim_cubin_bytes(image, e.e_shoff + (uint64_t)e.e_shnum * e.e_shentsize);
}

static uint64_t image_bytes(const void *image)
{
	struct gs_bytes bytes;
	int linked;

	switch (gs_image_in_memory(image, &bytes, &linked)) {
	case GS_IMAGE_PTX:
		return shim_ptx_variable_bytes((const char *)bytes.data, bytes.len);
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_WRAPPER:
		return fatbin_bytes(bytes);
	case GS_IMAGE_CUBIN:
		return cubin_in_memory(image);
	default:
		return 0;
	}
}

int shim_module_charge(const void *image, const char *path, uint64_t *bytes)
{
	struct shim_session *s = shim_session();

	*bytes = s && image && !path ? image_bytes(image) : 0;
	return !s || shim_charge(s, *bytes) ? 0 : -1;
}

void shim_module_charged(CUresult rc, const void *module, uint64_t bytes, CUcontext ctx)
{
	struct shim_session *s = shim_session_peek();

	if (!s || !bytes)
		return;
	if (rc == CUDA_SUCCESS)
		shim_hold(s, SHIM_HOLD_MODULE, (uintptr_t)module, bytes, ctx, NULL);
	else
		shim_uncharge(s, bytes);
}
