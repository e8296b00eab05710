/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a section says once most of the others are gone; see cutting.h. */
#define _GNU_SOURCE
#include <string.h>

#include "device/cubin/cutting.h"
#include "device/cubin/info.h"
#include "device/fatbin/bytes.h"

int cubin_cut_give(struct cubin_cutting *x, uint32_t to, struct cubin_buffer *b)
{
	if (b->failed) {
		cubin_buffer_free(b);
		return gs_fail(x->err, "no memory");
	}
	cubin_elf_replace(x->to, to, b->data, b->size);
	return 0;
}

/* The new number of a symbol that an attribute or a relocation names. */
static int new_symbol(struct cubin_cutting *x, uint32_t old, uint32_t *number)
{
	if (old >= x->from->symbols || !x->symbol[old])
		return CUBIN_CUT_REFUSE(
			x, RELOCATION, "cubin: symbol %.100s is not the kernel's",
			old < x->from->symbols ? cubin_elf_symbol_name(x->from, old) : "?");
	*number = x->symbol[old];
	return 0;
}

/* A list of symbols, which all stay. */
static int add_symbols(struct cubin_cutting *x, struct cubin_buffer *b, struct cubin_info *i)
{
	struct cubin_buffer list = { 0 };
	uint32_t number = 0; /* for compilers that do not see that new_symbol fails or sets it */
	int rc = 0;

	for (size_t at = 0; rc == 0 && at + 4 <= i->size; at += 4) {
		rc = new_symbol(x, get32(i->value + at), &number);
		if (rc == 0)
			cubin_buffer_add32(&list, number);
	}
	i->value = list.data;
	b->failed |= list.failed;
	if (rc == 0 && !b->failed)
		cubin_info_add(b, i);
	cubin_buffer_free(&list);
	return rc;
}

static int add_attribute(struct cubin_cutting *x, struct cubin_buffer *b, struct cubin_info *i,
			 int of_module)
{
	enum cubin_attribute_layout layout = cubin_attribute_layout(i->number);
	uint8_t value[8];
	uint32_t number;

	if (layout == CUBIN_UNKNOWN)
		return CUBIN_CUT_REFUSE(x, ATTRIBUTE, "cubin: attribute %#x is not known",
					i->number);
	if ((layout == CUBIN_SYMBOL && of_module) || (layout == CUBIN_BANK && !of_module)) {
		if (i->size != 8 || i->stored != CUBIN_STORED_BYTES)
			return CUBIN_CUT_REFUSE(x, ATTRIBUTE, "cubin: attribute %#x of %u bytes",
						i->number, i->size);
		number = get32(i->value);
		/* What is said of other functions stays behind with them. */
		if (of_module && (number >= x->from->symbols || !x->symbol[number]))
			return 0;
		if (new_symbol(x, number, &number) < 0)
			return -1;
		memcpy(value, &number, 4);
		memcpy(value + 4, i->value + 4, 4);
		i->value = value;
	} else if (layout == CUBIN_SYMBOLS && !of_module && i->stored == CUBIN_STORED_BYTES &&
		   i->size % 4 == 0) {
		return add_symbols(x, b, i);
	} else if (layout == CUBIN_SYMBOL || layout == CUBIN_BANK || layout == CUBIN_SYMBOLS) {
		return CUBIN_CUT_REFUSE(x, ATTRIBUTE,
					"cubin: attribute %#x is in a place of another", i->number);
	}
	cubin_info_add(b, i);
	return 0;
}

static int cut_attributes(struct cubin_cutting *x, const struct cubin_section *s, uint32_t to)
{
	struct cubin_buffer b = { 0 };
	struct gs_error broken = { "" };
	struct cubin_info i;
	size_t at = 0;
	int rc;

	while ((rc = cubin_info_next(s->data, s->h.sh_size, &at, &i, &broken)) > 0)
		if (add_attribute(x, &b, &i, s->kind == CUBIN_SECTION_MODULE_INFO) < 0) {
			cubin_buffer_free(&b);
			return -1;
		}
	if (rc < 0) {
		cubin_buffer_free(&b);
		return CUBIN_CUT_REFUSE(x, ATTRIBUTE, "%s", broken.text);
	}
	return cubin_cut_give(x, to, &b);
}

/* A pair stays if both of it do; negative numbers and 0 are marks. */
static int cut_calls(struct cubin_cutting *x, const struct cubin_section *s, uint32_t to)
{
	struct cubin_buffer b = { 0 };

	for (size_t at = 0; at + 8 <= s->h.sh_size; at += 8) {
		uint32_t pair[2] = { get32(s->data + at), get32(s->data + at + 4) };
		int both = 1;

		for (int i = 0; i < 2; i++) {
			if (!pair[i] || pair[i] > INT32_MAX)
				continue;
			pair[i] = pair[i] < x->from->symbols ? x->symbol[pair[i]] : 0;
			both &= pair[i] != 0;
		}
		if (both)
			cubin_buffer_add(&b, pair, sizeof(pair));
	}
	return cubin_cut_give(x, to, &b);
}

static int cut_relocations(struct cubin_cutting *x, const struct cubin_section *s, uint32_t to)
{
	size_t each = s->h.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	struct cubin_buffer b = { 0 };

	if (s->h.sh_entsize != each || s->h.sh_size % each)
		return CUBIN_CUT_REFUSE(x, RELOCATION, "cubin: relocations of another size");
	cubin_buffer_add(&b, s->data, s->h.sh_size);
	for (size_t at = 0; !b.failed && at < b.size; at += each) {
		uint64_t info = get64(b.data + at + 8);
		uint32_t number;

		if (new_symbol(x, (uint32_t)ELF64_R_SYM(info), &number) < 0) {
			cubin_buffer_free(&b);
			return -1;
		}
		info = ELF64_R_INFO((uint64_t)number, ELF64_R_TYPE(info));
		memcpy(b.data + at + 8, &info, 8);
	}
	return cubin_cut_give(x, to, &b);
}

/* Of the addresses only those that the kernel takes. */
static int cut_addresses(struct cubin_cutting *x, const struct cubin_section *s, uint32_t to)
{
	struct cubin_buffer b = { 0 };

	for (size_t at = 0; at + sizeof(Elf64_Rela) <= s->h.sh_size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		uint64_t symbol;

		memcpy(&r, s->data + at, sizeof(r));
		symbol = ELF64_R_SYM(r.r_info);
		if (symbol >= x->from->symbols || !x->taken[symbol])
			continue;
		r.r_info = ELF64_R_INFO((uint64_t)x->symbol[symbol], ELF64_R_TYPE(r.r_info));
		cubin_buffer_add(&b, &r, sizeof(r));
	}
	return cubin_cut_give(x, to, &b);
}

/* Of the variables only those that the kernel takes along, one behind the other. */
static int cut_constants(struct cubin_cutting *x, const struct cubin_section *s, uint32_t i)
{
	struct cubin_buffer b = { 0 };

	for (uint32_t y = 1; y < x->from->symbols; y++) {
		const Elf64_Sym *was = &x->from->symbol[y];

		if (was->st_shndx != i || !x->taken[y])
			continue;
		cubin_buffer_align(&b, s->h.sh_addralign ? s->h.sh_addralign : 1);
		x->to->symbol[x->symbol[y]].st_value = b.size;
		cubin_buffer_add(&b, s->data + was->st_value, was->st_size);
	}
	return cubin_cut_give(x, x->section[i], &b);
}

int cubin_cut_contents(struct cubin_cutting *x, uint32_t i)
{
	const struct cubin_section *s = &x->from->section[i];
	uint32_t to = x->section[i];

	if (!cubin_elf_has_bytes(s))
		return 0;
	if (s->kind == CUBIN_SECTION_RELA_CONSTANT4)
		return cut_addresses(x, s, to);
	if (s->kind == CUBIN_SECTION_GLOBAL_INIT)
		return cut_constants(x, s, i);
	if (s->h.sh_type == SHT_RELA || s->h.sh_type == SHT_REL)
		return cut_relocations(x, s, to);
	/* cuobjdump wants the section, and it may be empty. */
	if (s->kind == CUBIN_SECTION_UNWIND)
		return cubin_cut_give(x, to, &(struct cubin_buffer) { 0 });
	if (s->kind == CUBIN_SECTION_INFO || s->kind == CUBIN_SECTION_MODULE_INFO)
		return cut_attributes(x, s, to);
	if (s->kind == CUBIN_SECTION_CALLS)
		return cut_calls(x, s, to);
	return 0;
}
