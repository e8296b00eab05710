/* SPDX-License-Identifier: GPL-2.0-or-later */
/* f16 and bf16 to and from single precision (IEEE 754 binary16; the upper half of binary32). */
#ifndef GPUSHARE_EMU_HALF_H
#define GPUSHARE_EMU_HALF_H

#include <stdint.h>
#include <string.h>

#include "device/emu/exec/ir.h"

static inline float emu_float_of_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint32_t emu_bits_of_float(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static inline float emu_float_of_half(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff;

	if (e == 31)
		return emu_float_of_bits(sign | 0x7f800000u | m << 13);
	if (e)
		return emu_float_of_bits(sign | (e + 112) << 23 | m << 13);
	return emu_float_of_bits(sign | emu_bits_of_float((float)m * 0x1p-24f));
}

static inline float emu_float_of_bf16(uint16_t h)
{
	return emu_float_of_bits((uint32_t)h << 16);
}

/* OCP 8-bit formats (PTX ISA, "Alternate Floating-Point Data Formats"): e5m2 is the upper half of a
 * half. */
static inline float emu_float_of_e4m3(uint8_t v)
{
	uint32_t sign = (uint32_t)(v & 0x80) << 24, e = v >> 3 & 15, m = v & 7;

	if ((v & 0x7f) == 0x7f)
		return emu_float_of_bits(0x7fffffffu);
	if (e)
		return emu_float_of_bits(sign | (e + 120) << 23 | m << 20);
	return emu_float_of_bits(sign | emu_bits_of_float((float)m * 0x1p-9f));
}

/* Round a double to a float with p bits of precision and the format's range; all exact until the
 * one rounding. */
uint16_t emu_half_round(double v, enum emu_rounding rounding);
uint16_t emu_bf16_round(double v, enum emu_rounding rounding);

static inline uint16_t emu_half_of_double(double v)
{
	return emu_half_round(v, EMU_RN);
}

static inline uint16_t emu_half_of_float(float v)
{
	return emu_half_round((double)v, EMU_RN);
}

static inline uint16_t emu_bf16_of_float(float v)
{
	uint32_t u = emu_bits_of_float(v);

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return 0x7fff;
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

#endif
