/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a texture or surface object is to a kernel: the memory behind it and
 * how coordinates and texels are read ("Texture Fetching", CUDA C++
 * Programming Guide; PTX ISA, tex, suld, sust, txq, suq).  An object's handle,
 * as kernels get it in a 64-bit register, names an entry of a table of the
 * process; an entry does not change while it is there.
 */
#ifndef GPUSHARE_EMU_TEXTURE_H
#define GPUSHARE_EMU_TEXTURE_H

#include <stddef.h>
#include <stdint.h>

enum emu_texel { EMU_TEXEL_UNSIGNED, EMU_TEXEL_SIGNED, EMU_TEXEL_FLOAT };
enum emu_address_mode {
	EMU_TEX_WRAP,
	EMU_TEX_CLAMP,
	EMU_TEX_MIRROR,
	EMU_TEX_BORDER
}; /* CUaddress_mode's values */

struct emu_texture {
	uint64_t base;          /* device address of texel (0, 0, 0) */
	uint64_t width;         /* texels; height and depth at least 1 */
	uint32_t height, depth; /* depth: layers if layered */
	uint64_t pitch, slice;  /* bytes from row to row, from layer to layer */
	uint8_t dims;           /* 1 to 3, the layers not counted */
	uint8_t layered;
	uint8_t linear_memory;   /* neither an array nor pitched: tex.1d with integer coordinates
				    only, no filtering */
	uint8_t surface;         /* a surface: the x coordinate counts bytes, no sampling state */
	uint8_t texel;           /* enum emu_texel */
	uint8_t bytes;           /* of one channel: 1, 2, 4 */
	uint8_t channels;        /* 1, 2, 4 */
	uint8_t normalized_read; /* integer texels of 8 or 16 bits are read as floats in [0, 1] or
				    [-1, 1] */
	uint8_t normalized_coords;
	uint8_t filter; /* 0: nearest point, 1: linear (fractions of 8 bits) */
	uint8_t srgb;
	uint8_t address[3]; /* enum emu_address_mode */
	float border[4];
};

/* The entry for the handle, valid until the object is destroyed; NULL: there is none. */
const struct emu_texture *emu_texture_find(uint64_t handle);

/* A handle for a copy of t, never 0.  0: too many. */
uint64_t emu_texture_add(const struct emu_texture *t);
/* -1: no such object. */
int emu_texture_remove(uint64_t handle);

#endif
