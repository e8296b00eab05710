/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fatbin format's numbers (doc/fatbin.md says how each was found). */
#ifndef GPUSHARE_FATBIN_FORMAT_H
#define GPUSHARE_FATBIN_FORMAT_H

#define FATBIN_MAGIC 0xBA55ED50u
#define FATBIN_VERSION 1
#define FATBIN_HEADER 16 /* bytes: magic, version, own size, size of the entries */

/* The wrapper in .nvFatBinSegment: magic, version, pointer, pointer. */
#define WRAPPER_MAGIC 0x466243B1u
#define WRAPPER_PLAIN 1
#define WRAPPER_LINKED 2

/* An entry's header; every offset from its own start. */
#define ENTRY_HEADER 64 /* bytes at least; name and options follow */
#define ENTRY_VERSION 0x101
#define OFF_KIND 0      /* 16 bits */
#define OFF_VERSION 2   /* 16 */
#define OFF_HEADER 4    /* 32: bytes of this header */
#define OFF_STORED 8    /* 64: bytes to the next entry, behind this header */
#define OFF_PACKED 16   /* 32: bytes packed, 0 if not */
#define OFF_OPTIONS 20  /* 32: where {offset, length} of the options is, or 0 */
#define OFF_MINOR 24    /* 16 */
#define OFF_MAJOR 26    /* 16 */
#define OFF_SM 28       /* 32 */
#define OFF_NAME 32     /* 32: where the source's name is, or 0 */
#define OFF_NAME_LEN 36 /* 32 */
#define OFF_FLAGS 40    /* 64 */
#define OFF_UNPACKED 56 /* 64: bytes once unpacked, 0 if not packed */

#define KIND_PTX 1
#define KIND_CUBIN 2
#define KIND_LTO 8

#define FLAG_64BIT 0x1u
#define FLAG_DEBUG 0x2u
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define FLAG_EXACT 0x100000u  /* the "a" architectures */
#define FLAG_FAMILY 0x200000u /* the "f" architectures */

#endif
