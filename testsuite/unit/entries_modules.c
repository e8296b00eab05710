/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Doors by which variables of modules get device memory: text, machine code, containers, files of
 * them. */
#define _GNU_SOURCE
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/fatbin/format.h"
#include "device/shim/base/wraps.h"
#include "entries_rig.h"

static const char *text_of(uint64_t mib)
{
	static char ptx[256];

	snprintf(ptx, sizeof(ptx),
		 ".version 7.0\n.target sm_75\n.address_size 64\n"
		 ".visible .global .align 4 .u32 big[%llu];\n.extern .global .u32 other[7];\n",
		 (unsigned long long)(mib * MIB / 4));
	return ptx;
}

CUresult entry_module(uint64_t mib, uint64_t *h)
{
	return cuModuleLoadData((CUmodule *)h, text_of(mib));
}

/*
 * Machine code with so much of zeroed variables: the sections' names, then the table of none,
 * the names, .nv.global, which the file has no bytes of, and shared memory, which is no module's.
 */
static const struct cubin {
	Elf64_Ehdr header;
	Elf64_Shdr section[4];
	char names[40];
} * cubin_of(uint64_t mib)
{
	static struct cubin c;
	static const char names[] = "\0.shstrtab\0.nv.global\0.nv.shared.k";

	memset(&c, 0, sizeof(c));
	memcpy(c.header.e_ident, ELFMAG, SELFMAG);
	c.header.e_ident[EI_CLASS] = ELFCLASS64;
	c.header.e_ident[EI_DATA] = ELFDATA2LSB;
	c.header.e_machine = EM_CUDA;
	c.header.e_type = ET_EXEC;
	c.header.e_shoff = offsetof(struct cubin, section);
	c.header.e_shentsize = sizeof(c.section[0]);
	c.header.e_shnum = 4;
	c.header.e_shstrndx = 1;
	memcpy(c.names, names, sizeof(names));
	c.section[1] = (Elf64_Shdr) { .sh_name = 1,
				      .sh_type = SHT_STRTAB,
				      .sh_size = sizeof(names),
				      .sh_offset = offsetof(struct cubin, names) };
	c.section[2] = (Elf64_Shdr) { .sh_name = 11,
				      .sh_type = SHT_NOBITS,
				      .sh_size = mib * MIB,
				      .sh_flags = SHF_ALLOC | SHF_WRITE };
	c.section[3] = (Elf64_Shdr) { .sh_name = 22,
				      .sh_type = SHT_NOBITS,
				      .sh_size = 48 << 10,
				      .sh_flags = SHF_ALLOC | SHF_WRITE };
	return &c;
}

CUresult entry_cubin(uint64_t mib, uint64_t *h)
{
	return cuModuleLoadData((CUmodule *)h, cubin_of(mib));
}

/* A container with nothing but that, for sm_90. */
CUresult entry_machine_code(uint64_t mib, uint64_t *h)
{
	static struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t entries;
		uint16_t kind, entry_version;
		uint32_t entry_header;
		uint64_t stored;
		uint32_t packed, options;
		uint16_t minor, major;
		uint32_t sm, name, name_len;
		uint64_t flags, zero, unpacked;
		struct cubin cubin;
	} f;

	f.magic = FATBIN_MAGIC;
	f.version = FATBIN_VERSION;
	f.header = FATBIN_HEADER;
	f.entries = sizeof(f) - FATBIN_HEADER;
	f.kind = KIND_CUBIN;
	f.entry_version = ENTRY_VERSION;
	f.entry_header = ENTRY_HEADER;
	f.stored = sizeof(f.cubin);
	f.sm = 90;
	f.flags = FLAG_64BIT;
	f.cubin = *cubin_of(mib);
	return cuModuleLoadData((CUmodule *)h, &f);
}

/* In a file of its own, whose name the caller gets and removes. */
static const char *written(const void *data, size_t len)
{
	static char path[] = "doors.XXXXXX.image";
	FILE *f;

	memcpy(path, "doors.XXXXXX", 12);
	f = fdopen(mkstemps(path, 6), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
	return path;
}

CUresult entry_module_file(uint64_t mib, uint64_t *h)
{
	const char *text = text_of(mib), *path = written(text, strlen(text));
	CUresult rc = cuModuleLoad((CUmodule *)h, path);

	unlink(path);
	return rc;
}

CUresult entry_cubin_file(uint64_t mib, uint64_t *h)
{
	const char *path = written(cubin_of(mib), sizeof(struct cubin));
	CUresult rc = cuModuleLoad((CUmodule *)h, path);

	unlink(path);
	return rc;
}

CUresult entry_library_file(uint64_t mib, uint64_t *h)
{
	const char *text = text_of(mib), *path = written(text, strlen(text));
	CUresult rc = cuLibraryLoadFromFile((CUlibrary *)h, path, NULL, NULL, 0, NULL, NULL, 0);

	unlink(path);
	return rc;
}

CUresult entry_unload(uint64_t h)
{
	return cuModuleUnload((CUmodule)(uintptr_t)h);
}

CUresult entry_unload_library(uint64_t h)
{
	return cuLibraryUnload((CUlibrary)(uintptr_t)h);
}
