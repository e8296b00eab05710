/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images that CUDA programs carry: PTX text, fatbin containers, the
 * wrapper that nvcc puts around them, machine code (cubins), and the host
 * programs and libraries that hold all of these.  A pure reader: bytes in,
 * slices of them out; no I/O, no globals, never exits; every offset and
 * length of the input is checked.  doc/fatbin.md has the format.
 */
#ifndef GPUSHARE_FATBIN_FATBIN_H
#define GPUSHARE_FATBIN_FATBIN_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* No entry is unpacked to more than this. */
#define GS_FATBIN_UNPACK_MAX ((uint64_t)256 << 20)
/* A container in memory, whose end nobody told us, is taken to be corrupt beyond this. */
#define GS_FATBIN_MEMORY_MAX ((uint64_t)4 << 30)

/* A slice of the caller's bytes. */
struct gs_bytes {
	const uint8_t *data;
	size_t len;
};

/* ---- image.c: what is it? ---- */

enum gs_image_kind {
	GS_IMAGE_UNKNOWN,
	GS_IMAGE_PTX,     /* text */
	GS_IMAGE_FATBIN,  /* a container */
	GS_IMAGE_WRAPPER, /* magic, version, pointer to a container: only in memory */
	GS_IMAGE_CUBIN,   /* ELF of the GPU */
	GS_IMAGE_HOST,    /* any other ELF: may hold containers */
	GS_IMAGE_KIND_COUNT
};

const char *gs_image_kind_name(enum gs_image_kind kind); /* "fatbin" */

/* What these bytes, of a file say, are. */
enum gs_image_kind gs_image_kind(const void *data, size_t len);

/*
 * What a program hands to cuModuleLoadData and its like: no length is given,
 * so it comes from the image itself.  Reads no further than needed to tell.
 *   PTX      *out is the text without its NUL
 *   FATBIN   *out is the container
 *   WRAPPER  *out is the container behind it; *linked says that the wrapper
 *            lists prelinked parts (relocatable device code, link at run time)
 * Otherwise *out is empty.  UNKNOWN also when a header makes no sense.
 */
enum gs_image_kind gs_image_in_memory(const void *image, struct gs_bytes *out, int *linked);

/* ---- fatbin.c: a container's entries ---- */

enum gs_entry_kind {
	GS_ENTRY_OTHER,
	GS_ENTRY_PTX,
	GS_ENTRY_CUBIN,
	GS_ENTRY_LTO, /* LTO-IR: becomes code at link time */
	GS_ENTRY_KIND_COUNT
};

/* Which devices an entry's code is for; the order is that of preference. */
enum gs_variant {
	GS_VARIANT_GENERIC, /* compute_90, sm_90 */
	GS_VARIANT_FAMILY,  /* compute_100f: devices of the same major number */
	GS_VARIANT_EXACT,   /* compute_90a: this device only */
	GS_VARIANT_COUNT
};

enum gs_packing { GS_PACKING_NONE, GS_PACKING_LZ4, GS_PACKING_ZSTD, GS_PACKING_COUNT };

const char *gs_entry_kind_name(enum gs_entry_kind kind); /* "ptx" */
const char *gs_packing_name(enum gs_packing packing);    /* "zstd" */
const char *gs_variant_suffix(enum gs_variant variant);  /* "", "f", "a" */

struct gs_fatbin {
	struct gs_bytes bytes; /* this container, header included, nothing behind it */
	int linkable;          /* found in a section of relocatable device code */
};

struct gs_fatbin_entry {
	enum gs_entry_kind kind;
	uint16_t raw_kind;     /* the number in the file */
	uint16_t major, minor; /* of the PTX ISA, or of the cubin format */
	uint32_t sm;           /* 75, 90, 120 */
	enum gs_variant variant;
	enum gs_packing packing;
	int wide;                /* code for 64-bit addresses */
	int debug;               /* compiled with -G */
	uint64_t flags;          /* as in the file */
	struct gs_bytes header;  /* the entry's own, options included */
	struct gs_bytes payload; /* as stored; unpacked PTX ends in NULs, unpacked ELF may */
	uint64_t size;           /* bytes once unpacked */
	struct gs_bytes name;    /* of the source file, or empty */
	struct gs_bytes options; /* what ptxas is to be told, or empty */
};

/* The container at the start of `data`; bytes may follow it.  0, or -1. */
int gs_fatbin_open(const void *data, size_t len, struct gs_fatbin *fb, struct gs_error *err);

/*
 * The next entry; *at is 0 before the first and belongs to the reader from
 * then on.  1: *e is filled; 0: no more; -1: the container is corrupt.
 */
int gs_fatbin_next(const struct gs_fatbin *fb, size_t *at, struct gs_fatbin_entry *e,
		   struct gs_error *err);

/*
 * Must this entry be linked with others before it can run?  Looks inside
 * machine code, which may be packed.  1, 0, or -1 when it cannot be told.
 */
int gs_fatbin_relocatable(const struct gs_fatbin_entry *e, struct gs_error *err);

/* ---- unpack.c ---- */

/*
 * An entry's contents, unpacked, in a block of the caller's to free, with one
 * NUL behind.  NULL: corrupt, or more than GS_FATBIN_UNPACK_MAX.
 */
uint8_t *gs_fatbin_unpack(const struct gs_fatbin_entry *e, size_t *len, struct gs_error *err);

/* At least the first `want` bytes of it into `buf`.  0, or -1: corrupt, or it has fewer. */
int gs_fatbin_peek(const struct gs_fatbin_entry *e, uint8_t *buf, size_t want,
		   struct gs_error *err);

/* ---- choose.c: what would the driver take? ---- */

struct gs_fatbin_choice {
	int has_ptx; /* the PTX that it would compile for this device... */
	struct gs_fatbin_entry ptx;
	int has_machine; /* ...and the machine code, which it prefers */
	struct gs_fatbin_entry machine;
	int relocatable; /* some entry has to be linked: leave the container alone
			  * (told only where there is PTX) */
};

/* For a device of compute capability sm (90 for 9.0).  0, or -1: corrupt. */
int gs_fatbin_choose(const struct gs_fatbin *fb, uint32_t sm, struct gs_fatbin_choice *c,
		     struct gs_error *err);

/*
 * May the PTX stand in for the machine code?  Not if that was made for a newer
 * architecture: device code can differ by __CUDA_ARCH__, and the program
 * counts on the kernels that the driver would have taken.
 */
int gs_fatbin_ptx_stands_in(const struct gs_fatbin_choice *c);

/*
 * The PTX that a driver for compute capability sm would compile, as
 * NUL-terminated text of the caller's to free; `len` without the NUL.
 * 1: here it is; 0: the container has none for this device; -1: corrupt.
 */
int gs_fatbin_best_ptx(const struct gs_fatbin *fb, uint32_t sm, char **text, size_t *len,
		       struct gs_error *err);

#endif
