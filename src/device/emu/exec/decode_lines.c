/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places in the source, as nvcc -lineinfo leaves them (PTX ISA, "Debugging Directives": .file,
 * .loc). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/decode.h"

static int add(struct decoder *d, uint32_t file, uint32_t line)
{
	struct emu_program *p = d->program;

	p->source.lines = emu_grow(p->source.lines, &d->room.lines, p->source.nlines + 1,
				   sizeof(*p->source.lines));
	if (!p->source.lines) {
		p->source.nlines = 0;
		return decode_fail(d, "out of memory");
	}
	p->source.lines[p->source.nlines++] =
		(struct emu_line) { .pc = p->nop, .file = file, .line = line };
	return 0;
}

/* The number at *at, blanks before it skipped; *at is behind it then.  0: there is none. */
static uint32_t number(const char **at, const char *end)
{
	uint64_t n = 0;

	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	while (*at < end && **at >= '0' && **at <= '9' && n < UINT32_MAX / 16)
		n = n * 10 + (uint64_t)(*(*at)++ - '0');
	return (uint32_t)n;
}

/* .file number "name" stands at the end of the module's text. */
static char *file_name(const struct ptx_module *m, uint32_t wanted)
{
	const char *at = m->text, *end = m->text + m->len;

	while ((at = memmem(at, (size_t)(end - at), ".file", 5))) {
		const char *open, *close;

		at += 5;
		if (number(&at, end) != wanted)
			continue;
		open = memchr(at, '"', (size_t)(end - at));
		close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
		return close ? strndup(open + 1, (size_t)(close - open - 1)) : NULL;
	}
	return NULL;
}

/* The names are looked up now: the text may be gone when one is needed. */
static int know_file(struct decoder *d, uint32_t number)
{
	struct emu_program *p = d->program;
	char *name;

	for (uint32_t i = 0; i < p->source.nfiles; i++)
		if (p->source.file[i].number == number)
			return 0;
	p->source.file = emu_grow(p->source.file, &d->room.files, p->source.nfiles + 1,
				  sizeof(*p->source.file));
	if (!p->source.file) {
		p->source.nfiles = 0;
		return decode_fail(d, "out of memory");
	}
	name = file_name(d->module, number);
	p->source.file[p->source.nfiles++] = (struct emu_file) { number, name };
	return 0;
}

int decode_loc_reset(struct decoder *d)
{
	return d->program->source.nlines ? add(d, 0, 0) : 0;
}

int decode_loc(struct decoder *d, struct ptx_slice directive)
{
	const char *at = directive.s + 4, *end = directive.s + directive.len;
	uint32_t file, line;

	if (!ptx_starts(directive, ".loc"))
		return 0;
	file = number(&at, end);
	line = number(&at, end);
	return know_file(d, file) || add(d, file, line) ? -1 : 0;
}

uint32_t emu_program_source(const struct emu_program *p, uint32_t pc, const char **file)
{
	const struct emu_line *best = NULL;

	*file = NULL;
	for (uint32_t i = 0; i < p->source.nlines && p->source.lines[i].pc <= pc; i++)
		best = &p->source.lines[i];
	if (!best || !best->line)
		return 0;
	for (uint32_t i = 0; i < p->source.nfiles; i++)
		if (p->source.file[i].number == best->file)
			*file = p->source.file[i].name;
	return best->line;
}
