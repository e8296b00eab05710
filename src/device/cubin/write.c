/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a cubin: the header, the sections in their order, the table of
 * sections, the segments.  That is how ptxas and nvlink lay one out.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/cubin/buffer.h"
#include "device/cubin/elf.h"

struct writing {
	const struct cubin_elf *e;
	struct cubin_buffer out;
	uint32_t *order; /* of the sections in the file, without the first, which has no bytes */
	uint32_t ordered;
	uint64_t *at; /* where each is, by its index */
};

/* By their places in the image; where they are the same, first those without bytes. */
static int compare_places(const void *a, const void *b, void *elf)
{
	const struct cubin_elf *e = elf;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct cubin_section *x = &e->section[i], *y = &e->section[j];

	if (x->was_at != y->was_at)
		return x->was_at < y->was_at ? -1 : 1;
	if (cubin_elf_has_bytes(x) != cubin_elf_has_bytes(y))
		return cubin_elf_has_bytes(x) ? 1 : -1;
	return i < j ? -1 : 1;
}

static void find_order(struct writing *w)
{
	const struct cubin_elf *e = w->e;
	int sorted = 1;

	w->ordered = e->sections - 1;
	for (uint32_t i = 1; i < e->sections; i++) {
		w->order[i - 1] = i;
		if (i > 1 && e->section[i].was_at < e->section[i - 1].was_at)
			sorted = 0;
	}
	if (!sorted)
		qsort_r(w->order, w->ordered, sizeof(*w->order), compare_places,
			(void *)(uintptr_t)e);
}

static void put_sections(struct writing *w)
{
	const struct gs_bytes *file = &w->e->file;
	uint64_t end = sizeof(Elf64_Ehdr); /* of what came before, in the image */

	cubin_buffer_add(&w->out, NULL, sizeof(Elf64_Ehdr));
	for (uint32_t n = 0; n < w->ordered; n++) {
		const struct cubin_section *s = &w->e->section[w->order[n]];
		uint64_t align = s->h.sh_addralign ? s->h.sh_addralign : 1;

		/* ptxas leaves bytes behind the names of sections that belong to none. */
		if (s->was_at <= file->len && s->was_at > end) {
			if (s->was_at - end > align)
				cubin_buffer_add(&w->out, file->data + end,
						 (size_t)(s->was_at - end));
			end = s->was_at;
		}
		if (s->was_at == end)
			end += s->was_size;
		cubin_buffer_align(&w->out, align);
		w->at[w->order[n]] = w->out.size;
		if (cubin_elf_has_bytes(s))
			cubin_buffer_add(&w->out, s->data, (size_t)s->h.sh_size);
	}
}

static uint64_t put_section_headers(struct writing *w)
{
	uint64_t table;

	cubin_buffer_align(&w->out, 8);
	table = w->out.size;
	for (uint32_t i = 0; i < w->e->sections; i++) {
		Elf64_Shdr h = w->e->section[i].h;

		if (i)
			h.sh_offset = w->at[i];
		cubin_buffer_add(&w->out, &h, sizeof(h));
	}
	return table;
}

/* Sections of equal rights that follow each other in the file: order[first] up to order[end]. */
struct run {
	uint32_t rights, first, end;
};

/* The next one at or behind `from`; its rights are 0 if there is none. */
static struct run next_run(const struct writing *w, uint32_t from)
{
	struct run r = { 0, from, from };

	for (uint32_t n = from; n < w->ordered; n++) {
		uint32_t own = cubin_elf_rights(&w->e->section[w->order[n]]);

		if (!own)
			continue;
		if (!r.rights) {
			r.rights = own;
			r.first = n;
		} else if (own != r.rights) {
			break;
		}
		r.end = n + 1;
	}
	return r;
}

/* Every segment has a run of its own, every run a segment: ptxas and nvlink. */
static int runs_fit(const struct writing *w)
{
	uint32_t from = 0;
	struct run r;

	for (uint32_t i = 0; i < w->e->segments; i++) {
		const struct cubin_segment *s = &w->e->segment[i];

		if (s->headers || s->h.p_type != PT_LOAD)
			continue;
		r = next_run(w, from);
		if (r.rights != s->h.p_flags)
			return 0;
		from = r.end;
	}
	return next_run(w, from).rights == 0;
}

/* Is section i of a run, and in the segment `was` of the image (NULL: in whichever)? */
static int is_in(const struct writing *w, uint32_t i, struct run r, const Elf64_Phdr *was)
{
	const struct cubin_section *s = &w->e->section[i];
	uint32_t own = cubin_elf_rights(s);

	/* Older tools put constants and code into one segment, of the code's rights. */
	if (!own || (own & ~r.rights) || (own & PF_W) != (r.rights & PF_W))
		return 0;
	return !was || (s->was_at >= was->p_offset &&
			s->was_at - was->p_offset < (was->p_filesz ? was->p_filesz : 1));
}

/*
 * The place of a segment in the file, up to where its last section is, and its
 * size in memory: what has no bytes stands behind all of that.  0: it has no sections.
 */
static int extent_of(const struct writing *w, struct run r, const Elf64_Phdr *was, Elf64_Phdr *h)
{
	uint64_t low = 0, high = 0, end;
	int any = 0;

	for (uint32_t n = r.first; n < r.end; n++) {
		uint32_t i = w->order[n];
		const struct cubin_section *s = &w->e->section[i];

		if (!is_in(w, i, r, was))
			continue;
		if (!any)
			low = w->at[i];
		any = 1;
		high = w->at[i] + (cubin_elf_has_bytes(s) ? s->h.sh_size : 0);
	}
	end = high;
	for (uint32_t n = r.first; n < r.end; n++) {
		const struct cubin_section *s = &w->e->section[w->order[n]];
		uint64_t align = s->h.sh_addralign ? s->h.sh_addralign : 1;

		if (is_in(w, w->order[n], r, was) && !cubin_elf_has_bytes(s))
			end = ((end + align - 1) & ~(align - 1)) + s->h.sh_size;
	}
	h->p_offset = low;
	h->p_filesz = high - low;
	h->p_memsz = end - low;
	return any;
}

static int put_segments(struct writing *w, struct gs_error *err)
{
	const struct cubin_elf *e = w->e;
	uint64_t here = w->out.size;
	int fit = runs_fit(w);
	uint32_t from = 0;

	for (uint32_t i = 0; i < e->segments; i++) {
		struct run all = { e->segment[i].h.p_flags, 0, w->ordered }, r;
		Elf64_Phdr h = e->segment[i].h;

		if (e->segment[i].headers) {
			h.p_offset = here;
		} else if (h.p_type == PT_LOAD && fit) {
			r = next_run(w, from);
			from = r.end;
			extent_of(w, r, NULL, &h);
		} else if (h.p_type == PT_LOAD && !extent_of(w, all, &e->segment[i].h, &h)) {
			return gs_fail(err, "cubin: segment %u has no sections", i);
		}
		cubin_buffer_add(&w->out, &h, sizeof(h));
	}
	return 0;
}

static int put_all(struct writing *w, struct gs_error *err)
{
	Elf64_Ehdr h = w->e->h;

	find_order(w);
	put_sections(w);
	h.e_shoff = put_section_headers(w);
	h.e_shnum = (uint16_t)w->e->sections;
	h.e_phoff = w->e->segments ? w->out.size : 0;
	h.e_phnum = (uint16_t)w->e->segments;
	if (put_segments(w, err) < 0)
		return -1;
	if (w->out.failed)
		return gs_fail(err, "no memory");
	memcpy(w->out.data, &h, sizeof(h));
	return 0;
}

uint8_t *cubin_elf_write(const struct cubin_elf *e, size_t *size, struct gs_error *err)
{
	struct writing w = { .e = e };
	int rc = -1;

	w.order = calloc(e->sections + 1, sizeof(*w.order));
	w.at = calloc(e->sections + 1, sizeof(*w.at));
	if (w.order && w.at)
		rc = put_all(&w, err);
	else
		gs_fail(err, "no memory");
	free(w.order);
	free(w.at);
	if (rc < 0) {
		cubin_buffer_free(&w.out);
		return NULL;
	}
	*size = w.out.size;
	return w.out.data;
}
