/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guard_info.h. */
#define _GNU_SOURCE
#include "device/cubin/guard_info.h"

#include <stdlib.h>
#include <string.h>

#include "device/cubin/image.h"
#include "device/cubin/info.h"
#include "device/fatbin/bytes.h"
#include "device/ptx/guard.h"

#define PARAM_INFO_BITS 0x1f000u /* beside the size; the same in each that was seen */
#define NUMBERS 256

/* Attributes under way from a section to its new contents. */
struct copying {
	struct cubin_guarding *g;
	struct cubin_buffer out;
	uint8_t seen[NUMBERS];               /* attributes that the kernel has itself */
	struct cubin_info of_guard[NUMBERS]; /* by number; stored is 0 where it has none */
};

static void shift(uint8_t *value, size_t at, uint32_t by)
{
	uint32_t v = get32(value + at) + by;

	memcpy(value + at, &v, sizeof(v));
}

static int shift_branches(struct cubin_guarding *g, uint8_t *value, size_t size, uint32_t by)
{
	for (size_t at = 0; at < size;) {
		uint32_t n;

		if (size - at < 12 || (n = get32(value + at + 8)) > (size - at - 12) / 4)
			return CUBIN_GUARD_REFUSE(g, ATTRIBUTE,
						  "cubin: its branch targets end too early");
		shift(value, at, by);
		for (uint32_t i = 0; i < n; i++)
			shift(value, at + 12 + (size_t)4 * i, by);
		at += 12 + (size_t)4 * n;
	}
	return 0;
}

static int shift_spills(struct cubin_guarding *g, uint8_t *value, size_t size, uint32_t by)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		if (get32(value + at) != 1)
			return CUBIN_GUARD_REFUSE(g, ATTRIBUTE, "cubin: an annotation of kind %u",
						  get32(value + at));
		shift(value, at + 4, by);
	}
	return 0;
}

/* The offsets in an attribute's value, which has been copied, grow by the guard. */
static int shift_value(struct cubin_guarding *g, uint8_t number, uint8_t *value, size_t size)
{
	uint32_t by = (uint32_t)g->t->code_size;
	size_t each = 0;

	switch (cubin_attribute_layout(number)) {
	case CUBIN_OFFSETS4:
		each = 4;
		break;
	case CUBIN_OFFSETS8:
		each = 8;
		break;
	case CUBIN_OFFSETS16:
		each = 16;
		break;
	case CUBIN_BRANCHES:
		return shift_branches(g, value, size, by);
	case CUBIN_SPILLS:
		return shift_spills(g, value, size, by);
	case CUBIN_PLAIN:
		return 0;
	default:
		return CUBIN_GUARD_REFUSE(g, ATTRIBUTE, "cubin: attribute %#x is not known",
					  number);
	}
	for (size_t at = 0; at + each <= size; at += each)
		shift(value, at, by);
	return 0;
}

/* The kernel's own entries with the guard's before them, where both have some. */
static int add_shifted(struct copying *c, const struct cubin_info *i)
{
	const struct cubin_info *guard = &c->of_guard[i->number];
	struct cubin_info both = *i;
	size_t before = 0;
	uint8_t *value;
	int rc;

	if (guard->stored && i->stored == CUBIN_STORED_BYTES &&
	    (cubin_attribute_layout(i->number) == CUBIN_OFFSETS4 ||
	     i->number == CUBIN_ATTRIBUTE_GROUP_MASK_REGISTERS))
		before = guard->size;
	if (before + i->size > UINT16_MAX)
		return CUBIN_GUARD_REFUSE(c->g, ATTRIBUTE, "cubin: attribute %#x has no room",
					  i->number);
	value = malloc(before + i->size + 1);
	if (!value)
		return gs_fail(c->g->err, "no memory");
	if (before)
		memcpy(value, guard->value, before);
	memcpy(value + before, i->value, i->size);
	rc = shift_value(c->g, i->number, value + before, i->size);
	if (i->number == CUBIN_ATTRIBUTE_BARRIERS && guard->stored && value[0] < guard->value[0])
		value[0] = guard->value[0];
	both.value = value;
	both.size = (uint16_t)(before + i->size);
	if (rc == 0)
		cubin_info_add(&c->out, &both);
	free(value);
	return rc;
}

static void add_bytes(struct copying *c, uint8_t number, const void *value, uint16_t size)
{
	struct cubin_info i = { CUBIN_STORED_BYTES, number, size, value };

	cubin_info_add(&c->out, &i);
}

/* { u32 0, u16 ordinal, u16 offset, u32 size << 18 | ... }: the last one is first. */
static void add_param(struct copying *c)
{
	uint32_t value[3] = { 0, c->g->param | c->g->param_at << 16,
			      GS_GUARD_PARAM_BYTES << 18 | PARAM_INFO_BITS };

	add_bytes(c, CUBIN_ATTRIBUTE_PARAM_INFO, value, sizeof(value));
}

static void add_sizes(struct copying *c, int number)
{
	uint16_t bytes = (uint16_t)(c->g->param_at + GS_GUARD_PARAM_BYTES);
	uint32_t bank[2] = { c->g->params_symbol, CUBIN_PARAMS_AT | (uint32_t)bytes << 16 };
	struct cubin_info size = { CUBIN_STORED_HALF, CUBIN_ATTRIBUTE_PARAM_SIZE, sizeof(bytes),
				   (const uint8_t *)&bytes };

	if (number == CUBIN_ATTRIBUTE_PARAM_SIZE)
		cubin_info_add(&c->out, &size);
	else
		add_bytes(c, CUBIN_ATTRIBUTE_PARAM_CBANK, bank, sizeof(bank));
}

static int add_own(struct copying *c, const struct cubin_info *i)
{
	int first = !c->seen[i->number];

	c->seen[i->number] = 1;
	switch (i->number) {
	case CUBIN_ATTRIBUTE_PARAM_INFO:
		if (first)
			add_param(c);
		cubin_info_add(&c->out, i);
		return 0;
	case CUBIN_ATTRIBUTE_PARAM_SIZE:
	case CUBIN_ATTRIBUTE_PARAM_CBANK:
		add_sizes(c, i->number);
		return 0;
	case CUBIN_ATTRIBUTE_EXTERNS: /* an empty list: others are refused before */
		cubin_info_add(&c->out, i);
		return 0;
	default:
		return add_shifted(c, i);
	}
}

/* What the guard has and the kernel has not. */
static void add_missing(struct copying *c)
{
	/* Up to CUDA 12 the number of barriers stands in the code's section. */
	int barriers = c->g->e->h.e_ident[EI_ABIVERSION] >= 8;

	for (unsigned n = 0; n < NUMBERS; n++)
		if (c->of_guard[n].stored && !c->seen[n] &&
		    (n != CUBIN_ATTRIBUTE_BARRIERS || barriers))
			cubin_info_add(&c->out, &c->of_guard[n]);
	if (!c->seen[CUBIN_ATTRIBUTE_PARAM_INFO])
		add_param(c);
	if (!c->seen[CUBIN_ATTRIBUTE_PARAM_SIZE])
		add_sizes(c, CUBIN_ATTRIBUTE_PARAM_SIZE);
	if (!c->seen[CUBIN_ATTRIBUTE_PARAM_CBANK])
		add_sizes(c, CUBIN_ATTRIBUTE_PARAM_CBANK);
}

static int finish(struct cubin_guarding *g, struct cubin_buffer *out, uint32_t section, int rc)
{
	if (rc == 0 && out->failed)
		rc = gs_fail(g->err, "no memory");
	if (rc < 0) {
		cubin_buffer_free(out);
		return -1;
	}
	cubin_elf_replace(g->e, section, out->data, out->size);
	return 0;
}

int cubin_guard_info(struct cubin_guarding *g)
{
	const struct cubin_section *s = &g->e->section[g->info];
	struct copying *c = calloc(1, sizeof(*c));
	struct cubin_info i;
	size_t at = 0;
	int rc;

	if (!c)
		return gs_fail(g->err, "no memory");
	c->g = g;
	while (cubin_info_next(g->t->info, g->t->info_size, &at, &i, NULL) > 0)
		c->of_guard[i.number] = i;
	at = 0;
	while ((rc = cubin_info_next(s->data, s->h.sh_size, &at, &i, g->err)) > 0)
		if (add_own(c, &i) < 0) {
			rc = -1;
			break;
		}
	add_missing(c);
	rc = finish(g, &c->out, g->info, rc);
	free(c);
	return rc;
}

int cubin_guard_module_info(struct cubin_guarding *g, uint32_t *registers)
{
	uint32_t section = cubin_elf_find(g->e, CUBIN_SECTION_MODULE_INFO, NULL);
	const struct cubin_section *s = &g->e->section[section];
	struct cubin_buffer out = { 0 };
	struct cubin_info i;
	size_t at = 0;
	int rc;

	*registers = 0;
	if (!section || !cubin_elf_has_bytes(s))
		return 0;
	while ((rc = cubin_info_next(s->data, s->h.sh_size, &at, &i, g->err)) > 0) {
		uint32_t value[2];

		if (i.number == CUBIN_ATTRIBUTE_REGISTERS && i.size == sizeof(value) &&
		    get32(i.value) == g->symbol) {
			memcpy(value, i.value, sizeof(value));
			*registers = value[1];
			if (value[1] < g->t->registers)
				value[1] = g->t->registers;
			i.value = (const uint8_t *)value;
		}
		cubin_info_add(&out, &i);
	}
	return finish(g, &out, section, rc);
}
