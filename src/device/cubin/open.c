/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a cubin: its architecture, its kernels and what belongs to each. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/cubin/image.h"
#include "device/cubin/info.h"
#include "device/fatbin/bytes.h"
#include "device/fatbin/objects.h"

/* The system's part of a block's shared memory, counted in .nv.shared.KERNEL. */
#define SHARED_RESERVED 1024u

static const struct {
	const char *name, *words;
} reasons[] = {
#define CUBIN_REASON(name, words) { #name, words },
#include "device/cubin/reasons.def"
#undef CUBIN_REASON
};

static const char *const guards[CUBIN_GUARD_COUNT] = { "maxb", "maxt" };

const char *cubin_reason_name(enum cubin_reason reason)
{
	return reasons[reason].name;
}

const char *cubin_reason_words(enum cubin_reason reason)
{
	return reasons[reason].words;
}

const char *cubin_guard_name(enum cubin_guard kind)
{
	return guards[kind];
}

int cubin_guard_find(const char *name, enum cubin_guard *kind)
{
	for (int f = 0; f < CUBIN_GUARD_COUNT; f++)
		if (strcmp(guards[f], name) == 0) {
			*kind = (enum cubin_guard)f;
			return 0;
		}
	return -1;
}

static uint32_t architecture(const Elf64_Ehdr *h)
{
	switch (h->e_ident[EI_ABIVERSION]) {
	case 7:
		return h->e_flags & 0xff;
	case 8:
		return h->e_flags >> 8 & 0xff;
	default:
		return 0;
	}
}

/* Kernels by the section of their code: 1 + which one, 0: of none. */
static uint32_t *find_kernels(struct cubin *c)
{
	struct cubin_elf *e = &c->elf;
	uint32_t *kernel_at = calloc(e->sections, sizeof(*kernel_at));
	uint32_t n = 0;

	for (uint32_t y = 1; y < e->symbols; y++)
		n += (uint32_t)cubin_elf_is_kernel(e, y);
	c->kernel = calloc(n + 1, sizeof(*c->kernel));
	for (uint32_t y = 1; kernel_at && c->kernel && y < e->symbols; y++) {
		uint32_t text = e->symbol[y].st_shndx;

		if (!cubin_elf_is_kernel(e, y))
			continue;
		c->kernel[c->kernels].symbol = y;
		/* Kernels that share a section get no code, for which they are refused. */
		if (kernel_at[text]) {
			c->kernel[kernel_at[text] - 1].text = 0;
		} else {
			kernel_at[text] = c->kernels + 1;
			c->kernel[c->kernels].text = text;
		}
		c->kernels++;
	}
	return c->kernel ? kernel_at : NULL;
}

static void find_parts(struct cubin *c, const uint32_t *kernel_at)
{
	struct cubin_elf *e = &c->elf;

	for (uint32_t i = 1; i < e->sections; i++) {
		const struct cubin_section *s = &e->section[i];
		struct cubin_parts *p;

		if (s->belongs != CUBIN_KERNEL || s->h.sh_info >= e->sections ||
		    !kernel_at[s->h.sh_info])
			continue;
		p = &c->kernel[kernel_at[s->h.sh_info] - 1];
		if (strcmp(s->whose, cubin_elf_symbol_name(e, p->symbol)) != 0)
			continue;
		if (s->kind == CUBIN_SECTION_INFO)
			p->info = i;
		else if (s->kind == CUBIN_SECTION_PARAMS)
			p->params = i;
		else if (s->kind == CUBIN_SECTION_SHARED)
			p->shared = i;
	}
}

/* What the module's attributes say of each kernel. */
static int find_values(struct cubin *c, struct gs_error *err)
{
	const struct cubin_elf *e = &c->elf;
	const struct cubin_section *s =
		&e->section[cubin_elf_find(e, CUBIN_SECTION_MODULE_INFO, NULL)];
	uint32_t *kernel_of = calloc(e->symbols + 1, sizeof(*kernel_of));
	struct cubin_info i;
	size_t at = 0;
	int rc = 0;

	if (!kernel_of)
		return gs_fail(err, "no memory");
	for (uint32_t k = 0; k < c->kernels; k++)
		kernel_of[c->kernel[k].symbol] = k + 1;
	while (s->kind == CUBIN_SECTION_MODULE_INFO && cubin_elf_has_bytes(s) &&
	       (rc = cubin_info_next(s->data, s->h.sh_size, &at, &i, err)) > 0) {
		uint32_t y;

		if (cubin_attribute_layout(i.number) != CUBIN_SYMBOL || i.size < 8)
			continue;
		y = get32(i.value);
		if (y >= e->symbols || !kernel_of[y])
			continue;
		if (i.number == CUBIN_ATTRIBUTE_REGISTERS)
			c->kernel[kernel_of[y] - 1].registers = get32(i.value + 4);
		if (i.number == CUBIN_ATTRIBUTE_LOCAL_SIZE)
			c->kernel[kernel_of[y] - 1].local = get32(i.value + 4);
	}
	free(kernel_of);
	return rc;
}

static int read_all(struct cubin *c, const void *image, size_t size, struct gs_error *err)
{
	uint32_t *kernel_at;
	int rc;

	if (cubin_elf_load(&c->elf, image, size, err) < 0)
		return -1;
	c->sm = architecture(&c->elf.h);
	kernel_at = find_kernels(c);
	if (!kernel_at)
		return gs_fail(err, "no memory");
	find_parts(c, kernel_at);
	free(kernel_at);
	if (cubin_elf_find(&c->elf, CUBIN_SECTION_RESERVED_SHARED, NULL))
		c->shared_reserved = SHARED_RESERVED;
	rc = find_values(c, err);
	return rc;
}

struct cubin *cubin_open(const void *image, size_t size, struct gs_error *err)
{
	struct cubin *c = calloc(1, sizeof(*c));

	if (!c) {
		gs_fail(err, "no memory");
		return NULL;
	}
	if (read_all(c, image, size, err) < 0) {
		cubin_close(c);
		return NULL;
	}
	return c;
}

void cubin_close(struct cubin *c)
{
	if (!c)
		return;
	cubin_elf_free(&c->elf);
	free(c->kernel);
	free(c);
}

uint32_t cubin_sm(const struct cubin *c)
{
	return c->sm;
}

uint32_t cubin_abi(const struct cubin *c)
{
	return c->elf.h.e_ident[EI_ABIVERSION];
}

uint32_t cubin_kernels(const struct cubin *c)
{
	return c->kernels;
}

int64_t cubin_find(const struct cubin *c, const char *name)
{
	for (uint32_t i = 0; i < c->kernels; i++)
		if (strcmp(cubin_elf_symbol_name(&c->elf, c->kernel[i].symbol), name) == 0)
			return i;
	return -1;
}

uint8_t *cubin_write(const struct cubin *c, size_t *size, struct gs_error *err)
{
	return cubin_elf_write(&c->elf, size, err);
}
