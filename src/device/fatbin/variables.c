/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variables of PTX, by its declarations, and of cubins, by their sections; see variables.h. */
#define _GNU_SOURCE
#include "device/fatbin/variables.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/saturate.h"
#include "device/fatbin/objects.h"

#define BLANKS " \t\r\n"

/* ---- PTX -------------------------------------------------------------------- */

/* Comments and what stands in quotes become blanks: neither declares anything. */
static void blank_out(char *p)
{
	while (*p) {
		size_t n = 0;

		if (p[0] == '/' && p[1] == '/') {
			n = strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			const char *end = strstr(p + 2, "*/");

			n = end ? (size_t)(end + 2 - p) : strlen(p);
		} else if (p[0] == '"') {
			n = 1 + strcspn(p + 1, "\"\n");
			n += p[n] == '"';
		}
		memset(p, ' ', n);
		p += n ? n : 1;
	}
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

/* What is in one pair of brackets: numbers, multiplied and added.  0: nothing, or something else.
 */
static uint64_t extent(const char **at)
{
	uint64_t sum = 0, product = 1;

	for (;;) {
		char *end;
		uint64_t one = strtoull(*at, &end, 0);

		if (end == *at)
			return 0;
		end += *end == 'U';
		*at = end + strspn(end, BLANKS);
		product = gs_multiply_saturated(product, one);
		if (**at != '*') {
			sum = gs_add_saturated(sum, product);
			product = 1;
		}
		if (**at != '*' && **at != '+')
			return sum;
		++*at;
	}
}

/* [4][0x10]: their product; no brackets: 1; no number in one of them: 0. */
static uint64_t extents(const char **at)
{
	uint64_t n = 1;

	while (**at == '[') {
		++*at;
		*at += strspn(*at, BLANKS);
		n = gs_multiply_saturated(n, **at == ']' ? 0 : extent(at));
		*at += strcspn(*at, "];");
		*at += **at == ']';
		*at += strspn(*at, BLANKS);
	}
	return n;
}

/* Past "= {1, {2, 3}}", up to the ',' or ';' behind it; how many values. */
static uint64_t initialiser(const char **at)
{
	uint64_t n = 1;
	int depth = 0;

	for (; **at && **at != ';' && (depth || **at != ','); ++*at) {
		depth += (**at == '{') - (**at == '}');
		n += **at == ',';
	}
	return n;
}

/* Past "(.managed)" or "(.unified(19, 95))", if there is one, but not past the text's end. */
static const char *past_parentheses(const char *p)
{
	int depth = 0;

	for (; *p && *p != ';'; p++) {
		depth += (*p == '(') - (*p == ')');
		if (depth <= 0)
			return p + (*p == ')' && depth == 0);
	}
	return p;
}

/* What is declared behind .global or .const, up to its ';'. */
static uint64_t declaration(const char *p)
{
	uint64_t bytes = 0, vector = 1, total = 0;

	for (;;) {
		size_t len;

		p += strspn(p, BLANKS);
		if (*p != '.')
			break;
		len = 1 + strcspn(p + 1, BLANKS ".;[(");
		if (len == 3 && p[1] == 'v' && (p[2] == '2' || p[2] == '4'))
			vector = (uint64_t)(p[2] - '0');
		else if (type_bytes(p, len))
			bytes = type_bytes(p, len);
		else if (len == 6 && strncmp(p, ".align", 6) == 0)
			len += strspn(p + len, BLANKS "0123456789");
		p += len;
		p += strspn(p, BLANKS);
		p = past_parentheses(p);
	}
	while (bytes && *p && *p != ';') {
		uint64_t n, values = 0;

		p += strcspn(p, BLANKS "[;=,"); /* its name */
		p += strspn(p, BLANKS);
		n = extents(&p);
		if (*p == '=')
			values = initialiser(&p);
		/* Without a size it is as large as its initialiser. */
		total = gs_add_saturated(total,
					 gs_multiply_saturated(bytes * vector, n ? n : values));
		p += strcspn(p, ";,");
		p += *p == ',';
		p += strspn(p, BLANKS);
	}
	return total;
}

/* Is the word before `at` .extern, so that the variable is another module's? */
static int is_extern(const char *text, const char *at)
{
	while (at > text && isspace((unsigned char)at[-1]))
		at--;
	return at - text >= 7 && strncmp(at - 7, ".extern", 7) == 0;
}

/* In an instruction .global is part of its name. */
static int begins_a_word(const char *text, const char *at)
{
	return at == text || isspace((unsigned char)at[-1]) || strchr(";{}", at[-1]);
}

uint64_t gs_ptx_variables(const char *text, size_t len)
{
	static const char *const spaces[] = { ".global", ".const" };
	char *copy = malloc(len + 1);
	uint64_t bytes = 0;

	if (!copy)
		return 0;
	memcpy(copy, text, len);
	copy[len] = '\0';
	blank_out(copy);
	for (const char *p = strchr(copy, '.'); p; p = strchr(p + 1, '.'))
		for (int i = 0; i < 2 && begins_a_word(copy, p); i++) {
			size_t n = strlen(spaces[i]);

			if (strncmp(p, spaces[i], n) == 0 &&
			    (p[n] == '.' || isspace((unsigned char)p[n])) && !is_extern(copy, p))
				bytes = gs_add_saturated(bytes, declaration(p + n));
		}
	free(copy);
	return bytes;
}

/* ---- machine code --------------------------------------------------------------- */

static int begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Shared and local memory and parameters are no module's: the driver has them for what runs. */
static int is_loaded(const struct gs_section *s, int with_code)
{
	if (!(s->flags & SHF_ALLOC))
		return 0;
	if (s->flags & SHF_EXECINSTR)
		return with_code;
	return begins(s->name, ".nv.global") ||
	       (begins(s->name, ".nv.constant") && !begins(s->name, ".nv.constant0"));
}

uint64_t gs_cubin_variables(const void *data, size_t len, int with_code)
{
	struct gs_error err;
	struct gs_section s;
	struct gs_elf elf;
	uint64_t bytes = 0;

	if (gs_elf_open(data, len, &elf, &err) < 0)
		return 0;
	for (uint64_t i = 0; i < elf.count && gs_elf_section(&elf, i, &s, &err) == 0; i++)
		if (is_loaded(&s, with_code))
			bytes = gs_add_saturated(bytes, s.size);
	return bytes;
}

/* ---- containers ----------------------------------------------------------------- */

int gs_entry_variables(const struct gs_fatbin_entry *e, uint64_t *bytes, struct gs_error *err)
{
	uint8_t *data;
	size_t len;

	if (e->kind != GS_ENTRY_PTX && e->kind != GS_ENTRY_CUBIN)
		return gs_fail(err, "fatbin: neither PTX nor machine code");
	data = gs_fatbin_unpack(e, &len, err);
	if (!data)
		return -1;
	*bytes = e->kind == GS_ENTRY_PTX ? gs_ptx_variables((char *)data, strlen((char *)data)) :
					   gs_cubin_variables(data, len, 0);
	free(data);
	return 0;
}

uint64_t gs_fatbin_variables(const struct gs_fatbin *fb, uint32_t sm)
{
	struct gs_fatbin_choice c;
	struct gs_error err;
	uint64_t bytes = 0;

	if (gs_fatbin_choose(fb, sm, &c, &err) < 0)
		return 0;
	/* The same variables in both, as a rule; to read machine code's takes less time, which most
	 * modules' loading waits for. */
	if (c.has_machine && gs_entry_variables(&c.machine, &bytes, &err) == 0)
		return bytes;
	if (c.has_ptx && gs_entry_variables(&c.ptx, &bytes, &err) == 0)
		return bytes;
	return 0;
}
