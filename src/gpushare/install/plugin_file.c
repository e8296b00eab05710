/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dynamic symbols of an ELF file; see plugin_file.h. */
#define _GNU_SOURCE
#include "gpushare/install/plugin_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
	const unsigned char *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *section;
	const Elf64_Sym *symbol;
	size_t nsymbol;
	const char *names;
	size_t names_size;
};

static int within(const struct image *f, uint64_t offset, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

/* The tables, each checked to lie within the file. */
static int find_tables(struct image *f)
{
	const Elf64_Shdr *names;

	f->header = (const Elf64_Ehdr *)f->bytes;
	if (f->size < sizeof(*f->header) || memcmp(f->header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    f->header->e_ident[EI_CLASS] != ELFCLASS64 || f->header->e_machine != EM_X86_64 ||
	    f->header->e_shentsize != sizeof(Elf64_Shdr) || f->header->e_shoff % 8 ||
	    !within(f, f->header->e_shoff, (uint64_t)f->header->e_shnum * sizeof(Elf64_Shdr)))
		return -1;
	f->section = (const Elf64_Shdr *)(f->bytes + f->header->e_shoff);
	for (unsigned i = 0; i < f->header->e_shnum; i++) {
		const Elf64_Shdr *s = &f->section[i];

		if (s->sh_type != SHT_DYNSYM)
			continue;
		if (s->sh_link >= f->header->e_shnum || s->sh_offset % 8 ||
		    !within(f, s->sh_offset, s->sh_size))
			return -1;
		names = &f->section[s->sh_link];
		if (!within(f, names->sh_offset, names->sh_size) || !names->sh_size ||
		    f->bytes[names->sh_offset + names->sh_size - 1])
			return -1;
		f->symbol = (const Elf64_Sym *)(f->bytes + s->sh_offset);
		f->nsymbol = s->sh_size / sizeof(Elf64_Sym);
		f->names = (const char *)f->bytes + names->sh_offset;
		f->names_size = names->sh_size;
		return 0;
	}
	return -1;
}

static const Elf64_Sym *find(const struct image *f, const char *name)
{
	for (size_t i = 0; i < f->nsymbol; i++)
		if (f->symbol[i].st_name < f->names_size && f->symbol[i].st_shndx != SHN_UNDEF &&
		    strcmp(f->names + f->symbol[i].st_name, name) == 0)
			return &f->symbol[i];
	return NULL;
}

/* The initial value of a variable, at most size bytes of it; how many, or 0. */
static size_t value_of(const struct image *f, const char *name, void *value, size_t size)
{
	const Elf64_Sym *symbol = find(f, name);
	const Elf64_Shdr *s;
	uint64_t offset;

	if (!symbol || symbol->st_shndx >= f->header->e_shnum)
		return 0;
	s = &f->section[symbol->st_shndx];
	if (s->sh_type != SHT_PROGBITS || symbol->st_value < s->sh_addr)
		return 0;
	offset = symbol->st_value - s->sh_addr + s->sh_offset;
	if (size > symbol->st_size)
		size = symbol->st_size;
	if (!within(f, offset, size))
		return 0;
	memcpy(value, f->bytes + offset, size);
	return size;
}

static int open_image(const char *path, struct image *f, struct gs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	*f = (struct image) { 0 };
	if (fd < 0 || fstat(fd, &st) < 0) {
		gs_fail_errno(err, "%.160s", path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
		close(fd);
		return gs_fail(err, "%.160s is no library", path);
	}
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return gs_fail_errno(err, "%.160s", path);
	f->bytes = bytes;
	f->size = (size_t)st.st_size;
	if (find_tables(f) < 0) {
		munmap(bytes, f->size);
		return gs_fail(err, "%.160s is no library for this machine", path);
	}
	return 0;
}

static void close_image(struct image *f)
{
	munmap((void *)(uintptr_t)f->bytes, f->size);
}

int gs_plugin_file_read(const char *path, struct gs_plugin_file *plugin, struct gs_error *err)
{
	struct image f;
	int rc = 0;

	*plugin = (struct gs_plugin_file) { 0 };
	if (open_image(path, &f, err) < 0)
		return -1;
	/* One byte less than there is room for: the NUL. */
	value_of(&f, "plugin_type", plugin->type, sizeof(plugin->type) - 1);
	value_of(&f, "plugin_gpushare_version", plugin->version, sizeof(plugin->version) - 1);
	if (value_of(&f, "plugin_version", &plugin->slurm, sizeof(plugin->slurm)) !=
	    sizeof(plugin->slurm))
		rc = gs_fail(err, "%.160s is no plugin of Slurm's", path);
	close_image(&f);
	return rc;
}

const char *gs_slurm_version_text(uint32_t version, char *buf, unsigned size)
{
	snprintf(buf, size, "%u.%02u.%u", version >> 16, (version >> 8) & 255, version & 255);
	return buf;
}

int gs_library_defines(const char *path, const char *symbol, struct gs_error *err)
{
	struct image f;
	int found;

	if (open_image(path, &f, err) < 0)
		return -1;
	found = find(&f, symbol) != NULL;
	close_image(&f);
	return found;
}
